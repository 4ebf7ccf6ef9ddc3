"""The default IngressController of an inventory: at the installation, and changed in a running cluster."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import MANAGED
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.cluster_manifests import cluster_manifests
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.ingress_controller import (
    INGRESS_LABEL,
    ingress_controller,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.cluster import ingress_changes

TAINTS = [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}, {"key": "edge", "effect": "NoExecute"}]
WORKERS: list[dict[str, Any]] = [
    {"hostname": "w", "pool": "worker", "taints": [{"key": "other", "effect": "NoSchedule"}]},
    {"hostname": "i", "pool": "infra", "taints": TAINTS},
    {"hostname": "j", "pool": "infra", "taints": TAINTS[:1]},
    {"hostname": "e", "pool": "edge", "taints": []},
]
TOLERATIONS = [
    {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"},
    {"key": "edge", "operator": "Exists", "effect": "NoExecute"},
]


def settings(pool: str = "", replicas: Any = "") -> dict[str, Any]:
    return {"ingress": {"pool": pool, "replicas": replicas}, "workers": WORKERS}


def apply(item: Any, patch: Any) -> Any:
    """Apply a merge patch as RFC 7386 says."""
    if not isinstance(patch, dict):
        return patch
    result = dict(item) if isinstance(item, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


def of(pool: str = "", replicas: Any = "") -> dict[str, Any]:
    """The IngressController of a cluster that was installed with these settings."""
    return next(iter(ingress_controller(settings(pool, replicas))), {"metadata": {"name": "default"}, "spec": {}})


def test_the_manifest_has_a_file_and_tolerates_the_taints_of_the_pool_alone() -> None:
    (file,) = cluster_manifests(settings("infra", "3"))
    assert file["name"] == "ingresscontroller-openshift-ingress-operator-default.yaml"
    found = of("infra", "3")
    assert found["spec"] == {
        "replicas": 3,
        "nodePlacement": {"nodeSelector": {"matchLabels": {INGRESS_LABEL: "infra"}}, "tolerations": TOLERATIONS},
    }
    assert found["metadata"]["annotations"] == {MANAGED: "nodePlacement,replicas"}


@pytest.mark.parametrize("before", [("", ""), ("infra", ""), ("infra", 3), ("edge", 2), ("control_plane", ""), ("", 3)])
@pytest.mark.parametrize("after", [("", ""), ("infra", ""), ("infra", 3), ("edge", 2), ("control_plane", ""), ("", 3)])
def test_a_running_cluster_becomes_as_one_that_was_installed_so(before: tuple[str, Any], after: tuple[str, Any]) -> None:
    current = of(*before)
    changes = ingress_changes([current], WORKERS, *after)
    assert bool(changes) is (before != after)
    for change in changes:
        current = apply(current, change)
    desired = of(*after)
    assert current["spec"] == desired["spec"]
    assert current["metadata"].get("annotations", {}).get(MANAGED) == desired["metadata"].get("annotations", {}).get(MANAGED)
    assert ingress_changes([current], WORKERS, *after) == []


def test_what_others_have_set_stays() -> None:
    others = {"metadata": {"name": "default"}, "spec": {"replicas": 5, "nodePlacement": {"tolerations": []}, "logging": {"access": {}}}}
    assert ingress_changes([others], WORKERS) == []
    (change,) = ingress_changes([others], WORKERS, "edge")
    changed = apply(others, change)
    assert changed["spec"]["replicas"] == 5
    assert changed["spec"]["logging"] == {"access": {}}
    assert changed["spec"]["nodePlacement"] == {"nodeSelector": {"matchLabels": {INGRESS_LABEL: "edge"}}}


def test_a_taint_that_the_pool_loses_is_no_longer_tolerated() -> None:
    (change,) = ingress_changes([of("infra")], [{**machine, "taints": []} for machine in WORKERS], "infra")
    assert change["spec"] == {"nodePlacement": {"tolerations": None}}
