"""Nodes as the removal of machines sees them, and who has cordoned one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import FIELD_OWNER
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import CORDONED, UNCORDON, cordon, read_node

AT = datetime(2026, 11, 22, 10, 11, 2, tzinfo=UTC)
KUBECTL = "kubectl-cordon"


def node(*owners: str, annotated: bool = True, unschedulable: Any = True, ready: str = "True", **labels: str) -> dict[str, Any]:
    """A Node whose ``spec.unschedulable`` is owned by these field managers."""
    return {
        "metadata": {
            "name": "worker-0",
            "uid": "u",
            "labels": labels,
            "annotations": {CORDONED: "2026-11-22T10:11:02Z"} if annotated else {},
            "managedFields": [{"manager": owner, "fieldsV1": {"f:spec": {"f:unschedulable": {}}}} for owner in owners]
            + [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
        },
        "spec": {"unschedulable": unschedulable},
        "status": {"conditions": [{"type": "Ready", "status": ready, "message": "as it is", "lastTransitionTime": "2026-11-22T10:00:00Z"}]},
    }


@pytest.mark.parametrize(
    ("obj", "ours"),
    [
        (node(FIELD_OWNER), True),
        (node(), True),  # something has dropped the managed fields: the annotation counts
        (node(KUBECTL), False),  # uncordoned by a user after us, and cordoned again
        (node(FIELD_OWNER, KUBECTL), True),
        (node(FIELD_OWNER, annotated=False), False),
        (node(FIELD_OWNER, unschedulable=False), False),
        (node(FIELD_OWNER, unschedulable=None), False),
        (node(FIELD_OWNER, unschedulable="true"), False),
    ],
)
def test_the_owner_of_a_cordon_is_read(obj: dict[str, Any], ours: bool) -> None:
    assert read_node(obj).cordoned_here is ours


def test_what_is_read() -> None:
    found = read_node(node(annotated=False, unschedulable=None, ready="Unknown", **{"node-role.kubernetes.io/master": ""}))
    assert (found.name, found.uid, found.control_plane, found.schedulable) == ("worker-0", "u", True, True)
    assert (found.ready, found.unreachable, found.message) == (False, True, "as it is")


@pytest.mark.parametrize("obj", [None, 3, [], {}, {"metadata": []}, {"metadata": {"name": 3, "annotations": [1], "managedFields": "x"}}])
def test_a_malformed_node_is_no_error_and_not_ready(obj: Any) -> None:
    found = read_node(obj)
    assert (found.ready, found.cordoned_here, found.device_id) == (False, False, "")


def test_a_forged_message_is_one_line() -> None:
    obj = node(ready="False")
    obj["status"]["conditions"][0]["message"] = "fine\n\x1b[32mok: [localhost]"
    assert read_node(obj).message == "fine\\n\\x1b[32mok: [localhost]"


def test_cordon_and_uncordon_touch_the_same_fields() -> None:
    patch = cordon(AT)
    assert patch == {"metadata": {"annotations": {CORDONED: "2026-11-22T10:11:02Z"}}, "spec": {"unschedulable": True}}
    assert UNCORDON == {"metadata": {"annotations": {CORDONED: None}}, "spec": {"unschedulable": None}}
