# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bond of the nodes, for machine networks that DHCP does not configure.

One MachineConfig is for all nodes of a pool, and each device has addresses of its own: a script reads them from the metadata service.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.boot.ignition import ignition_file, unit
from ..settings.vlan import LAYER_2
from .machine_config import machine_config

DEFAULT_BRIDGE = "/etc/ovnk/default_bridge"
"""The interface that OVN-Kubernetes takes for its bridge br-ex. Without this file that is the one of the node address, and the bridge needs
a default gateway (openshift/machine-config-operator, pull request 3696). In hybrid mode that is on the bond, in layer 2 in the VLAN."""

NODE_ADDRESS = {"bond": "public", "private": "private", "vlan": "vlan"}
"""The kind of the node address, by machine network with a bond."""

WITHOUT_DHCP = ("private", "vlan")
"""Machine networks in which DHCP configures no address."""


def node_network(settings: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield a MachineConfig for masters and workers.

    ``node_network``: ``kind``, the machine network; ``vlan_mode`` of the machine network vlan; ``metadata_url``; ``families``, the IP
    versions of the cluster; ``script`` and ``service``, the contents of their files.
    """
    network = settings.get("node_network") or {}
    if network.get("kind") not in NODE_ADDRESS:
        return
    files, units = _files(network), [_unit(network)]
    for pool in ("master", "worker"):
        yield machine_config(pool, "node-network", files, units)


def with_bootstrap_network(bootstrap_ign: str, settings: Mapping[str, Any]) -> str:
    """Return bootstrap.ign (JSON) with the same files, where the bootstrap device needs an address in the nodes' network: its etcd member
    and those of the control plane connect to each other. MachineConfigs do not apply to it. ``settings``: as for ``node_network``.
    """
    network = settings.get("node_network") or {}
    if network.get("kind") not in WITHOUT_DHCP:
        return bootstrap_ign
    config = json.loads(bootstrap_ign)
    config.setdefault("storage", {}).setdefault("files", []).extend(_files(network))
    config.setdefault("systemd", {}).setdefault("units", []).append(_unit(network))
    return json.dumps(config, separators=(",", ":"))


def _files(network: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = {
        "METADATA_URL": network["metadata_url"],
        "NODE_ADDRESS": NODE_ADDRESS[network["kind"]],
        "FAMILIES": " ".join(map(str, network["families"])),
    }
    return [
        ignition_file("/etc/node-network.conf", "".join(f'{name}="{value}"\n' for name, value in values.items())),
        ignition_file("/usr/local/bin/node-network", network["script"], 0o755),
        *([ignition_file(DEFAULT_BRIDGE, "bond0\n")] if network["kind"] == "vlan" and network.get("vlan_mode") != LAYER_2 else []),
    ]


def _unit(network: Mapping[str, Any]) -> dict[str, Any]:
    return unit("node-network.service", network["service"])
