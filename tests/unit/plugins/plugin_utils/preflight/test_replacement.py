"""What replace.yml orders again is checked like an order, and frees what its device has."""

from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.controller import control_plane
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.metal import quota

PLAN = "c3.small.x86"


def machine(name: str) -> dict[str, Any]:
    return {"hostname": f"{name}.demo", "inventory_hostname": name, "pool": name.partition("-")[0], "plan": PLAN, "metro": "da"}


def context(*missing: str, **settings: Any) -> Context:
    groups = {
        "bootstrap": [],
        "control_plane": [machine("master-0")],
        "workers": [machine(f"worker-{number}") for number in range(3)],
        "load_balancer": [],
    }
    names = [each["hostname"] for machines in groups.values() for each in machines if each["inventory_hostname"] not in missing]
    readings = {
        "devices": {"devices": [{"hostname": name, "plan": PLAN, "tags": []} for name in names]},
        "project": {"project": {"max_devices": {PLAN: 4}}},
        "quota": {"taken": {PLAN: len(names)}},
    }
    return Context({"machines": groups, "bootstrap_over": True, **settings}, readings)


def ordered(found: Context) -> list[str]:
    return [each["inventory_hostname"] for each in found.machines_to_order]


def test_replaced_machines_are_ordered_as_many_as_at_the_same_time() -> None:
    assert ordered(context()) == []
    assert ordered(context(replace="worker-1")) == ["worker-1"]
    assert ordered(context(replace=["worker-1.demo", "worker-2"])) == ["worker-1"]
    assert ordered(context(replace_pool="worker", replace_at_most="2")) == ["worker-0", "worker-1"]


def test_a_replacement_needs_no_higher_quota() -> None:
    assert quota(context(replace="worker-1")).verdict == "passed"
    assert quota(context("worker-0", replace="worker-1")).verdict == "passed"
    over = context(replace="worker-1")
    over.readings["project"]["project"]["max_devices"] = {PLAN: 3}
    assert quota(over).verdict == "failed"


def test_a_missing_control_plane_machine_is_created_by_its_replacement_only() -> None:
    assert control_plane(context("master-0")).verdict == "failed"
    assert control_plane(context("master-0", replace="worker-1")).verdict == "failed"
    assert control_plane(context("master-0", replace="master-0")).verdict == "passed"
    assert control_plane(context(replace="master-0")).verdict == "passed"
