"""The status of a cluster: every difference between inventory, devices and Nodes, and what is no difference."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import assess, decide
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.planning import status_plan
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.status import Desired, cluster_status
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.certificates import (
    Validity,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.status import (
    ClusterReading,
    Dated,
    MetalReading,
    approval_rules,
)
from tests.unit.plugins.module_utils.csr_cases import client, made

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
DOMAIN = "demo.metal.test"
SETTINGS_OF_CLUSTER = {"cluster_name": "demo", "base_domain": "metal.test", "machine_network": "layer3", "dns_provider": "none"}
SETTINGS: dict[str, Any] = {"additional_addresses": [], "window": 7200, "second_key_after": 60}


def full(name: str) -> str:
    return f"{name}.{DOMAIN}"


def machine(name: str, role: str = "worker", **more: Any) -> dict[str, Any]:
    return {"hostname": full(name), "role": role, "plan": "c3.small.x86", "metro": "da", **more}


def device(name: str, role: str = "worker", **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{name}",
        "hostname": full(name),
        "role": role,
        "state": "active",
        "plan": "c3.small.x86",
        "metro": "da",
        "infra_id": "demo-x7k2p",
        "created_at": "2026-11-20T12:00:00Z",
        "provisioning_started_at": None,
        "provisioning_percentage": None,
        "termination_time": None,
        "price_per_hour": 0.5,
        "addresses": {"public_ipv4": "192.0.2.7"},
        "ip_addresses": [{"address": "192.0.2.7"}],
        "tags": [f"openshift-cluster={DOMAIN}", f"openshift-role={role}"],
        **more,
    }


def node(name: str, *, control_plane: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "name": full(name),
        "ready": True,
        "message": "kubelet is posting ready status",
        "unschedulable": False,
        "kubelet_version": "v1.33.6",
        "os_image": "Red Hat Enterprise Linux CoreOS",
        "control_plane": control_plane,
        "since": NOW - timedelta(days=1),
        "device_id": f"id-{name}",
        "provider_id": f"equinixmetal://id-{name}",
        "cordoned_here": False,
        "unreachable": False,
        **more,
    }


def status(
    machines: list[dict[str, Any]],
    devices: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    *,
    metal: dict[str, Any] | None = None,
    api: dict[str, Any] | None = None,
    presented: list[Dated] | None = None,
    settings: dict[str, Any] | None = None,
    days: int = 30,
) -> dict[str, Any]:
    read = MetalReading(**{"devices": devices, **(metal or {})})
    cluster = ClusterReading(**{"now": NOW, "nodes": nodes, **(api or {})})
    reached = not cluster.problem and cluster.has_nodes
    planned = {"nodes": nodes, "objects": [{"metadata": {"name": each["name"]}} for each in nodes], **cluster.planned}
    readings = {
        "devices": {"msg": read.problem} if read.problem else {"devices": devices},
        "kubeconfig": planned if reached else {"msg": cluster.problem or "the Nodes cannot be listed"},
    }
    groups = {"control_plane": "control-plane", "workers": "worker", "bootstrap": "bootstrap", "load_balancer": "load-balancer"}
    by_group = {group: [each for each in machines if each.get("role") == role] for group, role in groups.items()}
    context = Context({**SETTINGS_OF_CLUSTER, "machines": by_group, **(settings or {})}, readings)
    return cluster_status(Desired(DOMAIN, machines, days), read, cluster, presented or [], status_plan(context), NOW)


def texts(found: dict[str, Any], group: str = "differences") -> list[str]:
    return [
        f"{finding['subject'].removesuffix('.' + DOMAIN)}: {finding['text']}" for finding in found["findings"] if finding["group"] == group
    ]


MASTER = (machine("master-0", "control-plane"), device("master-0", "control-plane"), node("master-0", control_plane=True))


def test_a_cluster_as_the_inventory_says_is_healthy() -> None:
    desired, existing, joined = MASTER
    found = status([desired, machine("worker-0")], [existing, device("worker-0")], [joined, node("worker-0")])
    assert (found["healthy"], found["verdict"], found["findings"]) == (True, "demo.metal.test is healthy", [])
    assert [line["name"] for line in found["machines"]] == [full("master-0"), full("worker-0")]
    assert found["price_per_hour"] == 1.0


BOOT = "ssd"
DIFFERENCES: list[tuple[str, dict[str, Any], str]] = [
    ("neither", {"devices": [], "nodes": []}, "it has neither a device nor a Node"),
    ("vanished", {"devices": []}, "its device has vanished, its Node is Ready"),
    ("off", {"devices": [device("worker-0", state="inactive")]}, "its device is powered off"),
    ("foreign node", {"machines": [], "devices": []}, "its Node (Ready) has no device with the cluster's tag and is not in the inventory"),
    ("failed", {"devices": [device("worker-0", state="failed")]}, "its device has failed"),
    (
        "provisioning",
        {"devices": [device("worker-0", state="provisioning", provisioning_percentage=40.0)], "nodes": []},
        "its device is not active yet (provisioning, 40 %)",
    ),
    ("not joined", {"nodes": []}, "it has not joined: no Node, and it has filed no CSR"),
    ("unknown worker", {"machines": []}, "it has a device (active) and is not in the inventory"),
    (
        "plan",
        {"devices": [device("worker-0", plan="m3.large.x86")]},
        "its device has the plan m3.large.x86, the inventory says c3.small.x86",
    ),
    (
        "ends",
        {"devices": [device("worker-0", termination_time="2026-11-24T00:00:00Z")]},
        "the Metal API deletes its device at 2026-11-24T00:00:00Z",
    ),
    (
        "other device",
        {"nodes": [node("worker-0", device_id="id-old")]},
        "its Node was registered by the device id-old, which is gone; id-worker-0 has its host name now",
    ),
    (
        "cordoned here",
        {"nodes": [node("worker-0", unschedulable=True, cordoned_here=True)]},
        "its Node is cordoned, by an unfinished removal",
    ),
    ("labels", {"machines": [machine("worker-0", labels={"disk": BOOT})]}, "its Node lacks what the inventory sets: label disk=ssd"),
    (
        "two devices",
        {"devices": [device("worker-0"), device("worker-0", id="id-2", created_at="2026-11-21T12:00:00Z")]},
        "2 devices have its host name: id-worker-0, id-2",
    ),
]


@pytest.mark.parametrize(("changed", "text"), [case[1:] for case in DIFFERENCES], ids=[case[0] for case in DIFFERENCES])
def test_each_difference_is_found_and_says_what_to_do(changed: dict[str, Any], text: str) -> None:
    desired, existing, joined = MASTER
    given = {"machines": [machine("worker-0")], "devices": [device("worker-0")], "nodes": [node("worker-0")], **changed}
    found = status([desired, *given["machines"]], [existing, *given["devices"]], [joined, *given["nodes"]])
    assert texts(found) == [f"worker-0: {text}"]
    assert found["findings"][0]["advice"]
    assert found["verdict"] == "demo.metal.test: 1 difference"
    line = next(line for line in found["machines"] if line["name"] == full("worker-0"))
    assert line["findings"] == [text]


def test_a_renamed_device_is_that_of_its_node() -> None:
    renamed = device("worker-0", hostname="gpu-box-7")
    found = status([machine("worker-0")], [renamed], [node("worker-0")])
    assert texts(found)[0] == "worker-0: its device id-worker-0 is named gpu-box-7 at the Metal API"
    assert f"metal_device -a 'id=id-worker-0 hostname={full('worker-0')}'" in found["findings"][0]["advice"]
    # Also when another one was ordered by its name.
    another = device("worker-0", id="new", created_at="2026-11-23T00:00:00Z")
    for devices in ([renamed, another], [another, renamed]):
        (line,) = status([machine("worker-0")], devices, [node("worker-0")])["machines"]
        assert (line["name"], line["device"]["id"]) == (full("worker-0"), "id-worker-0")


def test_placement_allows_each_of_its_plans_and_metros() -> None:
    desired = machine("worker-0", placement=[{"plan": "m3.large.x86"}, {"metro": "sv"}])
    for actual in ({"plan": "m3.large.x86"}, {"metro": "sv"}, {}):
        assert texts(status([desired], [device("worker-0", **actual)], [node("worker-0")])) == []
    assert len(texts(status([desired], [device("worker-0", metro="ny")], [node("worker-0")]))) == 1


def test_a_load_balancer_needs_no_node_and_the_bootstrap_device_is_reported() -> None:
    desired, existing, joined = MASTER
    balancer = (machine("lb-0", "load-balancer"), device("lb-0", "load-balancer"))
    found = status([desired, balancer[0]], [existing, balancer[1], device("bootstrap", "bootstrap")], [joined])
    assert texts(found) == ["bootstrap: the bootstrap device exists (active): the installation is not complete"]


def test_a_node_that_is_not_ready_is_degraded_since_when() -> None:
    found = status(
        [machine("worker-0")], [device("worker-0")], [node("worker-0", ready=False, since=NOW - timedelta(hours=5), message="x")]
    )
    assert texts(found, "degraded") == ["worker-0: its Node is NotReady since 2026-11-23T07:00:00Z (5 h): x"]
    assert found["verdict"] == "demo.metal.test: 1 degraded object"


def test_what_an_api_does_not_say_is_no_difference() -> None:
    desired, existing, joined = MASTER
    without_metal = status([desired], [], [joined], metal={"problem": "no connection"})
    assert [finding["group"] for finding in without_metal["findings"]] == ["unreachable"]
    assert without_metal["price_per_hour"] is None
    without_cluster = status([desired, machine("worker-0")], [existing], [], api={"problem": "no answer", "now": None})
    assert texts(without_cluster) == ["worker-0: it has no device"]
    assert texts(without_cluster, "unreachable") == ["cluster API: no answer"]
    neither = status([desired], [], [], metal={"problem": "a"}, api={"problem": "b", "now": None})
    assert [neither["exists"], neither["counts"]["unreachable"], texts(neither)] == [True, 2, []]


def test_a_cluster_that_does_not_exist_is_one_difference() -> None:
    found = status([machine("worker-0"), machine("worker-1")], [], [], api={"problem": "there is no such file", "now": None})
    assert (found["exists"], found["verdict"]) == (False, "demo.metal.test does not exist")
    assert texts(found) == [f"{DOMAIN}: the inventory has 2 machines, and nothing has the cluster's tag"]
    assert status([], [], [], api={"problem": "none", "now": None})["findings"] == []


def condition(kind: str, value: str, message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": value, "message": message, "lastTransitionTime": "2026-11-23T11:00:00Z"}


def test_operators_pools_and_the_cluster_version() -> None:
    api = {
        "cluster_version": {
            "spec": {"channel": "stable-4.20"},
            "status": {
                "desired": {"version": "4.20.33"},
                "history": [{"state": "Completed", "version": "4.20.33"}],
                "availableUpdates": [{"version": "4.20.9"}, {"version": "4.20.34"}],
                "conditions": [condition("Available", "True"), condition("Failing", "True", "an image is missing")],
            },
        },
        "operators": [
            {"metadata": {"name": "dns"}, "status": {"conditions": [condition("Available", "True"), condition("Degraded", "False")]}},
            {"metadata": {"name": "ingress"}, "status": {"conditions": [condition("Available", "False", "no router")]}},
        ],
        "pools": [
            {
                "metadata": {"name": "worker"},
                "spec": {"paused": True},
                "status": {
                    "machineCount": 3,
                    "readyMachineCount": 2,
                    "updatedMachineCount": 1,
                    "conditions": [condition("Degraded", "True", "disk full"), condition("Updating", "True")],
                },
            }
        ],
        "boot_images": {"data": {"releaseVersion": "4.19.1"}},
        "unread": ["Secrets of openshift-etcd: forbidden"],
    }
    times = {"acquired_at": "2026-11-23T11:00:00Z", "renewed_at": "2026-11-23T11:01:00Z", "expires_at": "2026-11-23T11:06:00Z"}
    lock = {"holder": "me@here", "operation": "scale.yml", "job": "", **times}
    found = status([], [device("worker-0")], [], api=api, metal={"locks": [lock]})
    degraded = texts(found, "degraded")
    assert [text.partition(":")[0] for text in degraded] == ["cluster version", "ingress", "worker"]
    assert "no router" in degraded[1]
    assert "1 h" in degraded[2] or "60 min" in degraded[2]
    assert found["version"]["available_updates"] == ["4.20.34", "4.20.9"]
    notes = "\n".join(found["notes"])
    for part in ("held by scale.yml of me@here", "it expired", "4.20.34", "boot images of the cluster are of 4.19.1", "paused", "1 of 3"):
        assert part in notes
    assert texts(found, "unreachable") == ["cluster API: Secrets of openshift-etcd: forbidden"]


def dated(kind: str, days_left: float, lifetime: float | None) -> Dated:
    ends_at = NOW + timedelta(days=days_left)
    return Dated(kind, "whose", Validity(None if lifetime is None else ends_at - timedelta(days=lifetime), ends_at))


@pytest.mark.parametrize(
    ("left", "lifetime", "state", "within"),
    [
        (0.05, 1, "ending", True),
        (2, 30, "ending", True),
        (-1, 30, "ended", True),
        (25, 3650, "ending", True),
        (100, 3650, "valid", False),
    ],
)
def test_a_certificate_is_a_finding_once_its_renewal_is_overdue(left: float, lifetime: float | None, state: str, within: bool) -> None:
    found = status([], [device("worker-0")], [], presented=[dated("kubelet serving", left, lifetime)])
    [certificate] = found["certificates"]
    assert (certificate["state"], certificate["within_days"]) == (state, within)
    assert len(texts(found, "certificates")) == (state != "valid")


def test_pending_csrs_have_the_verdict_of_csr_approval() -> None:
    rules = approval_rules(SETTINGS, [device("worker-0", created_at="2026-11-23T11:50:00Z")], [full("worker-0")])
    objects = []
    for name in ("worker-0", "unauthorized"):
        request = client(made(f"system:node:{full(name)}"))
        request["metadata"] |= {"name": f"csr-{name}", "uid": name, "creationTimestamp": "2026-11-23T11:55:00Z"}
        objects.append(request)
    verdicts = decide([assess(request, rules) for request in objects], rules, [], NOW)
    found = status([machine("worker-0")], [device("worker-0")], [], api={"verdicts": verdicts})
    assert {request["name"]: request["verdict"] for request in found["certificate_requests"]} == {
        "csr-worker-0": "would be approved",
        "csr-unauthorized": "would be refused",
    }
    assert found["counts"]["csrs"] == 2
    assert "its CSR is pending" in texts(found)[0]


def test_what_the_plan_would_change_is_a_difference() -> None:
    desired, existing, joined = MASTER
    stale = {"planned": {"kubeconfig": {"servers": ["192.0.2.99"], "is_trusting": True}}}
    found = status([desired], [existing], [joined], api=stale)
    assert texts(found) == ["kubeconfig: kubeconfig is not as the inventory says: addresses or CAs of the cluster have changed"]
    assert [finding["advice"] for finding in found["findings"]] == ["run scale.yml, which changes it"]
