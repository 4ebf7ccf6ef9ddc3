# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree that all nodes share: Debian packages with the programs of RHEL CoreOS, and files of this package; made once.

It has what RHEL CoreOS has and no more: no Python, no Perl, no package manager. ``/usr`` is read-only in a container, ``/usr/local``
is a link to ``/var/usrlocal``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import cache_root, locked, run_step
from sandbox.containers import operator_units
from sandbox.coreos_image.build import SUITE, debian_mirrors, files_below, inputs_hash

_SOURCE: Final = Path(__file__).resolve().parent
_FILES: Final = _SOURCE / "files"
PROGRAMS: Final = {
    "bash": "bash",
    "chrony": "chronyc",
    "coreutils": "cat comm cut date install mkdir mktemp mv paste readlink rm sleep sort tail touch tr true",
    "curl": "curl",
    "diffutils": "cmp",
    "gawk": "awk",
    "gdisk": "sgdisk",
    "grep": "grep",
    "iproute2": "ip ss",
    "jq": "jq",
    "libc-bin": "getent",
    "network-manager": "nmcli",
    "nftables": "nft",
    "sed": "sed",
    "systemd": "systemctl",
    "udev": "udevadm",
    "util-linux": "lsblk wipefs",
    "util-linux-extra": "hwclock",
}
"""Programs of RHEL CoreOS that scripts and units on a machine may run, by the Debian package that has them.

RHEL CoreOS has more, but not Python, Perl, dig or nc. Sources: networking-tools.yaml, system-configuration.yaml and user-experience.yaml of
coreos/fedora-coreos-config, manifests, branches rhcos-*; Ignition's module of dracut.
"""
LIVE_PROGRAMS: Final = "mdadm vgchange"
"""Those that are not in the tree: scripts of the live system run them, which is simulated."""
_OTHERS: Final = ("systemd-sysv", "dbus", "passwd", "ca-certificates", "e2fsprogs", "fdisk", "ethtool", "procps", "openssh-server")
PACKAGES: Final = (*PROGRAMS, *_OTHERS, "ignition")
_ENGINE: Final = "usr/lib/dracut/modules.d/30ignition/ignition"
IGNITE: Final = "/usr/libexec/ignite"
"""Runs the engine, which lies beside it."""
KUBELET: Final = "/usr/libexec/kubelet"
"""Where a container has the kubelet, which is not in the tree."""
CONTROL_PLANE: Final = "/usr/libexec/programs"
"""Where it has the programs of static pods, which the images of their containers have on a real machine."""
ENTRY_POINTS: Final = "/usr/libexec/entry-points"
"""Where it has the programs that images of their names run."""

_NOT_ON_COREOS: Final = (
    *("usr/bin/apt*", "usr/bin/dpkg*", "usr/bin/deb*", "usr/bin/perl*", "usr/lib/apt", "usr/lib/dpkg", "usr/sbin/update-*"),
    *("usr/lib/x86_64-linux-gnu/perl*", "usr/share/perl*", "etc/apt", "var/lib/apt", "var/lib/dpkg", "var/cache/apt", "var/log/*"),
    *("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/lib/dracut", "etc/resolv.conf", "etc/hostname", "etc/machine-id"),
    # What packages enabled: at the first boot systemd enables the units of the presets, and of Ignition.
    *("etc/systemd/system/*", "var/lib/dbus/machine-id"),
    # Made at the first boot.
    "etc/ssh/ssh_host_*",
    # It enables systemd-networkd with a unit that is masked, and at such an error systemd enables none of the units that follow.
    "usr/lib/systemd/system-preset/90-systemd.preset",
)
_FOLDERS: Final = (
    *("var/usrlocal/bin", "var/log/journal", "etc/kubernetes/manifests", "etc/NetworkManager/system-connections"),
    # Where the first boot mounts the disk and the embedded config.
    *("sysroot", "usr/lib/ignition"),
    *(CONTROL_PLANE.lstrip("/"), ENTRY_POINTS.lstrip("/")),
)
IN_PLACE_OF_BONDS: Final = (
    *("usr/sbin/nmcli", "usr/lib/NetworkManager/conf.d/20-bonds.conf", "usr/lib/systemd/system/NetworkManager.service.d/20-bonds.conf"),
)
"""Files by which a bond is a bridge, since the kernel of the computer may have no bonds."""
MASKED: Final = ("systemd-firstboot", "console-getty", "getty@tty1", "systemd-udevd")
"""Services that no container can run."""
SOURCES: Final = sorted([*map(_SOURCE.joinpath, ("operator_units.py", "tree.py")), *files_below(_FILES)])


