# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assembles the ramdisk with Ironic's agent inside a fresh Debian tree, as root of it: ``python3 -m sandbox.coreos_image.agent FOLDER``.

``FOLDER`` has ``agent_files`` (what is added to the tree) and ``agent`` (the agent's Python packages); the result is in ``FOLDER/out``. The
whole system is in the initramfs, which nothing is mounted over.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from sandbox.coreos_image import assemble

OMITTED: Final = (
    "usr/lib/python3*/test",
    "usr/lib/python3*/idlelib",
    "usr/lib/ironic-python-agent/**/tests",
    "usr/lib/ironic-python-agent/bin",
)


def assemble_agent(folder: Path) -> None:
    """Build ``vmlinuz`` and ``initramfs.img`` in ``folder/out``."""
    out = folder / "out"
    out.mkdir()
    version = next(Path("/usr/lib/modules").iterdir()).name
    shutil.copyfile(f"/boot/vmlinuz-{version}", out / "vmlinuz")
    stage = folder / "stage"
    assemble.copy_tree(stage, folder)
    assemble.run("cp", "--archive", "--no-preserve=ownership", "--remove-destination", f"{folder}/agent_files/.", str(stage))
    assemble.run("cp", "--archive", "--no-preserve=ownership", str(folder / "agent"), str(stage / "usr/lib/ironic-python-agent"))
    assemble.remove(stage, (*assemble.OMITTED, *OMITTED))
    assemble.make_unconfigured(stage)
    assemble.replace(stage / "etc/fstab", "")
    (stage / "init").symlink_to("lib/systemd/systemd")
    assemble.limit_times(stage)
    names = sorted(str(path.relative_to(stage)) for path in stage.rglob("*"))
    archive = folder / "initramfs"
    listed = "".join(f"{name}\0" for name in names).encode()
    assemble.run("cpio", "--quiet", "--null", "--create", "--format=newc", "--reproducible", f"--file={archive}", cwd=stage, stdin=listed)
    assemble.run("zstd", "--quiet", "-12", "-T0", str(archive), "-o", str(out / "initramfs.img"))


if __name__ == "__main__":
    assemble_agent(Path(sys.argv[1]).resolve())
