# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree that all containers share: Debian packages with the programs of RHEL CoreOS, and files of this package; made once.

It has what RHEL CoreOS has and no more: no Python, no Perl, no package manager. ``/usr`` is read-only in a container, ``/usr/local``
is a link to ``/var/usrlocal``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import BuildError, cache_root, locked, run_step
from metal_api.state_folder import StartError
from sandbox import namespace
from sandbox.containers import operator_units
from sandbox.coreos_image.build import SUITE, debian_mirrors, inputs_hash
from sandbox.openshift.binaries import BinariesError, ensure_binaries, ensure_kubelet

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
    CONTROL_PLANE.lstrip("/"),
)
_MASKED: Final = ("systemd-firstboot", "console-getty", "getty@tty1", "systemd-udevd", "systemd-networkd-wait-online", "e2scrub_reap")
_REQUIRED: Final = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "dnsmasq": "dnsmasq-base",
    "unshare": "util-linux",
}
_WAITING: Final = "Another process is making the tree of containers; waiting for it."


@dataclass(frozen=True)
class Programs:
    """``tree``: the root file system of containers. ``kubelet``: the program that they run, ``control_plane``: the folder of etcd's."""

    tree: Path
    kubelet: Path
    control_plane: Path


def ensure_programs(console: Console) -> Programs:
    """Make what the cache lacks. Raises :class:`StartError` with what this computer lacks."""
    if os.geteuid() != 0:
        raise StartError("--machines container needs root: containers mount file systems and have network cards")
    namespace.require("container", _REQUIRED)
    try:
        return Programs(_ensure_tree(console), ensure_kubelet(console), ensure_binaries(console).etcd.parent)
    except (BuildError, BinariesError) as error:
        raise StartError(f"--machines container: {error}") from None


def _ensure_tree(console: Console) -> Path:
    sources = sorted([*map(_SOURCE.joinpath, ("operator_units.py", "tree.py")), *(path for path in _FILES.rglob("*") if path.is_file())])
    tree = cache_root() / f"container-tree-{inputs_hash(sources, PACKAGES)}"
    if tree.is_dir():
        return tree
    with locked(tree.with_suffix(".lock"), console, _WAITING):
        if not tree.is_dir():
            console.print("Making the tree of containers from Debian packages: about a minute, once for each version of it.")
            with tempfile.TemporaryDirectory(prefix="building-", dir=tree.parent) as temporary:
                # Its apt is another user.
                Path(temporary).chmod(0o755)
                made = Path(temporary) / "tree"
                command = [
                    "mmdebstrap",
                    "--quiet",
                    "--variant=minbase",
                    f"--include={','.join(PACKAGES)}",
                    SUITE,
                    str(made),
                    *debian_mirrors(),
                ]
                run_step(console, "making a Debian tree with mmdebstrap", command, folder=Path(temporary))
                finish(made)
                made.rename(tree)
    return tree


def finish(tree: Path) -> None:
    """Make a Debian tree a system of the kind that RHEL CoreOS is, which has not booted yet."""
    shutil.move(tree / _ENGINE, tree / "usr/libexec/ignition")
    for pattern in _NOT_ON_COREOS:
        for path in tree.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    subprocess.run(["cp", "--archive", "--no-preserve=ownership", f"{_FILES}/.", str(tree)], check=True)
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
    for name in _MASKED:
        (tree / f"etc/systemd/system/{name}.service").symlink_to("/dev/null")
    operator_units.write(tree)
    tree.chmod(0o755)
