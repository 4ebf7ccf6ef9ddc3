# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary at the end of a run: nodes, devices and their price, console, duration of each phase, the next commands.

Pure functions over the results of ``cluster_wait`` and ``metal_cluster_info``. Either may have failed or be malformed; the summary reports
that, since the run itself was successful.
"""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings
from ...module_utils.base.printable import printable
from ...module_utils.metal.objects import DELETING_STATES
from ...module_utils.nodes.identity import identify
from ..actions.phases import elapsed
from ..boot.pointer import ROLES_OF_NODES
from ..preflight.findings import counted
from .commands import Caller
from .rows import columns, continued, price, rows

SHOWN_NODES = 20
"""Nodes to list, those that are not Ready first; the others are counted."""
SHOWN_WAITING = 8
LONGEST = 500
HEAD = ("NODE", "ROLES", "STATUS", "VERSION")

Data = Mapping[str, Any]


def cluster_lines(cluster: str, state: Any) -> list[str]:
    """Return the release, the nodes, and what the cluster still waits for."""
    state = mapping(state)
    nodes = mappings(state.get("nodes"))
    ready = sum(bool(node.get("ready")) for node in nodes)
    version = printable(state.get("cluster_version") or "of an unknown version")
    lines = [f"{printable(cluster)} runs OpenShift {version} on {counted(len(nodes), 'node')}, {ready} Ready"]
    if not state.get("api_answers"):
        lines = [f"{printable(cluster)}: the API server does not answer"]
    waiting = [printable(text, LONGEST) for text in state.get("waiting") or []]
    if waiting and not state.get("reached"):
        more = [f"and {len(waiting) - SHOWN_WAITING} more"] if len(waiting) > SHOWN_WAITING else []
        lines += rows(continued("Waiting", [*waiting[:SHOWN_WAITING], *more]))
    if nodes:
        ordered = sorted(nodes, key=lambda node: (bool(node.get("ready")), not _is_control_plane(node), str(node.get("name"))))
        lines += ["", *(f"  {line}" for line in columns([HEAD, *map(_node, ordered[:SHOWN_NODES])]))]
        if len(ordered) > SHOWN_NODES:
            lines.append(f"  and {counted(len(ordered) - SHOWN_NODES, 'node')} more")
    return lines


def brief(lines: Sequence[str]) -> list[str]:
    """Return what a run says that had nothing to do: the release, and what the cluster waits for."""
    return list(itertools.takewhile(bool, lines))


def device_lines(belongings: Any) -> list[str]:
    """Return the number of devices by plan and metro, and their price."""
    clusters = mappings(mapping(belongings).get("clusters"))
    if not clusters:
        return rows(
            [("Devices", f"unknown: {printable(mapping(belongings).get('msg') or 'no request was sent to the Metal API', LONGEST)}")]
        )
    devices = mappings(clusters[0].get("devices"))
    total = price(clusters[0].get("price_per_hour"), ", {:.2f} USD per hour")
    groups = Counter(
        (str(device.get("role") or "device without a role"), f"{device.get('plan')} in {device.get('metro')}") for device in devices
    )
    listed = [f"{number} {role}, {place}" for (role, place), number in sorted(groups.items())]
    blocks = mappings(clusters[0].get("ip_reservations"))
    listed += [counted(len(blocks), "address block")] if blocks else []
    return rows([("Devices", f"{len(devices)}{total}"), *continued("", [printable("; ".join(listed), LONGEST)] if listed else [])])


def unjoined(state: Any, belongings: Any, pending: Collection[str] = ()) -> list[str]:
    """Return the devices that are to be nodes and have no Ready Node of their own, each with the reason.

    ``pending``: names of machines that the run no longer waits for. Empty while Nodes or devices are unknown.
    """
    clusters = mappings(mapping(belongings).get("clusters"))
    if not clusters or not mapping(state).get("api_answers"):
        return []
    nodes = {str(node.get("name")): node for node in mappings(mapping(state).get("nodes")) if node.get("name")}
    devices = [device for device in mappings(clusters[0].get("devices")) if device.get("id") and device.get("state") not in DELETING_STATES]
    identities = identify(nodes.values(), devices)
    texts = []
    for device in devices:
        hostname = str(device.get("hostname") or "").lower()
        name = identities.node_of(str(device["id"]))
        if device.get("role") not in ROLES_OF_NODES or (name or hostname) in pending:
            continue
        if not name:
            texts.append(f"device {device['id']} ({hostname or 'without a name'}, {device.get('state')}) has no Node")
        elif not nodes[name].get("ready"):
            texts.append(f"node {name} is not Ready: {nodes[name].get('message') or 'no message'}")
    return [printable(text, LONGEST) for text in [*(problem.text for problem in identities.renamed), *texts]]


def cost_of(belongings: Any) -> dict[str, Any]:
    """Return the number of devices and their price per hour, for the run report; empty if unknown."""
    clusters = mappings(mapping(belongings).get("clusters"))
    if not clusters:
        return {}
    return {"devices": len(mappings(clusters[0].get("devices"))), "price_per_hour": clusters[0].get("price_per_hour")}


def access_lines(state: Any, password_file: str) -> list[str]:
    """Return the address of the console and the credentials. ``password_file`` is empty where it does not exist."""
    console = printable(mapping(state).get("console_url") or "none yet", LONGEST)
    password = f"its password is in {password_file or 'the folder that the cluster was installed from'}"
    return rows([("Console", console), ("", f"user kubeadmin, {password}")])


def next_lines(kubeconfig: str, caller: Caller) -> list[str]:
    """Return the next commands; in a job also where the kubeconfig is kept."""
    if caller.job:
        return rows(
            continued(
                "Next",
                [
                    f"the kubeconfig is {kubeconfig}",
                    "to scale, change the inventory and launch the job template that runs scale.yml",
                    "to delete the cluster, launch the job template that runs destroy.yml",
                ],
            )
        )
    commands = [
        f"export KUBECONFIG={shlex.quote(kubeconfig)}; oc get nodes  # or kubectl",
        f"{caller.sibling('scale')}  # after a change of the inventory's hosts{caller.same}",
        f"{caller.sibling('destroy')}  # deletes the cluster and ends the billing{caller.same}",
    ]
    return rows(continued("Next", commands))


def time_lines(log: Sequence[Data], now: float) -> list[str]:
    """Return how long the run took; empty without phases. The title of each phase has the time at which it began."""
    return rows([("Elapsed", elapsed(log, now))]) if log else []


def _node(node: Data) -> list[str]:
    status = "Ready" if node.get("ready") else "NotReady"
    status += ",SchedulingDisabled" if node.get("unschedulable") else ""
    roles = ",".join(map(str, node.get("roles") or [])) or "<none>"
    return [printable(text) for text in (node.get("name"), roles, status, node.get("kubelet_version") or "unknown")]


def _is_control_plane(node: Data) -> bool:
    return bool({"master", "control-plane"} & set(map(str, node.get("roles") or [])))
