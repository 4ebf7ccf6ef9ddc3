# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The firewall of the nodes: ports that only nodes use accept connections from machines of the cluster alone.

The machine config server sends the pull secret and the bootstrap token of nodes to every client, and devices have public addresses. Which
addresses the machines of a cluster will have is not known at install time, and a MachineConfig that changes reboots nodes. So the nodes
read the addresses from a DNS record that the role ``dns`` keeps (``nodes.<cluster>``).

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.machine_config import machine_config
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.ignition import ignition_file, unit

TCP_PORTS = ("2379-2380", "9000-9999", "10250-10259", "22623-22624")
UDP_PORTS = ("4789", "6081", "9000-9999")
"""Ports between nodes, by OpenShift's network requirements: etcd, host services and metrics, kubelet and controllers, machine config
server; VXLAN, Geneve."""

HOST_NETWORKS = ("169.254.0.0/17", "169.254.169.0/29", "fd69::/112")
"""OVN-Kubernetes' masquerade networks, from which pods reach their own node: the second one is that of clusters installed with 4.16, which
keep it through upgrades."""


def node_firewall(settings: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield a MachineConfig for masters and workers.

    ``node_firewall``: ``enabled``, ``sources``, and ``script``, ``service`` and ``timer``, the contents of their files.
    """
    firewall = settings.get("node_firewall") or {}
    if not firewall.get("enabled"):
        return
    pods = [entry["cidr"] for entry in settings["cluster_networks"] if entry.get("cidr")]
    values = {
        "NODES_RECORD": f"nodes.{settings['cluster']}",
        "SOURCES": " ".join(map(str, [*pods, *HOST_NETWORKS, *firewall["sources"]])),
        "TCP_PORTS": ", ".join(TCP_PORTS),
        "UDP_PORTS": ", ".join(UDP_PORTS),
    }
    files = [
        ignition_file("/etc/node-firewall.conf", "".join(f'{name}="{value}"\n' for name, value in values.items())),
        ignition_file("/usr/local/bin/node-firewall", firewall["script"], 0o755),
    ]
    units = [unit(f"node-firewall.{kind}", firewall[kind]) for kind in ("service", "timer")]
    for pool in ("master", "worker"):
        yield machine_config(pool, "node-firewall", files, units)
