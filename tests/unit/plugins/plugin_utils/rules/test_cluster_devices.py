"""What roles decide by the devices of a cluster: its state, its DNS records, and what becomes of the bootstrap device."""

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.bootstrap import removal_plan as bootstrap_removal

CLUSTER = "demo.metal.test"
RENDERED = json.loads((Path(__file__).parent / "cluster_files.json").read_text(encoding="utf-8"))
SERVICES = 5


def device(name: str, role: str, address: str | None, **own: Any) -> dict[str, Any]:
    return {
        "hostname": name if "." in name else f"{name}.{CLUSTER}",
        "tags": [f"openshift-cluster={CLUSTER}", f"openshift-role={role}"],
        "addresses": {"public_ipv4": address},
        "termination_time": None,
        **own,
    }


DEVICES = [
    device("worker-1", "worker", "192.0.2.21"),
    device("worker-0", "worker", "192.0.2.20"),
    device("bootstrap", "bootstrap", "192.0.2.9"),
    *(device(f"control-plane-{number}", "control-plane", f"192.0.2.{13 - number}") for number in range(3)),
    device("late", "worker", None),
    device("elsewhere.other.test", "worker", "192.0.2.99"),
]
BALANCER = device("lb", "load-balancer", "192.0.2.5")
NAMES = [each["hostname"] for each in DEVICES]


@pytest.mark.parametrize(
    ("case", "devices", "choices"),
    [
        ("bootstrap serves", DEVICES, {}),
        ("bootstrap over", DEVICES, {"bootstrap_complete": True, "workers": NAMES}),
        ("balanced", [*DEVICES, BALANCER], {"balanced": True}),
        ("workers to come", DEVICES[3:6], {"bootstrap_complete": True, "workers": ["worker-0"]}),
        (
            "some leave",
            DEVICES,
            {"bootstrap_complete": True, "machines": NAMES[1:6], "removed": [f"gone.{CLUSTER}", f"worker-0.{CLUSTER}", "a.b"]},
        ),
    ],
)
def test_dns_records_are_those_of_before(case: str, devices: list[dict[str, Any]], choices: dict[str, Any]) -> None:
    records = [each for each in cluster_dns_records(devices, CLUSTER, **choices) if each["name"] != f"nodes.{CLUSTER}"]
    rendered = RENDERED["dns"][case]
    assert records[:SERVICES] == rendered[:SERVICES]
    # In which order host names are set or deleted does not matter.
    assert sorted(records, key=str) == sorted(rendered, key=str)


def placed(name: str, *, router: bool, may_run_router: bool = True) -> dict[str, Any]:
    return {"name": f"{name}.{CLUSTER}", "router": router, "may_run_router": may_run_router}


MASTER = "control-plane-0"


@pytest.mark.parametrize(
    ("nodes", "apps", "members"),
    [
        # The cluster cannot be read, or nothing has joined that may run a router: the inventory's workers.
        ([], ["192.0.2.20", "192.0.2.21"], ["192.0.2.20", "192.0.2.21"]),
        ([placed(MASTER, router=False, may_run_router=False)], ["192.0.2.20", "192.0.2.21"], ["192.0.2.20", "192.0.2.21"]),
        # Before the routers run: where they may.
        ([placed("worker-0", router=False)], ["192.0.2.20"], ["192.0.2.20"]),
        # A tainted pool, and more workers than routers.
        ([placed("worker-0", router=True), placed("worker-1", router=False)], ["192.0.2.20"], ["192.0.2.20", "192.0.2.21"]),
        # The first workers of a compact cluster: routers stay on the control plane.
        ([placed(MASTER, router=True), placed("worker-0", router=False)], ["192.0.2.13"], ["192.0.2.13", "192.0.2.20"]),
        # A node of a device that is being removed has no record.
        ([placed("gone", router=True), placed("worker-1", router=False)], ["192.0.2.21"], ["192.0.2.21"]),
    ],
)
def test_ingress_follows_the_routers(nodes: list[dict[str, Any]], apps: list[str], members: list[str]) -> None:
    def values(name: str, devices: list[dict[str, Any]], **choices: Any) -> Any:
        workers = [f"worker-0.{CLUSTER}", f"worker-1.{CLUSTER}"]
        records = cluster_dns_records(devices, CLUSTER, bootstrap_complete=True, nodes=nodes, workers=workers, **choices)
        return next(record["values"] for record in records if record["name"] == f"{name}.{CLUSTER}")

    assert values("*.apps", DEVICES) == apps
    assert values("ingress-members", [*DEVICES, BALANCER], balanced=True) == members
    assert values("*.apps", [*DEVICES, BALANCER], balanced=True) == ["192.0.2.5"]


