# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine config daemon of a node with a real kubelet: it is a pod, and no pod runs here, so this does its work.

A machine whose system runs gets the files and units of its pool's config, and reboots. Kernel arguments are those of the computer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from sandbox.machines import Machine
from sandbox.machines.host import Rebooting
from sandbox.openshift import pki
from sandbox.openshift.api import NODES, APIError, ClusterAPI, Object
from sandbox.openshift.assets import files_of, links_of, units_of
from sandbox.openshift.cluster import Cluster, Clusters
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.kubelet import CONFIG_DAEMON, KubeletConfig, OnReady
from sandbox.openshift.machine_config_server import NotServedError
from sandbox.openshift.resources import APPLIES_CONFIGS, MACHINE_CONFIG_ANNOTATION, annotations_of, is_ready

_logger = logging.getLogger(__name__)

# Real seconds between polls of a complete Node, and of an incomplete one.
_POLL: Final = 5.0
_POLL_EARLY: Final = 0.5

_SERVED: Final = Path("etc/ignition-machine-config-encapsulated.json.bak")
_APPLIED: Final = Path("etc/machine-config-daemon/currentconfig")
_UNITS: Final = Path("etc/systemd/system")

_FAILURES: Final = (APIError, ControlPlaneError, NotServedError, httpx.HTTPError)


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
                    await self._follow(node)
                reported = ""
            except _FAILURES as error:
                text = str(error) or type(error).__name__
                if text != reported:
                    _logger.info("%s: its node cannot be attended to, trying again: %s", self._node, text)
                    reported = text
            await asyncio.sleep(_POLL if settled else _POLL_EARLY)

    def _cluster(self) -> Cluster:
        cluster = self._clusters.trusted_by(self._config.ca_bundle)
        if cluster is None:
            raise ControlPlaneError("there is no cluster with the CA that this machine trusts")
        return cluster

    def _api(self) -> ClusterAPI:
        """The cluster's administrator. Raises :class:`ControlPlaneError` while there is no cluster, or none of its machines is on."""
        return self._cluster().api

    async def _follow(self, node: Object) -> None:
        """Cordon a Node, write the config that it should have to the disk and reboot; in the next boot report it and uncordon the Node."""
        current, desired, state = (MACHINE_CONFIG_ANNOTATION + name for name in ("currentConfig", "desiredConfig", "state"))
        rendered, userland = annotations_of(node).get(desired), self._machine.userland
        if userland is None or rendered is None or annotations_of(node).get(current) == rendered:
            return
        kept = userland.root / _APPLIED
        before = json.loads((kept if kept.exists() else userland.root / _SERVED).read_bytes())
        if before["metadata"]["name"] != rendered:
            await self._api().patch(f"{NODES}/{self._node}", {"spec": {"unschedulable": True}})
            _name, config = await self._cluster().rendered(rendered.removeprefix("rendered-").rpartition("-")[0])
            write(userland.root, before["spec"]["config"], config)
            pki.write_file(kept, json.dumps({"metadata": {"name": rendered}, "spec": {"config": config}}).encode())
            self._machine.console(f"machine-config-daemon: rebooting into {rendered}")
            raise Rebooting("by the machine config daemon")
        done = {"metadata": {"annotations": {current: rendered, state: "Done"}}, "spec": {"unschedulable": None}}
        await self._api().patch(f"{NODES}/{self._node}", done)

    async def _annotate(self, node: Object, *, done: bool) -> bool:
        """Set the first annotations of the machine config daemon that are missing; ``done`` for the one it sets last. True if none is."""
        own = {APPLIES_CONFIGS: "true"} if self._machine.userland is not None else {}
        desired = own | {key: value for key, value in self._config.annotations.items() if done or not key.endswith("/state")}
        missing = {key: value for key, value in desired.items() if key not in annotations_of(node)}
        if missing:
            await self._api().patch(f"{NODES}/{self._node}", {"metadata": {"annotations": missing}})
        return done and not missing


def write(root: Path, before: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Write the files and units of a config to a disk, and delete those of the one before that it does not have."""
    folder, files, units = root / _UNITS, files_of(config), units_of(config)
    for name in files_of(before).keys() - files.keys():
        (root / name.lstrip("/")).unlink(missing_ok=True)
    for name in units_of(before).keys() - units.keys():
        for path in [folder / name, *folder.glob(f"*/{name}")]:
            path.unlink(missing_ok=True)
    for entry in config["storage"]["files"]:
        path = root / entry["path"].lstrip("/")
        pki.write_file(path, files[entry["path"]])
        path.chmod(entry.get("mode", 0o644))
    for unit in config["systemd"]["units"]:
        path, text = folder / unit["name"], units[unit["name"]]
        if text:
            pki.write_file(path, text.encode())
            path.chmod(0o644)
        for kind, target in links_of(text) if unit.get("enabled") else ():
            link = folder / f"{target}.{kind}" / unit["name"]
            link.parent.mkdir(exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(f"../{unit['name']}")
