"""A Node as a report shows it, from whole and from malformed objects."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.details import node_details

NODE: dict[str, Any] = {
    "metadata": {
        "name": "master-0",
        "creationTimestamp": "2026-11-21T07:25:00Z",
        "labels": {"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/os": "linux"},
    },
    "spec": {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "now"}]},
    "status": {
        "nodeInfo": {"kubeletVersion": "v1.33.6", "osImage": "CoreOS 9.6"},
        "addresses": [{"type": "InternalIP", "address": "203.0.113.5"}],
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no network", "lastHeartbeatTime": "x"}
        ],
    },
}


def test_it_is_cut_down_to_what_a_person_wants_to_know() -> None:
    assert node_details(NODE) == {
        "name": "master-0",
        "device_id": "",
        "roles": ["control-plane", "master"],
        "ready": False,
        "message": "no network",
        "unschedulable": True,
        "kubelet_version": "v1.33.6",
        "os_image": "CoreOS 9.6",
        "created_at": "2026-11-21T07:25:00Z",
        "addresses": ["203.0.113.5"],
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no network", "lastTransitionTime": ""},
        ],
    }


@pytest.mark.parametrize("part", ["metadata", "spec", "status"])
@pytest.mark.parametrize("value", [None, "text", 3, [], {"labels": 3, "taints": {}, "conditions": [3], "addresses": "x", "nodeInfo": []}])
def test_a_malformed_one_is_no_error(part: str, value: Any) -> None:
    assert node_details({**NODE, part: value})["ready"] is False
