# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What machines need to become Nodes, and what is set on the Nodes: boot files, records, CSRs, labels, annotations and taints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.base.kubernetes_objects import MANAGED
from ..machines.node_settings import node_changes
from .step import Step
from .world import Desired, World

SHOWN = 6
"""Names in one line; the others are counted."""
RECORDED = "record of its device"


def coming(desired: Desired, world: World, ordered: Iterable[str]) -> list[str]:
    """Return the machines that have no Node yet, and those that are ordered. They boot from what is published, and ask for certificates."""
    joined = {str(node["name"]) for node in world.nodes}
    names = [str(machine["hostname"]) for machine in desired.nodes]
    again = set(ordered)
    return [name for name in names if name in again or (world.knows_nodes and name not in joined)]


def boot_files(phase: str, names: Sequence[str]) -> list[Step]:
    """Return the step that publishes what machines boot from, if there are any."""
    reason = f"for {listed(names)}"
    return [Step(phase, "publish", "files", "boot files", reason, after=list(names))] if names else []


def records(phase: str, names: Sequence[str], desired: Desired, also: str = "") -> list[Step]:
    """Return the step that writes the records of new machines, if the playbooks write records."""
    if not names or not desired.has_dns:
        return []
    text = ", ".join(filter(None, [also, listed(names)]))
    return [Step(phase, "publish", "records", "DNS records", text, after=list(names), known_after="addresses known after creation")]


def requests(phase: str, names: Sequence[str]) -> list[Step]:
    """Return the step that approves the certificate requests of new machines."""
    reason = f"of {listed(names)}"
    return [Step(phase, "approve", "requests", "CSRs", reason, after=list(names), known_after="keys known after the boot")] if names else []


def settings(phase: str, desired: Desired, world: World) -> list[Step]:
    """Return a step for each Node whose labels, annotations, taints or record of its device are not those of the inventory."""
    if not world.knows_nodes:
        return []
    by_name = {str(item["metadata"]["name"]): item for item in world.objects}
    texts = {str(change["metadata"]["name"]): list(_texts(change)) for change in node_changes(desired.nodes, world.objects)}
    devices, expected = world.fleet(desired).devices, {str(machine["hostname"]) for machine in desired.nodes}
    for node in world.nodes:
        if node["name"] in expected and node["name"] in devices and not (node["device_id"] and node["provider_id"]):
            texts.setdefault(str(node["name"]), []).append(RECORDED)
    return [
        Step(
            phase,
            "change",
            "node",
            name,
            "" if details == [RECORDED] else "set in the inventory",
            detail=", ".join(details),
            before=_before(by_name.get(name, {})),
        )
        for name, details in sorted(texts.items())
        if details
    ]


def _before(node: Mapping[str, Any]) -> dict[str, Any]:
    metadata = node.get("metadata") or {}
    return {"labels": dict(metadata.get("labels") or {}), "taints": list((node.get("spec") or {}).get("taints") or ())}


def _texts(change: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("labels", "annotations"):
        for key, value in sorted((change["metadata"].get(kind) or {}).items()):
            # The record of what was set follows from the values.
            if key != MANAGED:
                yield f"without {kind.removesuffix('s')} {key}" if value is None else f"{kind.removesuffix('s')} {key}={value}"
    if "spec" in change:
        yield f"taints {', '.join(map(_taint, change['spec']['taints'])) or 'none'}"


def _taint(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def listed(names: Iterable[str]) -> str:
    """Return the short names of machines, the first ones of many."""
    short = [name.partition(".")[0] for name in names]
    more = f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""
    return ", ".join(short[:SHOWN]) + more
