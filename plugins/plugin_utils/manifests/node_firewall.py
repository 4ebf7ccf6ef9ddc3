# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The firewall of the nodes: ports that only nodes use accept connections from machines of the cluster alone.

The machine config server sends the pull secret and the bootstrap token of nodes to every client, and devices have public addresses. Which
addresses the machines of a cluster will have is not known at install time, and a MachineConfig that changes reboots nodes. So the nodes
read the addresses from a DNS record that the role ``dns`` keeps (``nodes.<cluster>``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.boot.ignition import ignition_file, unit
from .machine_config import machine_config

TCP_PORTS = ("2379-2380", "9000-9999", "10250-10259", "10357", "22623-22624")
UDP_PORTS = ("4789", "6081", "9000-9999")
"""Ports between nodes, by OpenShift's network requirements: etcd, host services and metrics, kubelet and controllers (10357 that of
policies, in releases that expose it), machine config server; VXLAN, Geneve."""

HOST_NETWORKS = ("169.254.0.0/17", "169.254.169.0/29", "fd69::/112")
"""OVN-Kubernetes' masquerade networks, from which pods reach their own node: the second one is that of clusters installed with 4.16, which
keep it through upgrades."""


def node_firewall(settings: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield a MachineConfig for masters and workers.

    ``node_firewall``: ``enabled``, ``sources``, and ``script``, ``service`` and ``timer``, the contents of their files.
    """
    if not _is_enabled(settings):
        return
    for pool in ("master", "worker"):
        yield machine_config(pool, "node-firewall", _files(settings), _units(settings))


def with_bootstrap_firewall(bootstrap_ign: str, settings: Mapping[str, Any]) -> str:
    """Return bootstrap.ign (JSON) with the same files: the bootstrap device has a machine config server, and MachineConfigs do not apply to
    it. ``settings``: as for ``node_firewall``.
    """
    if not _is_enabled(settings):
        return bootstrap_ign
    config = json.loads(bootstrap_ign)
    config.setdefault("storage", {}).setdefault("files", []).extend(_files(settings))
    config.setdefault("systemd", {}).setdefault("units", []).extend(_units(settings))
    return json.dumps(config, separators=(",", ":"))


def _is_enabled(settings: Mapping[str, Any]) -> bool:
    return bool((settings.get("node_firewall") or {}).get("enabled"))


def _files(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    firewall = settings["node_firewall"]
    pods = [entry["cidr"] for entry in settings["cluster_networks"] if entry.get("cidr")]
    values = {
        "NODES_RECORD": f"nodes.{settings['cluster']}",
        "SOURCES": " ".join(map(str, [*pods, *HOST_NETWORKS, *firewall["sources"]])),
        "TCP_PORTS": ", ".join(TCP_PORTS),
        "UDP_PORTS": ", ".join(UDP_PORTS),
    }
    return [
        ignition_file("/etc/node-firewall.conf", "".join(f'{name}="{value}"\n' for name, value in values.items())),
        ignition_file("/usr/local/bin/node-firewall", firewall["script"], 0o755),
    ]


def _units(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [unit(f"node-firewall.{kind}", settings["node_firewall"][kind]) for kind in ("service", "timer")]
