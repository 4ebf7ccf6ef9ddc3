# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of machines with a kernel: the disk of a node that has not booted yet, and the kernel that QEMU starts; made once."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import BuildError
from metal_api.state_folder import StartError
from sandbox import namespace
from sandbox.containers import tree
from sandbox.coreos_image.build import files_below

_SOURCE: Final = Path(__file__).resolve().parent
_FILES: Final = _SOURCE / "files"
PACKAGES: Final = (*tree.PACKAGES, "linux-image-cloud-amd64", "udev", "kmod")
_SIZE: Final = "2G"
_MASKED: Final = (
    # What a boot does not need where each instruction is emulated.
    *("modprobe@.service", "systemd-logind.service", "systemd-user-sessions.service", "systemd-update-utmp.service"),
    *("systemd-random-seed.service", "systemd-journal-flush.service", "systemd-network-generator.service", "systemd-pstore.service"),
    *("systemd-tmpfiles-clean.timer", "systemd-ask-password-console.path", "systemd-ask-password-wall.path", "dev-hugepages.mount"),
    *("dev-mqueue.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount"),
)
_REQUIRED: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "ip": "iproute2",
    "dnsmasq": "dnsmasq-base",
}


@dataclass(frozen=True)
class Image:
    """Files that all machines share: ``disk`` is the lower layer of each one's own."""

    kernel: Path
    disk: Path


def ensure_image(console: Console) -> Image:
    """Make what the cache lacks. Raises :class:`StartError` with what this computer lacks."""
    if os.geteuid() != 0:
        raise StartError("machines with a kernel need root: the tree has files of root, and the switch interfaces of this computer")
    namespace.require("a machine with a kernel", _REQUIRED)
    try:
        folder = _IMAGE.ensure(console)
    except BuildError as error:
        raise StartError(str(error)) from None
    return Image(folder / "vmlinuz", folder / "disk.ext4")


def _complete(made: Path) -> Path:
    image = made.with_name("image")
    image.mkdir()
    (kernel,) = (made / "boot").glob("vmlinuz-*")
    kernel.rename(image / "vmlinuz")
    tree.finish(made)
    units = made / "etc/systemd/system"
    # Containers have no udev, and no bonds.
    for path in (units / "systemd-udevd.service", *map(made.joinpath, tree.IN_PLACE_OF_BONDS)):
        path.unlink()
    for name in _MASKED:
        (units / name).symlink_to("/dev/null")
    subprocess.run(["cp", "--archive", "--no-preserve=ownership", f"{_FILES}/.", str(made)], check=True)
    disk = image / "disk.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", str(made), str(disk), _SIZE], check=True, capture_output=True)
    return image


_SOURCES: Final = (*tree.SOURCES, Path(__file__).resolve(), *files_below(_FILES))
_IMAGE: Final = tree.Recipe("kernel-image", "the image of machines with a kernel", PACKAGES, _SOURCES, _complete)
