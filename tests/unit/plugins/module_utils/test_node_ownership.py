"""Which Node is on which device, and which was left by its machine. With real APIs: tests/contract and tests/e2e/test_node_removal.py."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.identity import Identities, read_devices
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import CORDONED, read_node
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.ownership import Ownership, judge
from tests.unit.plugins.module_utils.fake_client import FakeClient

TAGS = ["openshift-cluster=demo.metal.test"]
MORNING, NOON, EVENING = (f"2026-11-22T{hour}:00:00Z" for hour in ("06", "12", "18"))


def node(
    name: str, annotations: dict[str, str] | None = None, *, ready: str = "Unknown", master: bool = False, provider_id: str = ""
) -> dict[str, Any]:
    annotations = annotations or {}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": NOON,
            "labels": {"node-role.kubernetes.io/master": ""} if master else {},
            "annotations": annotations,
        },
        "spec": ({"unschedulable": True} if CORDONED in annotations else {}) | ({"providerID": provider_id} if provider_id else {}),
        "status": {"conditions": [{"type": "Ready", "status": ready, "message": "told"}]},
    }


def device(name: str, created: str = MORNING, tags: list[str] | None = None, state: str = "active", **more: Any) -> dict[str, Any]:
    found = {"id": f"id-{name}", "hostname": name, "created_at": created, "state": state, "tags": TAGS if tags is None else tags}
    return {**found, **more}


class Cluster:
    """Nodes of an API; keeps what it was asked to change."""

    def __init__(self, *nodes: dict[str, Any], read_only: bool = False) -> None:
        self.read_only = read_only
        self.listed = list(nodes)
        self.changed: list[tuple[str, str, str, str | None]] = []
        self.deleted: list[str] = []

    def nodes(self) -> list[dict[str, Any]]:
        return self.listed

    def change_node(self, name: str, uid: str, patch: dict[str, Any]) -> None:
        self.changed.append((name, uid, patch["metadata"]["annotations"][DEVICE], patch.get("spec", {}).get("providerID")))

    def delete_node(self, name: str, uid: str) -> None:
        assert uid == f"uid-{name}"
        self.deleted.append(name)
        self.listed = [each for each in self.listed if each["metadata"]["name"] != name]


class Metal(FakeClient):
    """Devices of a project; ``late`` are missing from the first list."""

    def __init__(self, *devices: dict[str, Any], late: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__()
        self._devices, self._late = list(devices), list(late)

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        assert (method, path) == ("GET", "projects/p/devices")
        return self._devices if len(self.requests) == 1 else [*self._devices, *self._late]


MASTER = device("master-0")


def polled(
    cluster: Cluster, metal: Metal, *nodes: str, prune: bool = True, terminated: tuple[str, ...] = ()
) -> tuple[list[str], dict[str, Any]]:
    """Poll once: return what is pending, and the result."""
    params = {
        "project_id": "p",
        "ownership_tags": TAGS,
        "nodes": list(nodes),
        "terminated": list(terminated),
        "control_plane": False,
        "prune": prune,
    }
    ownership = Ownership(cluster, metal, params, sleep=lambda _seconds: None)  # type: ignore[arg-type]  # stand-ins
    waiting: list[str] = []
    result: dict[str, Any] = {}
    ownership.carry_out(lambda read, _what: waiting.extend(read()), result)
    return waiting, result


@pytest.mark.parametrize(
    ("obj", "machine", "verdict"),
    [
        (node("worker-1"), device("worker-1"), "current"),
        (node("worker-1"), device("Worker-1"), "current"),
        # Another machine of its name, or the same one installed anew.
        (node("worker-1"), device("worker-1", EVENING), "left"),
        (node("worker-1"), device("worker-1", provisioning_started_at=EVENING), "left"),
        # Clocks of two services differ by seconds.
        (node("worker-1"), device("worker-1", "2026-11-22T12:00:50Z"), "current"),
        (node("worker-1"), device("worker-1", state="deprovisioning"), "left"),
        (node("worker-1"), None, "left"),
        (node("worker-9"), None, "other"),
        (node("worker-9", {DEVICE: "id-worker-9"}), None, "left"),
        (node("worker-9", {CORDONED: NOON}), None, "left"),
        (node("master-9", {DEVICE: "id"}, master=True), None, "other"),
        (node("worker-1", master=True), device("worker-1", EVENING), "other"),
    ],
)
def test_a_node_belongs_to_the_device_of_its_name(obj: dict[str, Any], machine: dict[str, Any] | None, verdict: str) -> None:
    devices = read_devices([machine] if machine else [])
    found = read_node(obj)
    assert judge(found, Identities([found], devices), {each.hostname for each in devices}, ["worker-1"]) == verdict


@pytest.mark.parametrize(
    ("annotations", "provider_id", "written", "before"),
    [
        # A Node of an earlier release of this collection.
        ({DEVICE: "id-worker-1"}, "", "equinixmetal://id-worker-1", "id-worker-1, no provider ID"),
        # cloud-provider-equinix-metal was first.
        ({}, "equinixmetal://id-worker-1", None, "id-worker-1"),
        # It cannot be changed.
        ({}, "baremetalhost:///worker-1", None, "no device recorded"),
    ],
)
def test_what_a_node_lacks_is_recorded(annotations: dict[str, str], provider_id: str, written: str | None, before: str) -> None:
    cluster = Cluster(node("worker-1", annotations, ready="True", provider_id=provider_id))
    _waiting, result = polled(cluster, Metal(MASTER, device("worker-1")), "worker-1", prune=False)
    assert cluster.changed == [("worker-1", "uid-worker-1", "id-worker-1", written)]
    assert result["diff"]["before"] == {"worker-1": before}


@pytest.mark.parametrize("provider_id", ["baremetalhost:///worker-1", "equinixmetal://another"])
def test_a_foreign_provider_id_is_kept_and_reported(provider_id: str) -> None:
    other = node("worker-9", ready="True", provider_id="vsphere://not-ours")
    cluster = Cluster(node("worker-1", {DEVICE: "id-worker-1"}, ready="True", provider_id=provider_id), other)
    _waiting, result = polled(cluster, Metal(MASTER, device("worker-1")), "worker-1", prune=False)
    assert (cluster.changed, result["changed"]) == ([], False)
    assert result["foreign_provider_ids"] == [{"name": "worker-1", "provider_id": provider_id}]


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize(
    "devices",
    [
        pytest.param([device("worker-1", hostname="gpu-box-7"), device("worker-2")], id="renamed"),
        pytest.param([device("worker-1", hostname="worker-2"), device("worker-2", hostname="worker-1")], id="swapped"),
    ],
)
def test_nothing_is_written_while_a_device_has_another_name_than_its_node(devices: list[dict[str, Any]], prune: bool) -> None:
    nodes = [node(name, {DEVICE: f"id-{name}"}, ready="True") for name in ("worker-1", "worker-2")]
    cluster = Cluster(*nodes, node("worker-3"))
    with pytest.raises(CollectionError, match=r"device id-worker-1 of node worker-1 is named (gpu-box-7|worker-2) at the Metal API"):
        polled(cluster, Metal(MASTER, *devices), "worker-1", "worker-2", "worker-3", prune=prune)
    assert (cluster.changed, cluster.deleted) == ([], [])


def test_the_node_of_a_machine_that_is_gone_is_deleted_and_no_other() -> None:
    cluster = Cluster(
        node("worker-1"),
        node("worker-2", {DEVICE: "id-of-long-ago"}),
        node("of-another-owner"),
        node("master-0", master=True),
        node("master-1", {DEVICE: "gone"}, master=True),
    )
    _waiting, result = polled(cluster, Metal(MASTER), "worker-1", "master-1")
    assert cluster.deleted == ["worker-1", "worker-2"] == result["deleted"]


def test_without_prune_nothing_is_deleted() -> None:
    cluster = Cluster(node("worker-1"))
    assert polled(cluster, Metal(MASTER), "worker-1", prune=False)[1]["changed"] is False
    assert cluster.deleted == []


@pytest.mark.parametrize(("ready", "words"), [("True", "it is Ready"), ("False", "it is not Ready (told)")])
def test_one_whose_kubelet_reports_is_waited_for(ready: str, words: str) -> None:
    cluster = Cluster(node("worker-1", ready=ready))
    waiting, _result = polled(cluster, Metal(MASTER), "worker-1")
    assert waiting == [f"node worker-1 has no device any more, but its kubelet still reports: {words}"]
    assert cluster.deleted == []


def test_one_whose_device_was_deleted_just_now_is_not_waited_for() -> None:
    cluster = Cluster(node("worker-1", ready="True"), node("worker-2", ready="True"))
    waiting, _result = polled(cluster, Metal(MASTER, device("worker-2")), terminated=("worker-1", "worker-2"))
    assert waiting == []
    assert cluster.deleted == ["worker-1"], "the device of worker-2 is there: the report of its termination is wrong"


def test_a_list_that_misses_a_device_for_a_moment_deletes_nothing() -> None:
    cluster = Cluster(node("worker-1"))
    assert polled(cluster, Metal(MASTER, late=(device("worker-1"),)), "worker-1")[0] == []
    assert cluster.deleted == []


@pytest.mark.parametrize(
    ("obj", "other", "desired", "words"),
    [
        (node("worker-1"), device("worker-1", tags=[]), ["worker-1"], "device id-worker-1 has its name and not the ownership tags"),
        (
            node("worker-1", {DEVICE: "id-renamed"}),
            device("renamed", tags=[]),
            [],
            "its device id-renamed exists, by another name or without the tags",
        ),
    ],
)
def test_a_machine_that_lost_its_tags_or_its_name_keeps_its_node(
    obj: dict[str, Any], other: dict[str, Any], desired: list[str], words: str
) -> None:
    """The user who removed them may have meant the machine to stay."""
    cluster = Cluster(obj)
    _waiting, result = polled(cluster, Metal(MASTER, other), *desired)
    assert cluster.deleted == []
    assert result["kept"] == [{"name": "worker-1", "reason": words}]


def test_a_machine_that_lost_both_is_not_ordered_again() -> None:
    cluster = Cluster(node("worker-1", {DEVICE: "id-renamed"}))
    with pytest.raises(
        CollectionError, match="node worker-1 is of device id-renamed, which is named renamed and lacks the tags openshift-"
    ):
        polled(cluster, Metal(MASTER, device("renamed", tags=[])), "worker-1")
    assert cluster.deleted == []


def test_in_a_project_without_devices_of_the_cluster_nothing_is_deleted() -> None:
    cluster = Cluster(node("worker-1"))
    with pytest.raises(CollectionError, match=r"project p has no device with the tags openshift-cluster=.*, request r-1\)$"):
        polled(cluster, Metal(device("worker-1", tags=["other"])), "worker-1")
    assert cluster.deleted == []
