# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One container: a layer on a shared tree as its disk, and systemd-nspawn that boots it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NoReturn

from metal_api.process import start_child
from sandbox.containers.command import ContainerError, run, to_its_end
from sandbox.containers.link import Link
from sandbox.machines.host import Host, Hung, Rebooting

_REBOOT: Final = 133
"""Exit code of systemd-nspawn when the system reboots."""
# Process 1 of a process namespace: what it started ends with it, also by kill -9 of the sandbox.
_ALONE: Final = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
_ENDS_WITHIN: Final = 20.0
"""Seconds in which the kernel ends processes that were killed, on a busy computer."""
_POLL: Final = 0.05
_CGROUPS: Final = Path("/sys/fs/cgroup")
_IN_GROUPS: Final = """\
set -e
count=$1; shift
while [ "$count" -gt 0 ]; do mkdir -p "$1"; echo $$ > "$1/cgroup.procs"; shift; count=$((count - 1)); done
exec "$@"
"""
_NSPAWN: Final = ("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--link-journal=no", "--timezone=off", "--resolv-conf=off")


class LastLine:
    """Writes lines to the console, and keeps the last one."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.line = ""

    def __call__(self, line: str) -> None:
        self.line = line
        self._say(line)


class Container:
    """The :class:`sandbox.machines.Userland` of a machine. ``options``: of systemd-nspawn, beside those of all containers."""

    def __init__(self, host: Host, tree: Path, *options: str) -> None:
        self.link = Link(host.hardware, host.attachment().management, host.folder, host.site.name_server[0])
        self.tree = tree
        self.folder = host.directory / "container"
        self.say = host.console
        self._name = host.hardware.device_id
        self._options = options

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def wipe(self) -> None:
        """Empty the disk, as the installer does: Ignition writes no file that exists."""
        for name in ("upper", "work"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    @asynccontextmanager
    async def mounted(self) -> AsyncIterator[None]:
        """The disk is mounted at ``root``. Raises :class:`ContainerError`."""
        for name in ("upper", "work", "root"):
            path = self.folder / name
            path.mkdir(parents=True, exist_ok=True)
            # The upper layer's mode is that of the system's root folder, whatever the umask here.
            path.chmod(0o755)
        if self.root.is_mount():
            # By a sandbox that was killed.
            await run("umount", str(self.root))
        options = f"lowerdir={self.tree},upperdir={self.folder / 'upper'},workdir={self.folder / 'work'}"
        await run("mount", "-t", "overlay", "overlay", "-o", options, str(self.root))
        try:
            yield
        finally:
            await to_its_end(run("umount", str(self.root)))

    async def run(self) -> NoReturn:
        """Boot the system and wait for its end; cancelling is a loss of power. Raises :class:`Rebooting`, :class:`Hung`, ContainerError."""
        last = LastLine(self.say)
        code = await self.nspawn(
            last,
            "--boot",
            f"--directory={self.root}",
            "--hostname=localhost",
            "--console=read-only",
            *self._options,
            "systemd.show_status=true",
        )
        if code == _REBOOT:
            raise Rebooting("by the system")
        if code:
            raise ContainerError(f"systemd-nspawn ended with {code}: {last.line}")
        raise Hung("the system has powered the machine off")

    async def nspawn(self, say: Callable[[str], None], *arguments: str) -> int:
        """Run a container in the machine's network namespace, with its output to ``say``, and return the exit code."""
        groups = control_groups(self._name)
        process = await start_child(
            [
                *("sh", "-c", _IN_GROUPS, "sh", str(len(groups)), *map(str, groups)),
                *("env", "SYSTEMD_NSPAWN_API_VFS_WRITABLE=network", *_ALONE, *_NSPAWN),
                *("--capability=CAP_NET_ADMIN", f"--network-namespace-path={self.link.namespace}", f"--machine={self._name}", *arguments),
            ],
            directory=self.folder,
            output=asyncio.subprocess.PIPE,
        )
        if process.stdout is None:
            raise RuntimeError("the output is a pipe")
        try:
            async for line in process.stdout:
                if text := line.decode(errors="replace").strip():
                    say(text)
            return await process.wait()
        finally:
            await to_its_end(self._end(process, groups))

    async def _end(self, process: asyncio.subprocess.Process, groups: Sequence[Path]) -> None:
        if process.returncode is None:
            try:
                await self.link.cut()
            finally:
                process.kill()
                await process.wait()
        await _until_empty(groups)


def control_groups(name: str) -> list[Path]:
    """Return the control groups of a machine, below that of this process: each systemd takes the one that it starts in for the root."""
    own = Path("/proc/self/cgroup").read_text(encoding="ascii")
    paths = {controllers: path for _number, controllers, path in (line.split(":", 2) for line in own.splitlines())}
    unified = _CGROUPS / "unified"
    roots = {"name=systemd": _CGROUPS / "systemd", "": unified if unified.is_dir() else _CGROUPS}
    return [root / paths[kind].lstrip("/") / f"sandbox-{name}" for kind, root in roots.items() if kind in paths]


def _has_processes(group: Path) -> bool:
    # A system that ends removes groups itself.
    with contextlib.suppress(FileNotFoundError):
        return any(path.read_text(encoding="ascii") for path in group.rglob("cgroup.procs"))
    return group.exists()


async def _until_empty(groups: Sequence[Path]) -> None:
    """Wait for the end of all processes of control groups, which were killed, and remove the groups. Raises :class:`ContainerError`."""
    try:
        async with asyncio.timeout(_ENDS_WITHIN):
            while any(map(_has_processes, groups)):  # noqa: ASYNC110 - the kernel says nothing of their end
                await asyncio.sleep(_POLL)
    except TimeoutError:
        raise ContainerError(f"processes of the machine do not end within {_ENDS_WITHIN:.0f} s: see {groups[0]}") from None
    try:
        for group in groups:
            for path in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
                path.rmdir()
            if group.exists():
                group.rmdir()
    except OSError as error:
        raise ContainerError(f"control groups of the machine cannot be removed: {error}") from None
