"""The state of a Pod for a report, from whole and from malformed objects."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.details import pod_details, pod_is_well

CRASHING: dict[str, Any] = {"name": "router", "ready": False, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
POD: dict[str, Any] = {
    "metadata": {"namespace": "openshift-ingress", "name": "router-0", "annotations": {"token": "secret"}},
    "spec": {"nodeName": "worker-0", "containers": [{"name": "router", "env": [{"name": "TOKEN", "value": "secret"}]}]},
    "status": {
        "phase": "Running",
        "initContainerStatuses": [{"name": "init", "ready": False, "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}],
        "containerStatuses": [CRASHING],
    },
}


def test_only_the_state_is_returned() -> None:
    assert pod_details(POD) == {
        "namespace": "openshift-ingress",
        "name": "router-0",
        "node": "worker-0",
        "phase": "Running",
        "reason": "",
        "is_deleting": False,
        "containers": [
            {"name": "init", "ready": False, "restarts": 0, "state": "terminated", "reason": "Error", "exit_code": 2},
            {"name": "router", "ready": False, "restarts": 3, "state": "waiting", "reason": "CrashLoopBackOff", "exit_code": None},
        ],
    }


@pytest.mark.parametrize(
    ("status", "well"),
    [
        ({"phase": "Running", "containerStatuses": [{"ready": True}]}, True),
        ({"phase": "Running", "containerStatuses": [CRASHING]}, False),
        ({"phase": "Succeeded", "containerStatuses": [{"ready": False}]}, True),
        ({"phase": "Pending"}, False),
        ({"phase": "Failed", "reason": "Evicted"}, False),
        ({}, False),
    ],
)
def test_which_pods_are_well(status: dict[str, Any], well: bool) -> None:
    assert pod_is_well({**POD, "status": status}) is well


def test_a_pod_that_is_being_deleted_is_listed() -> None:
    assert not pod_is_well({"metadata": {"deletionTimestamp": "now"}, "status": {"phase": "Running"}})


@pytest.mark.parametrize("part", ["metadata", "spec", "status"])
@pytest.mark.parametrize("value", [None, "text", 3, [], {"containerStatuses": [3, {"state": [], "restartCount": "x"}], "phase": 3}])
def test_a_malformed_pod_is_no_error(part: str, value: Any) -> None:
    pod_details({**POD, part: value})
    pod_is_well({**POD, part: value})
