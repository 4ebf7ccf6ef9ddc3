# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose installed system runs: its kubelet is one of its units, and here is only what its pods would do."""

from __future__ import annotations

import asyncio

from sandbox.machines import Machine
from sandbox.openshift.cluster import Clusters
from sandbox.openshift.config_daemon import ConfigDaemon
from sandbox.openshift.kubelet import Execute, KubeletConfig, OnReady


class UserlandNode:
    """A :class:`sandbox.openshift.kubelet.RunsKubelet`. ``execute`` is not used: the container runtime runs no commands."""

    def __init__(
        self,
        machine: Machine,
        config: KubeletConfig,
        on_ready: OnReady | None = None,
        execute: Execute | None = None,
        *,
        clusters: Clusters,
    ) -> None:
        if machine.userland is None:
            raise ValueError(f"the system of {machine.hardware.hostname} is simulated")
        self._userland = machine.userland
        self._daemon = ConfigDaemon(machine, config, clusters, on_ready)

    async def run(self) -> None:
        """Work until cancelled, or the system ends."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._userland.run())
            group.create_task(self._daemon.run())
