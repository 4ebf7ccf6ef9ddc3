"""Which pods a drain evicts, what keeps them, and what it says of each. Evictions: tests/cluster/test_node_drain.py."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterRefusedError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import FIELD_OWNER
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.drain import (
    Rules,
    excuse,
    is_due,
    objections,
    read_pod,
    refusal_of,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import CORDONED, read_node

NOW = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
RULES = Rules(grace_period=None, delete_emptydir_data=False, evict_unmanaged=False, unreachable_grace=300)
EXISTS = [{"operator": "Exists"}]


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(metadata: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A running pod of a replica set, an hour old."""
    owner = {"kind": "ReplicaSet", "name": "cart", "controller": True}
    base = {"name": "cart-0", "namespace": "shop", "uid": "u", "creationTimestamp": at(-3600), "ownerReferences": [owner]}
    return {
        "metadata": {**base, **(metadata or {})},
        "spec": {"nodeName": "worker-2", "terminationGracePeriodSeconds": 30, **(spec or {})},
        "status": {"phase": "Running", **status},
    }


def terminating(due: float, **metadata: Any) -> dict[str, Any]:
    return pod({"deletionTimestamp": at(due), "deletionGracePeriodSeconds": 30, **metadata})


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        (pod(), "evicted"),
        # The controller is what counts, not any owner.
        (pod({"ownerReferences": [{"kind": "DaemonSet", "name": "dns", "controller": False}]}), "evicted"),
        (pod(phase="Succeeded"), "finished"),
        (pod(phase="Unknown"), "evicted"),
        (pod({"ownerReferences": []}), "evicted"),
    ],
)
def test_only_what_survives_or_is_over_is_left_alone(obj: Any, kind: str) -> None:
    assert read_pod(obj).kind == kind


def test_a_longest_grace_period_shortens_longer_ones_only() -> None:
    rules = replace(RULES, longest_grace_period=20)
    short = read_pod(pod(spec={"terminationGracePeriodSeconds": 10}))
    assert (rules.grace_of(read_pod(pod())), rules.grace_of(short), RULES.grace_of(short)) == (20, None, None)
    assert replace(rules, grace_period=40).grace_of(short) == 40
    # It is evicted again when it was given longer, and not twice.
    longer = read_pod(terminating(30))
    assert (is_due(longer, rules, NOW), is_due(longer, RULES, NOW), is_due(longer, replace(rules, longest_grace_period=30), NOW)) == (
        True,
        False,
        False,
    )


def test_a_pod_of_an_unreachable_node_gets_a_second() -> None:
    """An hour, as the routers have, would be waited for in vain."""
    router = read_pod(pod(spec={"terminationGracePeriodSeconds": 3600}))
    gone, well = reported("Unknown"), reported("True")
    assert (RULES.grace_of(router, gone), RULES.grace_of(router, well)) == (1, None)
    assert replace(RULES, longest_grace_period=20).grace_of(router, gone) == 1
    assert replace(RULES, grace_period=40).grace_of(router, gone) == 40
    # The API server may have begun to delete it when its Node became unreachable, with its own grace period.
    evicted = read_pod(terminating(3000))
    assert (is_due(evicted, RULES, NOW, gone), is_due(evicted, RULES, NOW, well)) == (True, False)
    assert RULES.grace_of(read_pod(pod(spec={"terminationGracePeriodSeconds": 0})), gone) == 0


def test_pods_with_data_to_lose_are_named_before_any_eviction() -> None:
    alone = read_pod(pod({"ownerReferences": [], "name": "one"}))
    local = read_pod(pod({"name": "two"}, {"volumes": [{"name": "cache", "emptyDir": {}}, {"name": "conf", "configMap": {}}]}))
    assert objections([alone, local, read_pod(pod())], RULES) == [
        "pod shop/one on worker-2 has no controller that would create another (evict_unmanaged)",
        "pod shop/two on worker-2 has data in emptyDir volumes: cache (delete_emptydir_data)",
    ]


@pytest.mark.parametrize(
    ("owners", "annotations", "ours"),
    [([FIELD_OWNER], [CORDONED], True), ([], [CORDONED], True), (["kubectl-cordon"], [CORDONED], False), ([FIELD_OWNER], [], False)],
)
def test_a_users_cordon_is_not_ours(owners: list[str], annotations: list[str], ours: bool) -> None:
    fields = [{"manager": owner, "fieldsV1": {"f:spec": {"f:unschedulable": {}}}} for owner in owners]
    metadata = {"annotations": dict.fromkeys(annotations, at(0)), "managedFields": fields}
    assert read_node({"metadata": metadata, "spec": {"unschedulable": True}}).cordoned_here is ours


@pytest.mark.parametrize(
    ("obj", "grace", "due"),
    [
        (pod(), None, True),
        # Terminating pods are not evicted again, but for a shorter grace period.
        (terminating(20), None, False),
        (terminating(20), 30, False),
        (terminating(20), 5, True),
        # One that came back to the cordoned node, as it tolerates that, would come back again.
        (pod({"creationTimestamp": at(1)}, {"tolerations": EXISTS}), None, False),
        (pod({"creationTimestamp": at(1)}), None, True),
    ],
)
def test_pods_are_evicted_in_order(obj: dict[str, Any], grace: int | None, due: bool) -> None:
    assert is_due(read_pod(obj), Rules(grace, True, True, 300), NOW) is due


def reported(status: str) -> Any:
    return read_node({"status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": at(-600)}]}})


@pytest.mark.parametrize(
    ("obj", "ready", "words"),
    [
        (terminating(-301), "Unknown", "the kubelet that could confirm its end is unreachable since 09:50:00Z"),
        (terminating(-299), "Unknown", ""),
        (pod(), "Unknown", ""),  # it has not been evicted: a budget may keep it
        (terminating(-3600), "False", ""),  # its kubelet reports, so its end will be reported
        (terminating(-3600), "True", ""),
        (pod({"creationTimestamp": at(1)}, {"tolerations": EXISTS}), "True", "tolerates the cordon and was created again"),
        (terminating(-3600), None, ""),  # its Node was deleted
    ],
)
def test_finished_and_unreachable_pods_are_not_waited_for(obj: dict[str, Any], ready: str | None, words: str) -> None:
    found = excuse(read_pod(obj), reported(ready) if ready else None, RULES, started=NOW, now=NOW)
    assert bool(found) is bool(words)
    assert words in found


def refused(status: int, answer: str = "no", *causes: tuple[str, str]) -> ClusterRefusedError:
    return ClusterRefusedError(f"Cannot evict: {answer}", status, answer, causes)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refused(429, "Cannot evict pod", ("DisruptionBudget", "The disruption budget db needs 2")), "The disruption budget db needs 2"),
        (refused(429, "Too many requests"), "429 Too many requests"),
        (refused(500, "This pod has more than one PodDisruptionBudget"), "500 This pod has more than one PodDisruptionBudget"),
        (refused(403, "being terminated", ("NamespaceTerminating", "x")), "its namespace is being terminated, which deletes it"),
        (refused(404), "it is gone meanwhile"),
    ],
)
def test_why_an_eviction_was_refused(error: ClusterRefusedError, words: str) -> None:
    assert refusal_of(error) == words


@pytest.mark.parametrize("error", [refused(401), refused(403, 'User "x" cannot create resource "pods/eviction" in API group ""')])
def test_what_another_try_does_not_change_is_raised(error: ClusterRefusedError) -> None:
    with pytest.raises(ClusterRefusedError):
        refusal_of(error)
