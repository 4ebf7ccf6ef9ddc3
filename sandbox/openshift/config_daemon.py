# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine config daemon of a node whose system runs: it is a pod, of those that are in memory, so this does its work.

The machine gets the files and units of its pool's config, and reboots. Kernel arguments are those of the computer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sandbox.machines import Machine, Userland
from sandbox.machines.host import Rebooting
from sandbox.openshift import pki
from sandbox.openshift.api import NODES, ClusterAPI, Object
from sandbox.openshift.assets import files_of, links_of, units_of
from sandbox.openshift.cluster import Cluster, Clusters
from sandbox.openshift.control_plane import PASSING_FAILURES, ControlPlaneError
from sandbox.openshift.kubelet import CONFIG_DAEMON, KubeletConfig
from sandbox.openshift.machine_config_server import NotServedError
from sandbox.openshift.resources import APPLIES_CONFIGS, MACHINE_CONFIG_ANNOTATION, annotations_of, is_ready

_logger = logging.getLogger(__name__)

# Real seconds between polls of a complete Node, and of an incomplete one.
_POLL: Final = 5.0
_POLL_EARLY: Final = 0.5

_SERVED: Final = Path("etc/ignition-machine-config-encapsulated.json.bak")
_APPLIED: Final = Path("etc/machine-config-daemon/currentconfig")
_UNITS: Final = Path("etc/systemd/system")


class ConfigDaemon:
    """``ready``: set when the Node is Ready for the first time in this boot."""

    def __init__(self, machine: Machine, userland: Userland, config: KubeletConfig, clusters: Clusters, ready: asyncio.Event) -> None:
        self._machine = machine
        self._userland = userland
        self._config = config
        self._clusters = clusters
        self._ready = ready
        self._node = machine.hardware.hostname.lower()

    async def run(self) -> None:
        """Give the Node what it does not get from the kubelet, whenever it lacks it: also when it was deleted and is back."""
        reported = ""
        settled = False
        while True:
            try:
                node = await self._api().get(f"{NODES}/{self._node}")
                if node is not None:
                    await self._annotate(node, done=False)
                if node is not None and is_ready(node) and not self._ready.is_set():
                    self._ready.set()
                    self._machine.console("kubelet: node is ready")
                    await self._machine.clock.sleep(CONFIG_DAEMON)
                if node is not None and self._ready.is_set():
                    settled = await self._annotate(node, done=True)
                    await self._follow(node)
                reported = ""
            except (*PASSING_FAILURES, NotServedError) as error:
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
        rendered, root = annotations_of(node).get(desired), self._userland.root
        if rendered is None or annotations_of(node).get(current) == rendered:
            return
        kept = root / _APPLIED
        before = json.loads((kept if kept.exists() else root / _SERVED).read_bytes())
        if before["metadata"]["name"] != rendered:
            await self._api().patch(f"{NODES}/{self._node}", {"spec": {"unschedulable": True}})
            _name, config = await self._cluster().rendered(rendered.removeprefix("rendered-").rpartition("-")[0])
            write(root, before["spec"]["config"], config)
            pki.write_file(kept, json.dumps({"metadata": {"name": rendered}, "spec": {"config": config}}).encode())
            self._machine.console(f"machine-config-daemon: rebooting into {rendered}")
            raise Rebooting("by the machine config daemon")
        done = {"metadata": {"annotations": {current: rendered, state: "Done"}}, "spec": {"unschedulable": None}}
        await self._api().patch(f"{NODES}/{self._node}", done)

    async def _annotate(self, node: Object, *, done: bool) -> bool:
        """Set the first annotations of the machine config daemon that are missing; ``done`` for the one it sets last. True if none is."""
        desired = {key: value for key, value in self._config.annotations.items() if done or not key.endswith("/state")}
        desired[APPLIES_CONFIGS] = "true"
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
