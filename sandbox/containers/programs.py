# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containers are made of, on this computer: made once, or required."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import BuildError
from metal_api.state_folder import StartError
from sandbox import namespace
from sandbox.containers import cloud_tree, tree
from sandbox.openshift.binaries import BinariesError, ensure_binaries, ensure_kubelet, ensure_scheduler, entry_points

_REQUIRED: Final = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "dnsmasq": "dnsmasq-base",
    "bird": "bird2",
    "unshare": "util-linux",
}


@dataclass(frozen=True)
class Programs:
    """``tree``, ``cloud``: the root file systems of nodes and of other operating systems.

    ``kubelet``: the program that nodes run, ``control_plane``: the folder of etcd's, ``entry_points``: that of programs in images.
    """

    tree: Path
    cloud: Path
    kubelet: Path
    control_plane: Path
    entry_points: Path


def ensure_programs(console: Console) -> Programs:
    """Make what the cache lacks. Raises :class:`StartError` with what this computer lacks."""
    if os.geteuid() != 0:
        raise StartError("--machines container needs root: containers mount file systems and have network cards")
    namespace.require("--machines container", _REQUIRED)
    try:
        trees = tree.TREE.ensure(console), cloud_tree.TREE.ensure(console)
        ensure_scheduler(console)
        return Programs(*trees, ensure_kubelet(console), ensure_binaries(console).etcd.parent, entry_points())
    except (BuildError, BinariesError) as error:
        raise StartError(f"--machines container: {error}") from None