@dataclass(frozen=True)
class Recipe:
    """How to make a folder of the cache from a Debian tree of ``packages``; once for each content of these and of ``sources``.

    ``title``: what it is, for the progress. ``complete``: returns the folder that is kept of the tree. ``hooks``: mmdebstrap's commands for
    the tree with its packages.
    """

    name: str
    title: str
    packages: Sequence[str]
    sources: Sequence[Path]
    complete: Callable[[Path], Path]
    hooks: Sequence[str] = ()

    def ensure(self, console: Console) -> Path:
        """Return the folder, made first if the cache lacks it. Raises :class:`BuildError`."""
        folder = cache_root() / f"{self.name}-{inputs_hash(self.sources, self.packages)}"
        if folder.is_dir():
            return folder
        with locked(folder.with_suffix(".lock"), console, f"Another process is making {self.title}; waiting for it."):
            if not folder.is_dir():
                console.print(f"Making {self.title} from Debian packages: about a minute, once for each version of it.")
                with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
                    # Its apt is another user.
                    Path(temporary).chmod(0o755)
                    self.complete(self._make(Path(temporary), console)).rename(folder)
        return folder

    def _make(self, folder: Path, console: Console) -> Path:
        made = folder / "tree"
        options = ["--variant=minbase", f"--include={','.join(self.packages)}", *(f"--customize-hook={hook}" for hook in self.hooks)]
        command = ["mmdebstrap", "--quiet", *options, SUITE, str(made), *debian_mirrors()]
        # A kernel in it needs no initramfs.
        environment = {**os.environ, "INITRD": "No"}
        run_step(console, f"making {self.title} with mmdebstrap", command, folder=folder, environment=environment)
        return made


def finish(tree: Path) -> Path:
    """Make a Debian tree a system of the kind that RHEL CoreOS is, which has not booted yet, and return it."""
    shutil.move(tree / _ENGINE, tree / "usr/libexec/ignition")
    remove(tree, _NOT_ON_COREOS)
    copy(_FILES, tree)
    shutil.rmtree(tree / "usr/local")
    (tree / "usr/local").symlink_to("../var/usrlocal")
    for folder in _FOLDERS:
        (tree / folder).mkdir(parents=True, exist_ok=True)
    # Ignition writes the keys of the user that the image has.
    subprocess.run(
        ["chroot", str(tree), "useradd", "--create-home", "--groups=adm,sudo,systemd-journal", "--shell=/bin/bash", "core"], check=True
    )
    (tree / KUBELET[1:]).touch(mode=0o755)
    (tree / "etc/resolv.conf").touch()
    (tree / "etc/machine-id").write_text("uninitialized\n", encoding="ascii")
    (tree / "etc/hostname").write_text("localhost\n", encoding="ascii")
    release = tree / "usr/lib/os-release"
    # The unit of the kubelet reads ID.
    release.write_text('NAME="Sandbox CoreOS"\nID=rhel\nVARIANT_ID=coreos\nPRETTY_NAME="Sandbox CoreOS"\n', encoding="ascii")
    mask(tree, *MASKED, "systemd-networkd-wait-online", "e2scrub_reap")
    operator_units.write(tree)
    tree.chmod(0o755)
    return tree


def remove(tree: Path, patterns: Sequence[str]) -> None:
    """Remove files and folders from a tree."""
    for pattern in patterns:
        for path in tree.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def copy(files: Path, tree: Path) -> None:
    """Copy what is in a folder to a tree, as root's."""
    subprocess.run(["cp", "--archive", "--no-preserve=ownership", f"{files}/.", str(tree)], check=True)


def mask(tree: Path, *services: str) -> None:
    """Mask services of a tree."""
    for name in services:
        (tree / f"etc/systemd/system/{name}.service").symlink_to("/dev/null")


TREE: Final = Recipe("container-tree", "the tree of nodes", PACKAGES, SOURCES, finish)
