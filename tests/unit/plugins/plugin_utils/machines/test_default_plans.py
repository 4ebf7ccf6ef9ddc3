"""Default plans: the cheapest that fits and can be ordered, and the plan of existing devices before it."""

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.default_plans import Offer, default_plans

Servers = list[dict[str, Any]]


def plan(slug: str, price: float | None, cores: int = 8, memory: int = 32, disk: int = 480, **more: Any) -> dict[str, Any]:
    specs = {
        "cpus": [{"count": 1, "type": f"Xeon {cores}-Core Processor"}],
        "memory": {"total": f"{memory}GB"},
        "drives": [{"count": 2, "size": f"{disk}GB"}],
    }
    usual = {"categories": ["compute", "current_gen"], "line": "baremetal", "deployment_types": ["on_demand"], "metros": ["da", "ny"]}
    return {"slug": slug, "price_per_hour": price, "specs": specs, **usual, **more}


PLANS = [
    plan("big.x86", 3.0),
    plan("middle.x86", 0.75),
    plan("other.x86", 0.75),
    plan("little.x86", 0.35, cores=2, memory=8, disk=100),
    plan("tiny.x86", 0.1, cores=2, memory=4, disk=20),
    plan("middle.arm64", 2.0),
]
SYSTEMS = [{"slug": "custom_ipxe", "provisionable_on": [each["slug"] for each in PLANS]}, {"slug": "ubuntu_24_04", "provisionable_on": []}]


def machine(name: str, role: str, **more: Any) -> dict[str, Any]:
    usual = {"hostname": name, "inventory_hostname": name.partition(".")[0], "role": role, "metro": "da", "architecture": "x86_64"}
    return {**usual, **({"pool": "worker"} if role == "worker" else {}), **more}


def inventory(**more: Any) -> dict[str, Any]:
    machines = {
        "bootstrap": [machine("bootstrap.demo", "bootstrap")],
        "control_plane": [machine(f"master-{n}.demo", "control-plane") for n in range(3)],
        "workers": [machine(f"worker-{n}.demo", "worker") for n in range(2)],
        "load_balancer": [machine("balancer.demo", "load-balancer")],
    }
    return {**machines, **more}


def device(name: str, plan: str, role: str = "worker", *tags: str, metro: str = "da") -> dict[str, Any]:
    return {"hostname": name, "plan": plan, "metro": metro, "tags": [f"openshift-role={role}", *tags]}


def stock(**servers: int) -> Callable[[Servers], Servers]:
    """Return the answers of an API that has so many servers of each plan in every metro, and enough of the others."""

    def ask(questions: Servers) -> Servers:
        return [{**each, "available": each["quantity"] <= servers.get(each["plan"].partition(".")[0], 99)} for each in questions]

    return ask


