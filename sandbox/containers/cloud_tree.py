# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree of operating systems that cloud-init configures: Debian with what the service's images have; made once.

Packages that userdata may install are a repository in the tree: nothing else can be reached, and apt refuses all others by their name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.containers.tree import MASKED, Recipe, copy, mask, remove
from sandbox.coreos_image.build import files_below

DISTRIBUTIONS: Final = ("debian_", "ubuntu_")
"""Operating systems of the service whose package manager is that of the tree."""
_SOURCE: Final = Path(__file__).resolve().parent
_FILES: Final = _SOURCE / "cloud_files"
_PACKAGES: Final = (
    *("systemd-sysv", "dbus", "cloud-init", "ifupdown", "openssh-server", "python3", "sudo", "procps", "iproute2", "iputils-ping"),
    *("curl", "ca-certificates"),
    # For the repository.
    "apt-utils",
)
_REPOSITORY: Final = "usr/share/packages"
"""As in /etc/apt/sources.list."""
_OFFERED: Final = ("haproxy", "bird2", "nftables")
_HOOKS: Final = (
    "APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get clean",
    f"APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get --yes --download-only --no-install-recommends install {' '.join(_OFFERED)}",
    f'mkdir "$1/{_REPOSITORY}" && mv "$1"/var/cache/apt/archives/*.deb "$1/{_REPOSITORY}"',
    f"chroot \"$1\" sh -c 'cd /{_REPOSITORY} && apt-ftparchive packages . > Packages'",
)
_OF_ONE_MACHINE: Final = (
    *("etc/ssh/ssh_host_*", "etc/machine-id", "var/lib/dbus/machine-id", "etc/hostname", "etc/resolv.conf", "var/log/*"),
    *("etc/apt/sources.list*", "var/lib/apt/lists/*"),
)


def _finish(tree: Path) -> Path:
    remove(tree, _OF_ONE_MACHINE)
    copy(_FILES, tree)
    mask(tree, *MASKED)
    (tree / "var/log/journal").mkdir()
    (tree / "var/log/apt").mkdir()
    units = tree / "etc/systemd/system"
    (units / "cloud-init.target.wants").mkdir(exist_ok=True)
    (units / "cloud-init.target.wants/phone-home.service").symlink_to("../phone-home.service")
    tree.chmod(0o755)
    return tree


_SOURCES: Final = sorted([*map(_SOURCE.joinpath, ("cloud_tree.py", "tree.py")), *files_below(_FILES)])
TREE: Final = Recipe("cloud-tree", "the tree of other operating systems", _PACKAGES, _SOURCES, _finish, _HOOKS)
