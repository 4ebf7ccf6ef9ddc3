# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Ignition engine of the shared tree, which writes the disk of a node."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.containers.container import Container, LastLine
from sandbox.containers.tree import IGNITE

_STAGES: Final = ("fetch", "files")


class IgnitionFailedError(Exception):
    """A stage of the Ignition engine failed; the message has the stage and its last line."""


async def ignite(container: Container, platform: str, embedded: bytes | None, arguments: Sequence[str]) -> bytes:
    """Run the Ignition engine on the disk, as the initramfs does at the first boot, and return the config that it merged.

    ``embedded``: the config that the installer wrote. ``arguments``: of the kernel. Raises :class:`IgnitionFailedError`.
    """
    folder = container.folder / "ignition"
    # What a sandbox that was killed has left.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        engine = folder / "engine"
        engine.mkdir()
        (engine / "cmdline").write_text(" ".join([*arguments, f"ignition.platform.id={platform}"]) + "\n", encoding="utf-8")
        (folder / "resolv.conf").write_text(f"nameserver {container.link.name_server}\n", encoding="ascii")
        configs = folder / "configs"
        configs.mkdir()
        if embedded is not None:
            (configs / "user.ign").write_bytes(embedded)
        async with container.link.configured():
            for stage in _STAGES:
                await _run(container, stage, platform, folder)
        return (engine / "ignition.json").read_bytes()
    finally:
        # Configs have secrets.
        shutil.rmtree(folder)


async def _run(container: Container, stage: str, platform: str, folder: Path) -> None:
    last = LastLine(container.say)
    code = await container.nspawn(
        last,
        f"--directory={container.tree}",
        "--read-only",
        f"--bind={container.root}:/sysroot",
        f"--bind={folder / 'engine'}:/run/engine",
        f"--bind-ro={folder / 'configs'}:/usr/lib/ignition",
        f"--bind-ro={folder / 'resolv.conf'}:/etc/resolv.conf",
        "--",
        IGNITE,
        f"-platform={platform}",
        f"-stage={stage}",
    )
    if code:
        raise IgnitionFailedError(f"stage {stage}: {last.line or f'ended with {code}'}")