def choose(
    machines: dict[str, Any] | None = None,
    devices: Servers | None = None,
    plans: Servers | None = None,
    ask: Callable[[Servers], Servers] | None = None,
    systems: Servers | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the default plan, or the problem, by name of the host."""
    offer = Offer(lambda: PLANS if plans is None else plans, lambda: SYSTEMS if systems is None else systems, ask or stock())
    given = inventory() if machines is None else machines
    found = default_plans(given, devices or [], offer, load_balancer_operating_system="ubuntu_24_04", **more)
    assert all(bool(each.get("has_default_plan")) is ("plan" in each) for each in found.values())
    return {name.partition(".")[0]: each.get("plan") or each["plan_problem"] for name, each in found.items()}


CONTROL_PLANE = dict.fromkeys(("bootstrap", "master-0", "master-1", "master-2"), "middle.x86")
WORKERS = dict.fromkeys(("worker-0", "worker-1"), "little.x86")
EXPECTED = {**CONTROL_PLANE, **WORKERS, "balancer": "tiny.x86"}


def test_the_cheapest_plan_that_is_large_enough_for_the_role() -> None:
    assert choose() == EXPECTED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"categories": ["compute", "legacy_gen"]}, "big.x86"),
        ({"deployment_types": ["spot_market"]}, "big.x86"),
        ({"metros": ["sv"]}, "big.x86"),
        ({"price_per_hour": None}, "big.x86"),
        ({"metros": [], "categories": [], "line": None, "deployment_types": []}, "middle.x86"),
    ],
    ids=["legacy", "spot only", "another metro", "unknown price", "nothing reported"],
)
def test_plans_that_are_not_offered(changes: dict[str, Any], expected: str) -> None:
    plans = [plan("big.x86", 3.0), {**plan("middle.x86", 0.75), **changes}]
    assert choose({"control_plane": inventory()["control_plane"]}, plans=plans)["master-0"] == expected


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ({"middle": 4}, "middle.x86"),
        ({"middle": 3}, "other.x86"),
        ({"middle": 3, "other": 0}, "big.x86"),
        ({"middle": 0, "other": 0, "big": 0, "little": 0}, "middle.x86"),
    ],
    ids=["enough", "too few for bootstrap and control plane", "only the dearest", "none: preflight reports the lack of the cheapest"],
)
def test_capacity(servers: dict[str, int], expected: str) -> None:
    assert {choose(ask=stock(**servers))[name] for name in CONTROL_PLANE} == {expected}


def test_pools_do_not_count_on_the_same_servers() -> None:
    plans = [plan("middle.x86", 0.75), plan("other.x86", 0.8)]
    found = choose({"control_plane": inventory()["control_plane"], "workers": inventory()["workers"]}, plans=plans, ask=stock(middle=4))
    assert found == {**dict.fromkeys(("master-0", "master-1", "master-2"), "middle.x86"), **dict.fromkeys(WORKERS, "other.x86")}
    # Hosts with a plan of their own are ordered as well.
    own = [machine("infra-0.demo", "worker", pool="infra", plan="little.x86"), *inventory()["workers"]]
    assert choose({"workers": own}, ask=stock(little=2))["worker-0"] == "middle.x86"
    ordered = [device("infra-0.demo", "little.x86", "worker", "openshift-pool=infra")]
    assert choose({"workers": own}, devices=ordered, ask=stock(little=2))["worker-0"] == "little.x86"


def test_existing_devices_decide_before_prices_and_capacity() -> None:
    devices = [device("worker-0.demo", "big.x86"), device("master-0.demo", "other.x86", "control-plane")]
    expected = {**dict.fromkeys(CONTROL_PLANE, "other.x86"), **dict.fromkeys(WORKERS, "big.x86"), "balancer": "tiny.x86"}
    assert choose(devices=devices, ask=stock(big=0, other=0)) == expected
    # The API has nothing to offer any more.
    assert choose(devices=devices, plans=[]) == {**expected, "balancer": choose(plans=[])["balancer"]}


def test_a_machine_keeps_the_plan_of_its_device() -> None:
    devices = [device("worker-0.demo", "big.x86"), *(device(f"worker-{n}.demo", "other.x86") for n in (7, 8))]
    assert choose(devices=devices) | WORKERS == EXPECTED
    found = choose(devices=devices)
    # worker-7 and worker-8 are leaving the inventory, and are the greater part of the pool.
    assert (found["worker-0"], found["worker-1"]) == ("big.x86", "other.x86")


def test_the_bootstrap_device_that_becomes_a_worker() -> None:
    assert choose(reused="worker-1") == {**EXPECTED, "worker-1": "middle.x86"}
    assert choose(reused="worker-1.demo") == {**EXPECTED, "worker-1": "middle.x86"}


def test_nothing_is_read_for_machines_with_devices() -> None:
    def refuse(*_questions: Any) -> Any:
        raise AssertionError("a request to the Metal API")

    machines = {"workers": [{"hostname": "worker-0.demo", "role": "worker", "metro": "da"}]}
    devices = [{"hostname": "worker-0.demo", "plan": "middle.x86", "tags": ["openshift-role=worker"], "metro": "da"}]
    found = default_plans(machines, devices, Offer(refuse, refuse, refuse))
    assert found == {"worker-0.demo": {"plan": "middle.x86", "has_default_plan": True}}
    # Another machine of the pool has the plan of its devices.
    machines["workers"].append({"hostname": "worker-1.demo", "role": "worker", "metro": "da"})
    assert default_plans(machines, devices, Offer(refuse, refuse, refuse))["worker-1.demo"]["plan"] == "middle.x86"
