"""CoreOS' own Ignition engine, of Debian's package: run in a folder, or as on a machine that finds its service's metadata by name."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ENGINE = "lib/dracut/modules.d/30ignition/ignition"
"""Beside ``bin/ignition-validate``: Debian has it where dracut takes it from."""


def program() -> Path:
    """The engine. Raises ``FileNotFoundError`` where the package is not installed."""
    validator = shutil.which("ignition-validate")
    if validator is None:
        raise FileNotFoundError("ignition-validate")
    return Path(validator).resolve().parent.parent / ENGINE


@dataclass(frozen=True)
class Machine:
    """The part of a machine that the engine sees: ``folder/root`` is its disk."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def cache(self) -> Path:
        """The config that was fetched, with all it points to."""
        return self.folder / "ignition.json"

    def command(self, stage: str, platform: str) -> list[str]:
        self.root.mkdir(parents=True, exist_ok=True)
        return [
            str(program()),
            "-log-to-stdout",
            f"-platform={platform}",
            f"-stage={stage}",
            f"-root={self.root}",
            f"-config-cache={self.cache}",
            f"-state-file={self.folder / 'state'}",
            f"-neednet={self.folder / 'neednet'}",
        ]

    def run(self, config: Path, stage: str = "fetch") -> subprocess.CompletedProcess[str]:
        """One stage, with the config in a file as ``-platform file`` has it."""
        return subprocess.run(
            self.command(stage, "file"),
            env={**os.environ, "IGNITION_CONFIG_FILE": str(config), "PATH": f"{self._stubs()}{os.pathsep}{os.environ['PATH']}"},
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    def _stubs(self) -> Path:
        """What the files stage wants and a folder has not: SELinux' labels."""
        selinux = self.root / "etc" / "selinux" / "config"
        selinux.parent.mkdir(parents=True, exist_ok=True)
        selinux.write_text("SELINUXTYPE=targeted\n", encoding="utf-8")
        stubs = self.folder / "stubs"
        stubs.mkdir(exist_ok=True)
        setfiles = stubs / "setfiles"
        setfiles.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        setfiles.chmod(0o755)
        return stubs


# --- a network of its own --------------------------------------------------------------------------------------------------------


@dataclass
class Alone:
    """The engine in a network where nothing answers but the owner of the listener."""

    process: subprocess.Popen[str]
    listener: socket.socket


def start_alone(command: list[str], address: str, port: int, environment: Mapping[str, str]) -> Alone:
    """Run ``command`` in a network namespace of its own.

    The listener is opened in there, before the command is run, and handed out: what is served on it is ours to say.
    """
    ours, theirs = socket.socketpair()
    inside = [sys.executable, __file__, str(theirs.fileno()), address, str(port)]
    with ours, theirs:
        process = subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--net", *inside, *command],
            env={**os.environ, **environment},
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        _text, handles, _flags, _address = socket.recv_fds(ours, 1, 1)
    if not handles:
        raise RuntimeError(f"no network of its own: {process.communicate()[0]}")
    return Alone(process, socket.socket(fileno=handles[0]))


async def relay(listener: socket.socket, target: tuple[str, int], source: str) -> asyncio.Server:
    """Hand what comes to ``listener`` on to ``target``, as if it came from ``source``."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while content := await reader.read(1 << 16):
                writer.write(content)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*target, local_addr=(source, 0))
        await asyncio.gather(pump(reader, back), pump(there, writer))

    return await asyncio.start_server(connected, sock=listener)


def _inside() -> None:
    """What runs in the namespace: the loopback up, the listener handed out; then it becomes the command."""
    up, set_flags = 0x1, 0x8914  # IFF_UP, SIOCSIFFLAGS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, set_flags, struct.pack("16sh", b"lo", up))
    listener = socket.create_server((sys.argv[2], int(sys.argv[3])))
    with socket.socket(fileno=int(sys.argv[1])) as outside:
        socket.send_fds(outside, [b"."], [listener.fileno()])
    os.execv(sys.argv[4], sys.argv[4:])  # noqa: S606


if __name__ == "__main__":
    _inside()
