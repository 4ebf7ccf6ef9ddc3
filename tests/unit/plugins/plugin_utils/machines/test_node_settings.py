"""Labels, annotations and taints of Nodes follow the inventory both ways, and those of others stay."""

import copy
import json
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import MANAGED
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.node_settings import node_changes

NO_SCHEDULE = {"key": "k", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-11-23T10:00:00Z"}


def node(
    labels: dict[str, str] | None = None,
    taints: list[dict[str, Any]] | None = None,
    annotations: dict[str, str] | None = None,
    record: dict[str, Any] | str | None = None,
) -> dict[str, Any]:
    written = {} if record is None else {MANAGED: record if isinstance(record, str) else json.dumps(record, sort_keys=True)}
    metadata = {"name": "n", "resourceVersion": "7", "labels": labels or {}, "annotations": {**(annotations or {}), **written}}
    return {"metadata": metadata, "spec": {"taints": taints} if taints else {}}


def patched(found: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """Return a Node after a merge patch, as the API server answers it: a list replaces a list, None removes a key."""
    result = copy.deepcopy(found)
    for kind in ("labels", "annotations"):
        values = result["metadata"][kind] | definition["metadata"].get(kind, {})
        result["metadata"][kind] = {key: value for key, value in values.items() if value is not None}
    result["spec"] |= definition.get("spec", {})
    return result


def after(machine: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return a Node as it is after one run, and assert that a second run writes nothing."""
    changes = node_changes([{"hostname": "n", **machine}], [found])
    result = patched(found, changes[0]) if changes else found
    assert node_changes([{"hostname": "n", **machine}], [result]) == []
    return result


def settings(found: dict[str, Any]) -> tuple[dict[str, str], dict[str, str], list[dict[str, Any]]]:
    annotations = {key: value for key, value in found["metadata"]["annotations"].items() if key != MANAGED}
    return found["metadata"]["labels"], annotations, found["spec"].get("taints", [])


@pytest.mark.parametrize(
    ("machine", "found", "expected"),
    [
        ({"labels": {"a": "1"}}, node(), ({"a": "1"}, {}, [])),
        ({"taints": [NO_SCHEDULE]}, node(taints=[NOT_READY]), ({}, {}, [NOT_READY, NO_SCHEDULE])),
        # The API keeps no empty value of a taint.
        ({"taints": [{**NO_SCHEDULE, "value": ""}]}, node(), ({}, {}, [NO_SCHEDULE])),
        # A key with two effects is two taints, and another value of a taint is the same one.
        (
            {"taints": [{**NO_SCHEDULE, "value": "v"}]},
            node(taints=[{**NO_SCHEDULE, "value": "w"}, {**NO_SCHEDULE, "effect": "NoExecute"}]),
            ({}, {}, [{**NO_SCHEDULE, "effect": "NoExecute"}, {**NO_SCHEDULE, "value": "v"}]),
        ),
        # Removed from the inventory.
        ({}, node({"a": "1", "b": "2"}, record={"labels": {"a": "1"}}), ({"b": "2"}, {}, [])),
        ({}, node(taints=[NOT_READY, NO_SCHEDULE], record={"taints": {"k:NoSchedule": ""}}), ({}, {}, [NOT_READY])),
        # Changed by others since it was set.
        ({}, node({"a": "theirs"}, record={"labels": {"a": "1"}}), ({"a": "theirs"}, {}, [])),
        ({}, node(taints=[{**NO_SCHEDULE, "value": "theirs"}], record={"taints": {"k:NoSchedule": ""}}), None),
        # Changed in the inventory, and by others.
        ({"labels": {"a": "2"}}, node({"a": "1"}, record={"labels": {"a": "1"}}), ({"a": "2"}, {}, [])),
        # A record that is no JSON removes nothing.
        ({"labels": {"a": "1"}}, node({"b": "2"}, record="{"), ({"a": "1", "b": "2"}, {}, [])),
        ({}, node({"b": "2"}), ({"b": "2"}, {}, [])),
    ],
)
def test_a_node_has_what_the_inventory_says_and_keeps_what_others_set(
    machine: dict[str, Any], found: dict[str, Any], expected: tuple[dict[str, str], dict[str, str], list[dict[str, Any]]] | None
) -> None:
    assert settings(after(machine, found)) == (settings(found) if expected is None else expected)


def test_what_the_kubelet_registered_follows_the_inventory() -> None:
    machine = {"labels": {"a": "1"}, "taints": [NO_SCHEDULE]}
    joined = after(machine, node({"a": "1", "kubernetes.io/os": "linux"}, [NOT_READY, NO_SCHEDULE]))
    assert settings(after({}, joined)) == ({"kubernetes.io/os": "linux"}, {}, [NOT_READY])


def test_an_equal_label_of_others_stays_when_the_inventory_no_longer_has_it() -> None:
    managed = after({"labels": {"b": "2"}}, node())
    managed["metadata"]["labels"]["a"] = "1"
    both = after({"labels": {"a": "1", "b": "2"}}, managed)
    assert settings(after({}, both))[0] == {"a": "1"}
    # Also after the inventory had nothing for this node.
    empty = after({}, both)
    assert settings(after({}, after({"labels": {"a": "1"}}, empty)))[0] == {"a": "1"}


def test_all_changes_of_a_node_are_one_definition_and_taints_carry_its_version() -> None:
    machine = {"labels": {"a": "1"}, "annotations": {"b": "2"}, "taints": [NO_SCHEDULE]}
    (definition,) = node_changes([{"hostname": "n", **machine}, {"hostname": "has no node", **machine}], [node()])
    record = json.dumps({"annotations": {"b": "2"}, "labels": {"a": "1"}, "taints": {"k:NoSchedule": ""}})
    assert definition == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"a": "1"}, "annotations": {"b": "2", MANAGED: record}, "resourceVersion": "7"},
        "spec": {"taints": [NO_SCHEDULE]},
    }
    (label_only,) = node_changes([{"hostname": "n", "labels": {"a": "1"}}], [node()])
    assert "resourceVersion" not in label_only["metadata"]
    assert "spec" not in label_only
