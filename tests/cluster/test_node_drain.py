"""node_drain against a real API server and the real disruption controller. Kubelets are the tests themselves: they end pods, or do not."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import FIELD_OWNER
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import CORDONED
from tests.cluster.conftest import Play
from tests.cluster.control_plane import ADDRESS, NODES, ControlPlane
from tests.eventually import until

Start = Callable[..., Callable[[], dict[str, Any]]]
ALL = {"delete_emptydir_data": True, "evict_unmanaged": True}


def options(cluster: ControlPlane, *nodes: str, seconds: float = 30, **changes: Any) -> dict[str, Any]:
    reach = {"kubeconfig": str(cluster.kubeconfig), "api_addresses": [ADDRESS], "wait_timeout": seconds, "wait_interval": 0.5}
    return {**reach, "nodes": list(nodes), **ALL, **changes}


def node(cluster: ControlPlane, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.call("GET", f"{NODES}/{name}").json()
    return found


def is_cordoned(cluster: ControlPlane, name: str) -> bool:
    return bool(node(cluster, name)["spec"].get("unschedulable"))


def cordon_by_hand(cluster: ControlPlane, name: str, *, cordoned: bool = True) -> None:
    """As kubectl does it: under a field manager of its own."""
    found = node(cluster, name)
    found["spec"]["unschedulable"] = cordoned
    cluster.call("PUT", f"{NODES}/{name}?fieldManager=kubectl-cordon", found).raise_for_status()


def when(condition: Callable[[], Any], act: Callable[[], Any], *, within: float = 30) -> threading.Thread:
    """Act as soon as a condition holds, beside a module that is at work."""

    def run() -> None:
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)
        act()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def terminating(cluster: ControlPlane, node_name: str, name: str) -> bool:
    return bool(cluster.pods_on(node_name).get(name, {}).get("metadata", {}).get("deletionTimestamp"))


def calls(cluster: ControlPlane, since: int, verb: str) -> list[dict[str, Any]]:
    """What the module asked of pods: ``list`` them, ``create`` evictions."""
    events = [event for event in cluster.audit(since) if event["objectRef"]["resource"] == "pods" and event["verb"] == verb]
    return [event for event in events if event["userAgent"] == FIELD_OWNER]


def said(result: dict[str, Any]) -> str:
    return " ".join(result["output"].split())


def test_a_drain_evicts_all_pods_but_those_of_daemon_sets_and_static_pods(cluster: ControlPlane, run: Play) -> None:
    """Daemon sets and static pods stay, finished ones are nothing to wait for; two nodes are drained in one call."""
    for name in ("a", "b"):
        cluster.register(name)
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "dns", "uid": "0", "controller": True}
    cluster.run_pod("dns", "a", ownerReferences=[daemon])
    cluster.run_pod("static", "a", annotations={"kubernetes.io/config.mirror": "x"})
    cluster.run_pod("done", "a")
    done = cluster.call("GET", "/api/v1/namespaces/default/pods/done").json()
    cluster.call("PUT", "/api/v1/namespaces/default/pods/done/status", {**done, "status": {"phase": "Succeeded"}}).raise_for_status()
    for name, place in (("one", "a"), ("two", "b")):
        cluster.run_pod(name, place, spec={"terminationGracePeriodSeconds": 0})
    predicted = run("node_drain", "--check", **options(cluster, "a", "b"))
    assert (predicted["changed"], predicted["evicted"]) == (True, ["default/one", "default/two"])
    assert not is_cordoned(cluster, "a")
    result = run("node_drain", **options(cluster, "a", "b", "nowhere"))
    assert not result["failed"], result["msg"]
    assert (result["changed"], result["drained"], result["absent"]) == (True, True, ["nowhere"])
    assert sorted(result["evicted"]) == ["default/one", "default/two"]
    assert sorted(cluster.pods_on("a")) == ["dns", "done", "static"]
    assert is_cordoned(cluster, "a") and is_cordoned(cluster, "b")
    assert predicted["diff"] == {**result["diff"], "before": predicted["diff"]["before"]}
    again = run("node_drain", **options(cluster, "a", "b"))
    assert (again["changed"], again["drained"], again["evicted"]) == (False, True, [])


def test_a_drain_waits_for_a_terminating_pod_and_names_it(cluster: ControlPlane, play: Play) -> None:
    """Its deletion was accepted at once; that is not its end."""
    cluster.register("a")
    cluster.run_pod("cart", "a", spec={"terminationGracePeriodSeconds": 600})
    since = cluster.audited_until()
    # After several polls, none of which evicts it again.
    thread = when(lambda: len(calls(cluster, since, "list")) > 12, lambda: cluster.end_pod("cart"))
    result = play("node_drain", **options(cluster, "a", progress_interval=2))
    thread.join()
    assert not result["failed"], result["msg"]
    assert result["drained"]
    assert "pod default/cart on a is terminating, its grace period of 600 s ends at" in said(result)
    assert len(calls(cluster, since, "create")) == 1, "a pod that is terminating is not evicted again by the next poll"
    assert result["diff"]["before"]["a"] == {"schedulable": True, "pods": ["default/cart"]}
    assert result["diff"]["after"]["a"] == {"schedulable": False, "pods": []}


def test_a_pod_that_never_terminates_fails_the_drain_and_the_node_is_uncordoned(cluster: ControlPlane, play: Play) -> None:
    cluster.register("a")
    cluster.run_pod("cart", "a", spec={"terminationGracePeriodSeconds": 1}, finalizers=["example.com/backup"])
    result = play("node_drain", **options(cluster, "a", seconds=4, progress_interval=1))
    assert result["failed"]
    assert "Cannot drain a in the time given" in result["msg"]
    assert "pod default/cart on a is still terminating, its grace period of 1 s ended at" in result["msg"]
    assert "finalizers: example.com/backup" in result["msg"]
    assert "Schedulable again: a." in result["msg"]
    assert not is_cordoned(cluster, "a")
    assert CORDONED not in node(cluster, "a")["metadata"].get("annotations", {})


def test_a_disruption_budget_is_named_and_delays_no_other_pod(cluster: ControlPlane, play: Play) -> None:
    cluster.register("a")
    for name in ("alpha", "guarded", "omega"):
        cluster.run_pod(name, "a", spec={"terminationGracePeriodSeconds": 0})
    cluster.budget("guarded", 1)
    result = play("node_drain", **options(cluster, "a", seconds=3, progress_interval=1))
    assert result["failed"]
    assert sorted(cluster.pods_on("a")) == ["guarded"]
    assert (
        "pod default/guarded on a cannot be evicted: The disruption budget guarded needs 1 healthy pods and has 1 currently"
        in result["msg"]
    )
    assert "The disruption budget guarded" in said(result)
    assert result["remaining_pods"] == [
        {
            "namespace": "default",
            "name": "guarded",
            "node": "a",
            "reason": "cannot be evicted: The disruption budget guarded needs 1 healthy pods and has 1 currently",
        }
    ]


def test_remaining_pods_are_a_warning_with_accept_loss(cluster: ControlPlane, play: Play) -> None:
    cluster.register("a")
    for name in ("guarded", "other"):
        cluster.run_pod(name, "a", spec={"terminationGracePeriodSeconds": 0})
    cluster.budget("guarded", 1)
    result = play("node_drain", **options(cluster, "a", seconds=2, accept_loss=True))
    assert not result["failed"], result["msg"]
    assert not result["drained"]
    assert sorted(cluster.pods_on("a")) == ["guarded"]
    assert "Pods are left that end with their machines: default/guarded on a cannot be evicted: The disruption budget guarded" in said(
        result
    )
    assert is_cordoned(cluster, "a"), "its machine is deleted next"


def test_a_drain_waits_for_the_pods_of_a_terminating_namespace(cluster: ControlPlane, run: Play) -> None:
    """The server forbids the eviction there: the namespace controller deletes the pods, and they are waited for."""
    namespace = "/api/v1/namespaces/leaving"
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "leaving"}}).raise_for_status()
    cluster.register("a")
    cluster.run_pod("late", "a", namespace="leaving")
    # Nothing removes it: the namespace controller does not run here.
    cluster.call("DELETE", namespace).raise_for_status()
    result = run("node_drain", **options(cluster, "a", seconds=2))
    assert result["failed"]
    assert "pod leaving/late on a" in result["msg"]
    thread = when(lambda: is_cordoned(cluster, "a"), lambda: cluster.end_pod("late", "leaving"))
    assert run("node_drain", **options(cluster, "a"))["drained"]
    thread.join()
    gone = cluster.call("GET", namespace).json()
    cluster.call("PUT", f"{namespace}/finalize", {**gone, "spec": {"finalizers": []}}).raise_for_status()


def test_pods_with_data_to_lose_fail_the_drain_before_any_change(cluster: ControlPlane, run: Play) -> None:
    cluster.register("a")
    cluster.run_pod("alone", "a")
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "0", "controller": True}
    cluster.run_pod("cache", "a", spec={"volumes": [{"name": "cache", "emptyDir": {}}]}, ownerReferences=[replica_set])
    result = run("node_drain", **options(cluster, "a", evict_unmanaged=False, delete_emptydir_data=False))
    assert result["failed"]
    assert "pod default/alone on a has no controller that would create another (evict_unmanaged)" in result["msg"]
    assert "pod default/cache on a has data in emptyDir volumes: cache (delete_emptydir_data)" in result["msg"]
    assert not is_cordoned(cluster, "a")
    assert not any(terminating(cluster, "a", name) for name in ("alone", "cache"))


@pytest.mark.parametrize(("grace", "drained"), [(0, True), (600, False)])
def test_pods_of_an_unreachable_node_are_drained_after_the_grace_period(
    cluster: ControlPlane, play: Play, grace: float, drained: bool
) -> None:
    """Its kubelet confirms nothing: after a time the end of the machine has to do."""
    cluster.register("a", ready=None)
    cluster.run_pod("cart", "a", spec={"terminationGracePeriodSeconds": 3600})
    result = play("node_drain", **options(cluster, "a", seconds=6, unreachable_grace=grace))
    assert result["failed"] is not drained
    if drained:
        assert "default/cart on a is terminating, and the kubelet that could confirm its end is unreachable" in said(result)
        assert [each["name"] for each in result["remaining_pods"]] == ["cart"]


def test_a_pod_that_tolerates_the_cordon_and_is_recreated_is_not_evicted_for_ever(cluster: ControlPlane, play: Play) -> None:
    cluster.register("a")
    spec = {"terminationGracePeriodSeconds": 600, "tolerations": [{"operator": "Exists"}]}
    cluster.run_pod("agent-1", "a", spec=spec)

    def replace() -> None:
        cluster.run_pod("agent-2", "a", spec=spec)
        cluster.end_pod("agent-1")

    def is_later() -> bool:
        """Creation times are whole seconds: one in which it was evicted is over."""
        cordoned = node(cluster, "a")["metadata"]["annotations"].get(CORDONED)
        return bool(cordoned) and datetime.now(UTC) >= datetime.fromisoformat(cordoned) + timedelta(seconds=2)

    thread = when(lambda: terminating(cluster, "a", "agent-1") and is_later(), replace)
    result = play("node_drain", **options(cluster, "a", progress_interval=1))
    thread.join()
    assert not result["failed"], result["msg"]
    assert result["evicted"] == ["default/agent-1"]
    assert [(each["name"], each["reason"]) for each in result["remaining_pods"]] == [
        ("agent-2", "tolerates the cordon and was created again after its eviction")
    ]


# --- cordon and uncordon -------------------------------------------------------------------------------------------------------


def test_only_nodes_cordoned_by_the_module_are_uncordoned(cluster: ControlPlane, run: Play) -> None:
    for name in ("ours", "theirs", "free", "theirs-later"):
        cluster.register(name)
    cordon_by_hand(cluster, "theirs")
    cordoned = run("node_drain", **options(cluster, "ours", "theirs", "theirs-later", state="cordoned"))
    assert cordoned["changed"]
    assert cordoned["diff"]["before"]["theirs"] == cordoned["diff"]["after"]["theirs"] == {"schedulable": False}
    assert not run("node_drain", **options(cluster, "ours", "theirs", state="cordoned"))["changed"]
    # A user uncordons it, and cordons it for a reason of their own. What is written on it is still there.
    cordon_by_hand(cluster, "theirs-later", cordoned=False)
    cordon_by_hand(cluster, "theirs-later")
    assert CORDONED in node(cluster, "theirs-later")["metadata"]["annotations"]
    names = ("ours", "theirs", "free", "theirs-later")
    predicted = run("node_drain", "--check", **options(cluster, *names, state="uncordoned", own_cordon_only=True))
    released = run("node_drain", **options(cluster, *names, state="uncordoned", own_cordon_only=True))
    assert predicted["diff"] == released["diff"]
    assert {name: is_cordoned(cluster, name) for name in names} == {"ours": False, "theirs": True, "free": False, "theirs-later": True}
    assert CORDONED not in node(cluster, "ours")["metadata"].get("annotations", {})
    assert not run("node_drain", **options(cluster, *names, state="uncordoned", own_cordon_only=True))["changed"]
    assert run("node_drain", **options(cluster, *names, state="uncordoned"))["changed"]
    assert not any(is_cordoned(cluster, name) for name in names)


def test_a_users_cordon_stays_after_a_failed_drain(cluster: ControlPlane, run: Play) -> None:
    for name in ("ours", "theirs"):
        cluster.register(name)
        cluster.run_pod(f"guarded-{name}", name)
        cluster.budget(f"guarded-{name}", 1)
    cordon_by_hand(cluster, "theirs")
    result = run("node_drain", **options(cluster, "ours", "theirs", seconds=1))
    assert result["failed"]
    assert "Schedulable again: ours. Still cordoned, as before: theirs." in result["msg"]
    assert (is_cordoned(cluster, "ours"), is_cordoned(cluster, "theirs")) == (False, True)
    kept = run("node_drain", **options(cluster, "ours", seconds=1, uncordon_on_failure=False))
    assert kept["failed"] and "Schedulable again" not in kept["msg"]
    assert is_cordoned(cluster, "ours")


# --- an interrupted drain ------------------------------------------------------------------------------------------------------


def test_a_killed_drain_is_resumed(cluster: ControlPlane, start: Start, run: Play) -> None:
    cluster.register("a")
    cluster.run_pod("cart", "a", spec={"terminationGracePeriodSeconds": 600})
    since = cluster.audited_until()
    start("node_drain", **options(cluster, "a", seconds=60))
    until(lambda: terminating(cluster, "a", "cart"))
    # The first run still waits; later and concurrent runs evict nothing again.
    late = run("node_drain", **options(cluster, "a", seconds=1, uncordon_on_failure=False))
    assert late["failed"]
    cluster.end_pod("cart")
    again = run("node_drain", **options(cluster, "a"))
    assert (again["drained"], again["evicted"]) == (True, [])
    assert len(calls(cluster, since, "create")) == 1
