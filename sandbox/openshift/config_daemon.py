# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine config daemon of a node with a real kubelet: it is a pod, and no pod runs here, so the Node gets its annotations by this."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import httpx

from sandbox.machines import Machine
from sandbox.openshift.api import NODES, APIError, ClusterAPI, Object
from sandbox.openshift.cluster import Clusters
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.kubelet import CONFIG_DAEMON, KubeletConfig, OnReady
from sandbox.openshift.resources import annotations_of, is_ready

_logger = logging.getLogger(__name__)

# Real seconds between polls of a complete Node, and of an incomplete one.
_POLL: Final = 5.0
_POLL_EARLY: Final = 0.5

_FAILURES: Final = (APIError, ControlPlaneError, httpx.HTTPError)


class ConfigDaemon:
    """``on_ready`` is awaited once when the Node is Ready for the first time in this boot, ``prepare`` for each Node that is read."""

    def __init__(
        self,
        machine: Machine,
        config: KubeletConfig,
        clusters: Clusters,
        on_ready: OnReady | None = None,
        prepare: Callable[[ClusterAPI, Object], Awaitable[None]] | None = None,
    ) -> None:
        self._machine = machine
        self._config = config
        self._clusters = clusters
        self._on_ready = on_ready
        self._prepare = prepare
        self._node = machine.hardware.hostname.lower()

    async def run(self) -> None:
        """Give the Node what it does not get from the kubelet, whenever it lacks it: also when it was deleted and is back."""
        reported = ""
        ready = settled = False
        while True:
            try:
                node = await self._api().get(f"{NODES}/{self._node}")
                if node is not None and self._prepare is not None:
                    await self._prepare(self._api(), node)
                if node is not None:
                    await self._annotate(node, done=False)
                if node is not None and is_ready(node) and not ready:
                    ready = True
                    self._machine.console("kubelet: node is ready")
                    if self._on_ready is not None:
                        await self._on_ready()
                    await self._machine.clock.sleep(CONFIG_DAEMON)
                if node is not None and ready:
                    settled = await self._annotate(node, done=True)
                reported = ""
            except _FAILURES as error:
                text = str(error) or type(error).__name__
                if text != reported:
                    _logger.info("%s: its node cannot be attended to, trying again: %s", self._node, text)
                    reported = text
            await asyncio.sleep(_POLL if settled else _POLL_EARLY)

    def _api(self) -> ClusterAPI:
        """The cluster's administrator. Raises :class:`ControlPlaneError` while there is no cluster, or none of its machines is on."""
        cluster = self._clusters.trusted_by(self._config.ca_bundle)
        if cluster is None:
            raise ControlPlaneError("there is no cluster with the CA that this machine trusts")
        return cluster.api

    async def _annotate(self, node: Object, *, done: bool) -> bool:
        """Set the first annotations of the machine config daemon that are missing; ``done`` for the one it sets last. True if none is."""
        desired = {key: value for key, value in self._config.annotations.items() if done or not key.endswith("/state")}
        missing = {key: value for key, value in desired.items() if key not in annotations_of(node)}
        if missing:
            await self._api().patch(f"{NODES}/{self._node}", {"metadata": {"annotations": missing}})
        return done and not missing
