# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule of the workers that the Metal API deletes soon, at their termination time: how much time is left to drain their Nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ...module_utils.base.times import time_of
from ...module_utils.cluster.devices import devices_by_role
from ...module_utils.metal.objects import DELETING_STATES
from ...module_utils.nodes.identity import named_by_nodes

__all__ = ["pending"]

MARGIN = 10
"""Seconds before the deletion at which a drain ends, for the kubelet's last report and a difference between the clocks."""


def pending(
    devices: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]] = (), within: int = 300, *, now: datetime | None = None
) -> dict[str, Any]:
    """Return the evictions of the next ``within`` seconds, the first one first, with the limits of one drain for all of them in seconds.

    ``nodes``: those of the cluster. A worker has the name of its Node, whatever host name its device has. ``timeout`` is the time until the
    last deletion, ``grace_period`` the time until the first one.
    """
    due: list[dict[str, Any]] = []
    now = now or datetime.now(UTC)
    for device in devices_by_role(named_by_nodes(devices, nodes))["workers"]:
        end = time_of(device.get("termination_time"))
        if end is None or device.get("state") in DELETING_STATES:
            continue
        left = int((end - now).total_seconds())
        if left <= int(within):
            eviction = {"hostname": str(device["hostname"]), "termination_time": str(device["termination_time"])}
            due.append({**eviction, "seconds": max(left, 0)})
    due.sort(key=lambda eviction: (eviction["seconds"], eviction["hostname"]))
    times = [max(eviction["seconds"] - MARGIN, 1) for eviction in due]
    return {
        "evictions": due,
        "nodes": [eviction["hostname"] for eviction in due],
        "timeout": max(times, default=0),
        "grace_period": min(times, default=0),
        "lines": [
            f"{eviction['hostname']}: the Metal API deletes its device at {eviction['termination_time']}, in {eviction['seconds']} s"
            for eviction in due
        ],
    }
