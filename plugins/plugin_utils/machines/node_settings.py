# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels, annotations and taints of Nodes: what has to be written so that they are those of the inventory.

What was set for the inventory is recorded in an annotation of the Node, with its value. What is recorded and no longer in the inventory is
removed, unless its value was changed since. Everything else on a Node belongs to others and is not changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings, text
from ...module_utils.base.kubernetes_objects import MANAGED

KINDS = ("labels", "annotations", "taints")
LONGEST = 4096
"""Longer annotations are of operators, such as those with the routes of the network."""

Values = dict[str, str]
"""Values by key; those of taints by ``key:effect``, which identifies a taint."""


def node_changes(machines: Iterable[Mapping[str, Any]], nodes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the definition of each Node to patch; ``machines`` are the inventory's. Machines without a Node are left out.

    A label or annotation to remove has the value None. Taints are one list for Kubernetes, so a Node whose taints change has all of them
    and its resource version: a taint that is added meanwhile makes the patch fail and does not get lost.
    """
    current = {node["metadata"]["name"]: node for node in nodes}
    definitions = (_definition(machine, current[machine["hostname"]]) for machine in machines if machine["hostname"] in current)
    return [definition for definition in definitions if definition]


def _definition(machine: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any] | None:
    metadata, spec = mapping(node.get("metadata")), mapping(node.get("spec"))
    recorded = read_record(metadata)
    taints = mappings(spec.get("taints"))
    current = {
        "labels": dict(mapping(metadata.get("labels"))),
        "annotations": dict(mapping(metadata.get("annotations"))),
        "taints": {_identity(taint): text(taint.get("value")) for taint in taints},
    }
    desired = {
        "labels": dict(machine.get("labels") or {}),
        "annotations": dict(machine.get("annotations") or {}),
        "taints": {_identity(taint): str(taint.get("value") or "") for taint in machine.get("taints") or ()},
    }
    before = dict.fromkeys(KINDS, None) if recorded is None else recorded
    changes = {kind: _changes(desired[kind], current[kind], before[kind]) for kind in KINDS}
    record = {kind: _owned(desired[kind], current[kind], before[kind]) for kind in KINDS}
    # An empty record stays: without one, all desired values would count as set for the inventory.
    value = json.dumps({kind: values for kind, values in record.items() if values}, sort_keys=True)
    if value != current["annotations"].get(MANAGED) and (recorded is not None or any(record.values())):
        changes["annotations"][MANAGED] = value
    if not any(changes.values()):
        return None
    written: dict[str, Any] = {kind: changes[kind] for kind in ("labels", "annotations") if changes[kind]}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], **written}}
    if changes["taints"]:
        body["metadata"]["resourceVersion"] = metadata.get("resourceVersion")
        body["spec"] = {"taints": _all_taints(taints, changes["taints"])}
    return body


def settable(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what can be set on a Node for the inventory: hundreds of whole Nodes would be megabytes."""
    metadata, spec = mapping(node.get("metadata")), mapping(node.get("spec"))
    kept = {name: metadata[name] for name in ("name", "labels", "resourceVersion") if name in metadata}
    own = {name: value for name, value in mapping(metadata.get("annotations")).items() if len(str(value)) < LONGEST}
    return {"metadata": {**kept, "annotations": own}, "spec": {"taints": mappings(spec.get("taints"))}}


def read_record(metadata: Mapping[str, Any]) -> dict[str, Values] | None:
    """Return what was set on a Node for the inventory, None if nothing is recorded. A malformed record is an empty one."""
    annotation = mapping(metadata.get("annotations")).get(MANAGED)
    if annotation is None:
        return None
    try:
        record = mapping(json.loads(annotation))
    except (TypeError, ValueError):
        record = {}
    return {kind: {str(key): text(value) for key, value in mapping(record.get(kind)).items()} for kind in KINDS}


def _changes(desired: Values, current: Values, recorded: Values | None) -> dict[str, str | None]:
    """Return the values to write, None for one to remove: one that was set here and still has the value that was set."""
    added: dict[str, str | None] = {key: value for key, value in desired.items() if current.get(key) != value}
    return added | {key: None for key, value in (recorded or {}).items() if key not in desired and current.get(key) == value}


def _owned(desired: Values, current: Values, recorded: Values | None) -> Values:
    """Return the desired values that belong to the inventory: all that others have not set to the same value before.

    On a Node without a record these are all desired values: the kubelet has registered it with them.
    """
    return {key: value for key, value in desired.items() if recorded is None or key in recorded or current.get(key) != value}


def _identity(taint: Mapping[str, Any]) -> str:
    return f"{taint.get('key')}:{taint.get('effect')}"


def _all_taints(current: Iterable[Mapping[str, Any]], changes: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Return all taints of a Node after these changes, those of others as they are."""
    kept = [dict(taint) for taint in current if _identity(taint) not in changes]
    for identity, value in changes.items():
        if value is not None:
            key, _colon, effect = identity.rpartition(":")
            kept.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return kept
