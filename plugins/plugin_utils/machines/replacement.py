# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines of a cluster are replaced, in which order, and which machines are unhealthy.

Devices are as ``metal_device_info`` returns them, Nodes as ``node_info`` does, machines as the filter ``machines`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ...module_utils.base.times import time_of, timestamp
from ...module_utils.metal.objects import DELETING_STATES
from ...module_utils.nodes.identity import devices_by_node, identify

GROUPS = ("workers", "control_plane")
COMMAND = "ansible-playbook replace.yml -e openshift_replace={name}"

Entry = Mapping[str, Any]


class Fleet:
    """The machines of the inventory with their devices and Nodes. A device has the name of its Node, else its host name in lower case.

    A Node that was left by an earlier device of its name is not among the Nodes while another device has this name.
    """

    def __init__(self, devices: Iterable[Entry], nodes: Iterable[Entry], machines: Mapping[str, Sequence[Entry]]) -> None:
        self.groups = {group: list(machines[group]) for group in GROUPS}
        devices, nodes = [device for device in devices if device.get("state") not in DELETING_STATES], list(nodes)
        identities = identify(nodes, devices)
        self.devices = devices_by_node(devices, nodes)
        self.nodes = {
            str(node["name"]): node for node in nodes if identities.device_of(node["name"]) is not None or node["name"] not in self.devices
        }
        self.renamed = [problem.text for problem in identities.renamed]

    def named(self, name: str) -> list[tuple[str, Entry]]:
        """Return the group and machine of this host name or inventory name; an empty list if there is none."""
        return [
            (group, machine)
            for group, machines in self.groups.items()
            for machine in machines
            if name.lower() in (machine["hostname"].lower(), str(machine.get("inventory_hostname", "")).lower())
        ]

    def pool(self, name: str) -> list[Entry]:
        return [machine for machine in self.groups["workers"] if machine.get("pool") == name]

    def all_names(self) -> list[str]:
        return [str(machine.get("inventory_hostname") or machine["hostname"]) for group in GROUPS for machine in self.groups[group]]


def names_of(value: Any) -> list[str]:
    """Return the host names of a list, or of a text such as ``worker-0,worker-1``, ``worker-0 worker-1`` or ``["worker-0"]``, each once."""
    if isinstance(value, str):
        words: Iterable[Any] = re.split(r"[\s,]+", value.strip().strip("[]"))
    else:
        words = value if isinstance(value, Iterable) else [value] if value else []
    names = [str(word).strip(" \t\n'\"") for word in words]
    return list(dict.fromkeys(word for word in names if word))


def provisioned_at(device: Entry) -> datetime | None:
    """Return when the device was provisioned last: at its creation or its reinstallation."""
    return time_of(device.get("provisioning_started_at") or device.get("created_at"))


def plan_replacement(  # noqa: PLR0913 - passed by keyword
    fleet: Fleet, *, names: Any = (), pool: str = "", older_than: str = "", at_most: int = 1, window: int = 0, now: datetime
) -> dict[str, Any]:
    """Return what is replaced: ``workers`` and ``control_plane``, each a list of host names in order, and ``batches`` of the workers.

    ``removed`` are those of the workers whose device or Node is deleted first; the others have no device yet, or one that an
    interrupted run has ordered and that may still join: its Node does not exist, and it was created less than ``window`` seconds ago.
    ``older_than`` (a time): machines provisioned after it are skipped. ``problems``: why nothing can be replaced, a sentence each.
    """
    chosen, problems = _chosen(fleet, names_of(names), pool)
    problems += [f"{text}." for text in fleet.renamed]
    limit = time_of(older_than)
    if older_than and limit is None:
        problems.append(f"openshift_replace_older_than is {older_than!r}. Set it to a time such as 2026-05-04T10:00:00Z.")
    if at_most < 1:
        problems.append(f"openshift_replace_at_most is {at_most}. Set it to 1 or more.")
    skipped: list[str] = []
    kept: dict[str, list[str]] = {group: [] for group in GROUPS}
    for group, machine in chosen:
        name = machine["hostname"].lower()
        device = fleet.devices.get(name)
        begun = provisioned_at(device) if device is not None else None
        if limit is not None and begun is not None and begun >= limit and name in fleet.nodes:
            skipped.append(f"{name} is not replaced: its device was provisioned at {timestamp(begun)}, after {older_than}")
        else:
            kept[group].append(name)
    workers = [] if problems else kept["workers"]
    return {
        "workers": workers,
        "control_plane": [] if problems else kept["control_plane"],
        "removed": [name for name in workers if not _may_still_join(fleet, name, window, now)],
        "batches": [workers[first : first + at_most] for first in range(0, len(workers), max(at_most, 1))],
        "skipped": skipped,
        "problems": problems,
    }


def _chosen(fleet: Fleet, names: Sequence[str], pool: str) -> tuple[list[tuple[str, Entry]], list[str]]:
    """Return the machines of these names or of the pool, each with its group, and the problems of the choice."""
    if bool(names) == bool(pool):
        both = "openshift_replace and openshift_replace_pool are both set" if pool else "No machine to replace is given"
        return [], [f"{both}. Run with -e openshift_replace=<host>[,<host>], or with -e openshift_replace_pool=<pool>."]
    if pool:
        candidates = [("workers", machine) for machine in fleet.pool(pool)]
        pools = sorted({str(machine.get("pool")) for machine in fleet.groups["workers"]})
        return candidates, [] if candidates else [f"The inventory has no pool {pool}. Its pools are: {', '.join(pools) or 'none'}."]
    chosen, problems = [], []
    for name in names:
        matches = fleet.named(name)
        chosen += [match for match in matches if match not in chosen]
        if not matches:
            known = ", ".join(fleet.all_names()) or "none"
            problems.append(f"{name} is no worker and no control plane machine of the inventory. It has: {known}.")
    return chosen, problems


def _may_still_join(fleet: Fleet, name: str, window: int, now: datetime) -> bool:
    """Return whether a machine has no device to delete: none exists, or it is new and has not joined yet."""
    device = fleet.devices.get(name)
    if name in fleet.nodes:
        return False
    if device is None:
        return True
    begun = provisioned_at(device)
    return device.get("state") != "failed" and begun is not None and (window <= 0 or (now - begun).total_seconds() < window)


def unhealthy_machines(fleet: Fleet, *, now: datetime, replace_after: int = 0) -> list[dict[str, Any]]:
    """Return the machines whose device failed, was deleted or is switched off, or whose Node is not Ready, by host name.

    ``kind``: ``device_failed``, ``device_missing`` (its Node is left), ``device_off`` or ``node_not_ready``. ``since`` and ``seconds``:
    how long its Node is not Ready, where known. ``is_due``: whether scale.yml may replace it by itself: a worker whose device failed, or
    whose device runs while its Node is not Ready for ``replace_after`` seconds; never with 0. ``line`` is a text with the next step.
    """
    unhealthy = []
    for group in GROUPS:
        for machine in fleet.groups[group]:
            name = machine["hostname"].lower()
            device, node = fleet.devices.get(name), fleet.nodes.get(name)
            kind, reason = _ailment(device, node)
            if not kind:
                continue
            since = time_of(node.get("since")) if node is not None and not node["ready"] else None
            seconds = None if since is None else max(0, int((now - since).total_seconds()))
            is_over = kind == "device_failed" or (kind == "node_not_ready" and seconds is not None and seconds >= replace_after)
            is_due = group == "workers" and replace_after > 0 and is_over
            entry = {
                "hostname": name,
                "inventory_hostname": str(machine.get("inventory_hostname") or name),
                "role": "worker" if group == "workers" else "control-plane",
                "kind": kind,
                "reason": reason,
                "since": None if since is None else timestamp(since),
                "seconds": seconds,
                "is_due": is_due,
            }
            unhealthy.append({**entry, "line": _line(entry)})
    return sorted(unhealthy, key=lambda entry: entry["hostname"])


def _ailment(device: Entry | None, node: Entry | None) -> tuple[str, str]:
    if device is None:
        return ("device_missing", "its device does not exist any more, its Node does") if node is not None else ("", "")
    if device.get("state") == "failed":
        return "device_failed", f"its device {device.get('id')} is in the state failed"
    if node is None or node["ready"]:
        return "", ""
    if device.get("state") in ("inactive", "powering_off"):
        return "device_off", "its device is switched off"
    status = "Unknown" if node.get("unreachable") else "False"
    return "node_not_ready", f"its Node is not Ready (Ready={status}: {node.get('message') or 'no message'})"


def _line(entry: Entry) -> str:
    duration = f" since {entry['since']} ({entry['seconds']} s)" if entry["since"] else ""
    replace = COMMAND.format(name=entry["inventory_hostname"])
    advice = {
        "device_failed": f"Replace it: {replace}",
        "device_missing": "Create another device: "
        + ("ansible-playbook scale.yml" if entry["role"] == "worker" else COMMAND.format(name=entry["inventory_hostname"])),
        "device_off": "Switch it on in the portal, or with equinix_metal.openshift.metal_device and power_state: 'on'",
        "node_not_ready": f"Check its kubelet (journalctl -u kubelet), or replace it: {replace}",
    }[entry["kind"]]
    return f"{entry['kind']}: {entry['hostname']}: {entry['reason']}{duration}. {advice}"
