# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is managed of a cluster that was installed in another way, and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.base.printable import printable
from ...module_utils.base.tags import CLUSTER_TAG, ROLE_TAG
from ...module_utils.metal.objects import DELETING_STATES, texts
from ...module_utils.nodes.identity import devices_by_node

__all__ = ["lines", "problem"]

PLATFORMS = ("None", "External", "BareMetal", "")
"""Platforms whose nodes join without a cloud provider that knows their machines. Empty: the cluster reports none."""

Object = Mapping[str, Any]


def problem(running: Object, machines: Mapping[str, Sequence[Object]], devices: Iterable[Object], cluster: str) -> str:
    """Return why bare metal workers cannot be added to a running cluster by this inventory; empty when they can.

    ``machines``: those of the inventory by group. ``devices``: all of the project.
    """
    if running["platform"] not in PLATFORMS:
        return (
            f"its platform is {printable(running['platform'])}, whose cloud provider removes nodes that are no machines of its own; workers"
            " at Equinix Metal can join clusters of the platforms None, External and BareMetal"
        )
    if names := [machine["hostname"] for group in ("bootstrap", "control_plane") for machine in machines.get(group, ())]:
        which = f"{', '.join(names)} of the inventory would be machines of its control plane"
        return f"{which}: leave the groups bootstrap and control_plane empty"
    own = [device for device in devices if is_own(device, cluster)]
    if masters := sorted(device["hostname"] for device in own if f"{ROLE_TAG}control-plane" in texts(device.get("tags"))):
        return f"{', '.join(masters)} of its control plane have the ownership tag: it was installed by these playbooks, so use scale.yml"
    return ""


def lines(
    running: Object, nodes: Sequence[Object], machines: Mapping[str, Sequence[Object]], devices: Sequence[Object], cluster: str
) -> list[str]:
    """Return the cluster, its nodes with the devices that they run on, and what is managed from now on."""
    by_name = devices_by_node([device for device in devices if device.get("state") not in DELETING_STATES], nodes)
    workers = [machine["hostname"] for machine in machines.get("workers", ())]
    names = {node["name"] for node in nodes}
    report_lines = [
        f"{cluster} runs OpenShift {printable(running['version'])} (platform {printable(running['platform'] or 'unknown')},"
        f" network {printable(running['network_type'] or 'unknown')}, machines {', '.join(running['machine_architectures']) or 'unknown'},"
        f" infraID {printable(running['infra_id'])})",
        "",
    ]
    width = max((len(printable(node["name"])) for node in nodes), default=0)
    for node in nodes:
        role = "control plane" if node["control_plane"] else "worker"
        report_lines.append(f"  {printable(node['name']):{width}}  {role:13}  {_place(by_name.get(node['name']), cluster)}")
    managed = [name for name in workers if name in names]
    report_lines += [
        "",
        f"Managed:      workers of the inventory: {', '.join(workers) or 'none yet'}",
        f"To be added:  {', '.join(name for name in workers if name not in names) or 'none'}, with scale.yml",
        "Not managed:  the control plane, its DNS records and load balancer, and every node and device without the tag"
        f" {CLUSTER_TAG}{cluster}",
    ]
    foreign = [name for name in managed if not is_own(by_name.get(name, {}), cluster)]
    if foreign:
        report_lines.append(
            f"Problem:      {', '.join(foreign)} are nodes already and their devices are not owned: remove them from the inventory"
        )
    return report_lines


def is_own(device: Object, cluster: str) -> bool:
    return f"{CLUSTER_TAG}{cluster}" in texts(device.get("tags"))


def _place(device: Object | None, cluster: str) -> str:
    if device is None:
        return "no device of this project, not managed"
    return f"device {printable(device.get('id') or '')}, " + (
        "managed" if is_own(device, cluster) else "without the ownership tag, not managed"
    )
