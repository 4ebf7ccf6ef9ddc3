"""Whether manifests have a cloud controller manager."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.cloud_controller import UNINITIALIZED, has_cloud_controller


def workload(kind: str, *tolerations: Any) -> dict[str, Any]:
    return {"kind": kind, "spec": {"template": {"spec": {"tolerations": list(tolerations)}}}}


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (workload("Deployment", {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}), True),
        (workload("DaemonSet", {"operator": "Exists"}), True),
        ({"kind": "Pod", "spec": {"tolerations": [{"key": UNINITIALIZED, "operator": "Exists"}]}}, True),
        ({"kind": "List", "items": [{"kind": "Namespace"}, workload("Deployment", {"operator": "Exists"})]}, True),
        (workload("Deployment", {"key": UNINITIALIZED, "effect": "NoExecute"}), False),
        (workload("Deployment", {"key": "node-role.kubernetes.io/master", "operator": "Exists"}), False),
        (workload("Job", {"operator": "Exists"}), False),
        ({"kind": "Deployment", "spec": {"template": None}}, False),
        ({"kind": "MachineConfig"}, False),
        ("text", False),
    ],
)
def test_a_cloud_controller_tolerates_nodes_without_one(item: Any, found: bool) -> None:
    assert has_cloud_controller([{"kind": "Namespace"}, item]) is found
