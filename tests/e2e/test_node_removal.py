"""Workers that leave a cluster whose pods are at work. The tests of this file build on each other's world, in this order.

What a user is promised: no machine goes before its pods have ended, unless by choice; what keeps a pod is named; after a failure nothing
is missing; an interrupted removal is completed or taken back; the node of a machine that is gone does not block the next one.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sandbox.openshift.workloads import STOPS_AFTER
from tests.e2e.harness import NAME, QUICK, Moment, Run, User, until

# What the playbook makes of a drain. tests/cluster/test_node_drain.py has every way in which one can go, with a real API server.
pytestmark = [pytest.mark.e2e, pytest.mark.long]

PODS = "/api/v1/namespaces/default/pods"
APPS = "/apis/apps/v1/namespaces/default"
CORDONED = "equinix-metal.openshift/cordoned"
WORKERS = 4
HOUR = 3600


class Cluster:
    """The pods, nodes and devices of the user's cluster, by short names."""

    def __init__(self, user: User) -> None:
        self.user = user

    def scale(self, *choices: str, **arguments: Any) -> Run:
        given = [word for choice in choices for word in ("-e", choice)]
        return self.user.play("scale.yml", *given, timeout=1200, **arguments)

    # --- pods ----------------------------------------------------------------------------------------------------------------

    def run(self, name: str, worker: str, *, grace: int = 30, stops_after: str = "", **more: Any) -> None:
        """Run a pod without a controller on a worker."""
        annotations = {STOPS_AFTER: stops_after} if stops_after else {}
        pod = {
            "metadata": {"name": name, "labels": {"app": name}, "annotations": annotations, **more},
            "spec": {
                "nodeName": f"{worker}.{NAME}",
                "terminationGracePeriodSeconds": grace,
                "containers": [{"name": "x", "image": "x"}],
                "volumes": [{"name": "scratch", "emptyDir": {}}],
            },
        }
        self.user.kube(PODS, "POST", {"apiVersion": "v1", "kind": "Pod", **pod})
        until(lambda: self.user.kube(f"{PODS}/{name}")["status"].get("phase") == "Running", what=f"{name} runs")

    def deploy(self, kind: str, name: str, **spec: Any) -> None:
        template = {"spec": {"containers": [{"name": "x", "image": "x"}], "terminationGracePeriodSeconds": 30}}
        body = {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, **template}, **spec}
        whole = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}
        self.user.kube(f"{APPS}/{kind.lower()}s", "POST", whole)

    def end(self, name: str) -> None:
        """End a pod, as its kubelet does when its containers have stopped after all."""
        self.user.kube(f"{PODS}/{name}?gracePeriodSeconds=0", "DELETE")

    def pods(self, *workers: str, app: str = "") -> dict[str, str]:
        """Pods that are not terminating and their workers, of these workers or all, of this app or all."""
        found = {}
        for pod in self.user.kube(PODS)["items"]:
            worker = pod["spec"].get("nodeName", "").removesuffix(f".{NAME}")
            fits = (not workers or worker in workers) and (not app or pod["metadata"]["labels"].get("app") == app)
            if fits and not pod["metadata"].get("deletionTimestamp"):
                found[pod["metadata"]["name"]] = worker
        return found

    def is_terminating(self, name: str) -> bool:
        return any(pod["metadata"].get("deletionTimestamp") for pod in self.user.kube(PODS)["items"] if pod["metadata"]["name"] == name)

    # --- nodes ---------------------------------------------------------------------------------------------------------------

    def node(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.user.kube(f"/api/v1/nodes/{name}.{NAME}")
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.NOT_FOUND:
                return None
            raise
        return found

    def is_cordoned(self, name: str) -> bool:
        node = self.node(name)
        assert node is not None, name
        return bool(node["spec"].get("unschedulable"))

    def cordon_by_hand(self, name: str, *, cordoned: bool = True) -> None:
        node = self.node(name)
        assert node is not None
        node["spec"]["unschedulable"] = cordoned
        self.user.kube(f"/api/v1/nodes/{name}.{NAME}?fieldManager=kubectl-cordon", "PUT", node)

    # --- what must not be missing ----------------------------------------------------------------------------------------------

    def has(self, worker: str) -> bool:
        """Whether a worker is there in all parts: device, node, DNS record."""
        found = {
            worker in self.user.hostnames(),
            self.node(worker) is not None,
            self.user.names.addresses(f"{worker}.{NAME}") != [],
        }
        assert len(found) == 1, f"{worker} is there in part"
        return found.pop()

    def id_of(self, worker: str) -> str:
        return next(str(device["id"]) for device in self.user.devices() if device["hostname"] == f"{worker}.{NAME}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    user = User(tmp_path_factory.mktemp("node-removal"), speed=600)
    with user.at_work():
        (user.inventory / "03-choices.yml").write_text(QUICK, encoding="utf-8")
        user.edit_workers(WORKERS - 1)
        user.play("install.yml", timeout=1800).ended_well()
        yield Cluster(user)
        user.leaves_nothing(timeout=1200)


# --- a removal that goes well ----------------------------------------------------------------------------------------------------


def test_pods_with_a_controller_are_moved_before_their_device_is_deleted(cluster: Cluster) -> None:
    """Deployments come up elsewhere, the pod of a daemon set ends with its node, one without a controller is evicted for good."""
    # Two for each worker: with one, those with a router may get none.
    replicas = 2 * WORKERS
    cluster.deploy("Deployment", "web", replicas=replicas)
    until(lambda: "worker-3" in cluster.pods(app="web").values(), what="a pod of the deployment runs on worker-3")
    cluster.deploy("DaemonSet", "agent")
    until(lambda: len(cluster.pods(app="agent")) == WORKERS, what="a pod of the daemon set runs on each worker")
    cluster.run("alone", "worker-3")
    web = next(name for name, worker in cluster.pods(app="web").items() if worker == "worker-3")
    left: list[str] = []
    cluster.user.edit_workers(2)
    run = cluster.scale(seen={"delete | Delete the devices of removed workers": lambda: left.extend(cluster.pods("worker-3"))}).ended_well()
    assert "Removing worker-3.demo.metal.test: drain, DNS records, device, node." in run.flat
    assert not cluster.has("worker-3")
    assert [name for name in left if not name.startswith("agent")] == [], "of these the machine was deleted under them"
    pods = until(lambda: len(found := cluster.pods(app="web")) == replicas and found, what="the deployment is complete again")
    assert web not in pods and "worker-3" not in pods.values()
    assert "alone" not in cluster.pods()


def test_a_second_run_changes_nothing(cluster: Cluster) -> None:
    cluster.scale().changed_nothing()


def test_a_device_is_kept_while_its_pod_terminates_too_slowly(cluster: Cluster) -> None:
    """B1: the API server has accepted its deletion, which is not its end. B3: after the failure nothing is missing."""
    cluster.run("late", "worker-2", grace=HOUR, stops_after="never")
    cluster.user.edit_workers(1)
    cluster.scale("openshift_drain_timeout=6").refused(
        "Cannot drain worker-2.demo.metal.test in the time given",
        "1 pod is left: pod default/late on worker-2.demo.metal.test is terminating, its grace period of 3600 s ends at",
        "Schedulable again: worker-2.demo.metal.test.",
    )
    assert cluster.has("worker-2")
    assert not cluster.is_cordoned("worker-2")
    cluster.end("late")


# --- a removal that is taken back --------------------------------------------------------------------------------------------------


def test_an_interrupted_drain_is_reverted_when_the_inventory_lists_the_worker_again(cluster: Cluster) -> None:
    """B3: the run was killed, so it could say nothing. Only what it has cordoned is uncordoned."""
    cluster.user.edit_workers(3)
    cluster.scale().ended_well()
    cluster.run("late", "worker-3", grace=HOUR, stops_after="never")
    device = cluster.id_of("worker-3")
    cluster.cordon_by_hand("worker-2")
    cluster.user.edit_workers(2)
    killed = cluster.scale("openshift_least_workers=1", kill=Moment("node_removal", once=lambda _user: cluster.is_terminating("late")))
    assert killed.cut
    node = cluster.node("worker-3")
    assert node is not None
    assert node["spec"]["unschedulable"] and CORDONED in node["metadata"]["annotations"]
    # A module that was at work when its run was killed ends by itself.
    until(lambda: not cluster.user.processes(), within=300, what="the module of the killed run has ended")
    cluster.user.edit_workers(3)
    cluster.scale().ended_well()
    assert cluster.has("worker-3")
    assert cluster.id_of("worker-3") == device
    assert not cluster.is_cordoned("worker-3")
    assert cluster.is_cordoned("worker-2"), "a user has cordoned it"
    cluster.cordon_by_hand("worker-2", cordoned=False)
    test_a_second_run_changes_nothing(cluster)
    cluster.end("late")
    cluster.user.edit_workers(2)
    cluster.scale().ended_well()
    assert not cluster.has("worker-3")


# --- machines that are gone ----------------------------------------------------------------------------------------------------------


def gone(cluster: Cluster, *workers: str) -> None:
    """Their devices are deleted behind the collection's back."""
    for worker in workers:
        cluster.user.ask("DELETE", f"devices/{cluster.id_of(worker)}?force_delete=true")
    until(lambda: not set(workers) & set(cluster.user.hostnames()), what="their devices are gone")


def test_a_worker_with_a_deleted_device_is_replaced(cluster: Cluster) -> None:
    """B5: its node is still there, and no other machine of its name could join. A node of another owner is kept."""
    cluster.user.edit_workers(2)
    device = cluster.id_of("worker-1")
    foreign = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "of-another-owner"}}
    cluster.user.kube("/api/v1/nodes", "POST", foreign)
    gone(cluster, "worker-1")
    before = cluster.node("worker-1")
    assert before is not None
    run = cluster.scale("openshift_join_timeout=600").ended_well()
    after = cluster.node("worker-1")
    assert after is not None and after["metadata"]["uid"] != before["metadata"]["uid"]
    assert cluster.id_of("worker-1") != device
    assert cluster.user.nodes() == ["master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2"]
    assert cluster.user.kube("/api/v1/nodes/of-another-owner")
    cluster.user.kube("/api/v1/nodes/of-another-owner", "DELETE")
    assert "node worker-1.demo.metal.test has no device any more, but its kubelet still reports" in run.flat


def test_a_removed_worker_with_a_deleted_device_loses_its_node(cluster: Cluster) -> None:
    """Its node and its DNS record go as well."""
    gone(cluster, "worker-2")
    cluster.user.edit_workers(1)
    cluster.scale().ended_well()
    assert not cluster.has("worker-2")
    test_a_second_run_changes_nothing(cluster)
