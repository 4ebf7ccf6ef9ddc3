# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the devices of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.nodes.identity import identify

__all__ = ["lines", "node_identity"]

Object = Mapping[str, Any]


def lines(outcomes: Mapping[str, Object], check_mode: bool = False) -> list[str]:
    """Return a line for each device that was created, changed or replaced, or has failed.

    ``outcomes``: those of ``metal_device_set``, by host name. ``check_mode``: they are predictions.
    """
    changed = {name: outcome for name, outcome in outcomes.items() if outcome["error"] or outcome["action"] != "none"}
    return [f"{hostname}: {_result(outcome, check_mode)}" for hostname, outcome in changed.items()]


def _result(outcome: Object, check_mode: bool) -> str:
    if outcome["error"]:
        return f"{outcome['status']}, {outcome['error']}"
    failed = f", after {len(outcome['replacements'])} failed" if outcome["replacements"] else ""
    return f"{'would be ' if check_mode else ''}{outcome['action']}{failed}"


def node_identity(devices: Iterable[Object], nodes: Iterable[Object]) -> dict[str, list[str]]:
    """Return the ids of devices that have a Node (``joined``), and a sentence for each with another name than its Node (``renamed``)."""
    every = list(devices)
    identities = identify(nodes, every)
    joined = [str(device["id"]) for device in every if identities.node_of(str(device["id"]))]
    return {"joined": joined, "renamed": [problem.text for problem in identities.renamed]}