@pytest.mark.parametrize(("current", "expected"), [([], ["192.0.2.20"]), (["192.0.2.6"], ["192.0.2.6"]), (["192.0.2.7"], ["192.0.2.20"])])
def test_ingress_moves_to_the_announced_address_when_a_service_has_it(current: list[str], expected: list[str]) -> None:
    nodes = [{**placed("worker-0", router=True), "ingress_addresses": current}]
    entries = {"api": [], "ingress": ["192.0.2.6"]}
    records = cluster_dns_records(DEVICES, CLUSTER, bootstrap_complete=True, nodes=nodes, entries=entries)
    assert next(record["values"] for record in records if record["name"] == f"*.apps.{CLUSTER}") == expected
    unread = cluster_dns_records(DEVICES, CLUSTER, bootstrap_complete=True, entries=entries)
    assert [record for record in records if record not in unread] == [record for record in records if record["name"].startswith("*.apps")]


def test_one_record_has_all_addresses_that_machines_connect_from() -> None:
    private = [{**each, "addresses": {**each["addresses"], "private_ipv4": f"10.0.0.{number}"}} for number, each in enumerate(DEVICES[2:4])]

    def nodes(**choices: Any) -> list[str]:
        (record,) = [each for each in cluster_dns_records([*private, BALANCER], CLUSTER, **choices) if each["name"] == f"nodes.{CLUSTER}"]
        return list(record["values"])

    assert nodes() == ["10.0.0.0", "10.0.0.1", "192.0.2.13", "192.0.2.5", "192.0.2.9"]
    assert nodes(bootstrap_complete=True, network="private") == ["10.0.0.1", "192.0.2.13", "192.0.2.5"]


def test_absent_records_are_all_that_a_cluster_may_have() -> None:
    records = cluster_dns_records(DEVICES, CLUSTER, state="absent", removed=[f"gone.{CLUSTER}", "a.b"])
    assert not any(record["values"] for record in records)
    assert {record["name"].removesuffix(f".{CLUSTER}") for record in records} == {
        *("api", "api-int", "*.apps", "api-members", "ingress-members", "nodes"),
        *("gone", "bootstrap", "late", "worker-0", "worker-1", "control-plane-0", "control-plane-1", "control-plane-2"),
    }


WORKERS = [{"inventory_hostname": f"worker-{number}", "hostname": f"worker-{number}.{CLUSTER}"} for number in range(3)]
OPERATION = "bootstrap-becomes-worker"


def test_the_bootstrap_device_becomes_the_chosen_worker() -> None:
    plan = bootstrap_removal(DEVICES, WORKERS, "worker-2", OPERATION)
    assert plan == {"worker": WORKERS[2], "obstacle": "", "reused": [DEVICES[2]], "deleted": [], "reinstalling": []}


@pytest.mark.parametrize(
    ("becomes", "own", "obstacle"),
    [
        ("", {}, ""),
        ("nobody", {}, "nobody is not a worker of the inventory"),
        ("worker-1", {}, f"worker-1.{CLUSTER} exists already"),
        ("worker-2", {"termination_time": "2030-01-01T00:00:00Z"}, "its termination time is set"),
    ],
)
def test_otherwise_the_bootstrap_device_is_deleted(becomes: str, own: dict[str, Any], obstacle: str) -> None:
    bootstrap = {**DEVICES[2], **own}
    plan = bootstrap_removal([*DEVICES[:2], bootstrap], WORKERS, becomes, OPERATION)
    assert (plan["deleted"], plan["reused"]) == ([bootstrap], [])
    assert plan["obstacle"].startswith(obstacle) and bool(plan["obstacle"]) == bool(obstacle)


def test_a_reinstallation_that_was_requested_is_completed() -> None:
    requested = device("worker-2", "worker", "192.0.2.9", tags=[f"ansible-operation-requested=reinstall:{OPERATION}:5"])
    assert bootstrap_removal([*DEVICES[:2], requested], WORKERS, "worker-2", OPERATION)["reinstalling"] == [requested]
