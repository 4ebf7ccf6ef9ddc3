"""The checks of removals, replacements and the health of machines, and the plan, from what preflight has read."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import Owner, cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.planning import plan_of, removals, replacement

DOMAIN = "demo.metal.test"


def machine(name: str) -> dict[str, Any]:
    return {"hostname": f"{name}.{DOMAIN}", "inventory_hostname": name, "plan": "c3.small.x86", "metro": "da", "pool": "worker"}


def device(name: str, role: str) -> dict[str, Any]:
    tags = [f"openshift-cluster={DOMAIN}", f"openshift-role={role}"]
    return {"id": f"id-{name}", "hostname": f"{name}.{DOMAIN}", "tags": tags, "plan": "c3.small.x86", "metro": "da", "price_per_hour": 0.75}


def node(name: str, **more: Any) -> dict[str, Any]:
    own = {"ready": True, "schedulable": True, "cordoned_for_removal": False, "control_plane": name.startswith("master")}
    record = {"device_id": f"id-{name}", "provider_id": f"equinixmetal://id-{name}"}
    return {"name": f"{name}.{DOMAIN}", "created_at": None, "addresses": [], **own, **record, **more}


def context(playbook: str, *workers: str, kubeconfig: dict[str, Any] | None = None, **settings: Any) -> Context:
    """An installed cluster with one control plane machine and three workers; the inventory has ``workers``."""
    names = ["worker-0", "worker-1", "worker-2"]
    given = {
        "cluster_name": "demo",
        "base_domain": "metal.test",
        "metal_api_url": "u",
        "metal_api_token": "t",
        "metal_project_id": "p",
        "directory": "/clusters/demo",
        "bootstrap_over": True,
        "folder_exists": True,
        "least_workers": 2,
        "dns_provider": "none",
        "playbook": playbook,
    }
    machines = {
        "bootstrap": [],
        "control_plane": [machine("master-0")],
        "workers": [machine(name) for name in workers],
        "load_balancer": [],
    }
    readings = {
        "project": {"project": {}},
        "devices": {"devices": [device("master-0", "control-plane"), *(device(name, "worker") for name in names)]},
        "kubeconfig": kubeconfig or {"nodes": [node("master-0"), *map(node, names)], "objects": []},
    }
    return Context({**given, "machines": machines, **settings}, readings)


def test_only_scale_fails_for_a_removal_that_cannot_be_made() -> None:
    assert removals(context("scale.yml", "worker-0", "worker-1")).verdict == "passed"
    too_few = removals(context("scale.yml", "worker-0"))
    assert too_few.verdict == "failed"
    assert "only 1 workers that can run pods would remain, 2 are required" in too_few.found
    assert removals(context("install.yml", "worker-0")).verdict == "warning"


def test_without_an_answer_of_the_cluster_no_node_can_be_drained() -> None:
    found = removals(context("scale.yml", "worker-0", "worker-1", kubeconfig={"msg": "connection refused"}))
    assert found.verdict == "failed"
    assert "worker-2.demo.metal.test cannot be drained: the cluster's API does not answer (connection refused)." in found.found


def test_what_cannot_be_read_is_not_replaced_silently() -> None:
    found = replacement(context("replace.yml", "worker-0", "worker-1", replace="worker-1", kubeconfig={"msg": "connection refused"}))
    assert found.verdict == "failed"
    assert "which machines are replaced is not known: cluster API: connection refused" in found.found


def test_the_plan_is_that_of_the_playbook() -> None:
    plan = plan_of(context("scale.yml", "worker-0", "worker-1"))
    assert plan is not None
    assert [(step.verb, step.object) for step in plan.steps] == [("remove", f"worker-2.{DOMAIN}")]
    assert plan.lines()[0] == f"{DOMAIN}, scale.yml: 1 to remove; 3.00 -> 2.25 USD an hour"
    assert plan_of(context("", "worker-0")) is None, "validate.yml changes nothing"
    assert plan_of(context("scale.yml", "worker-0", pool_sizes="many")) is None, "a check says what is wrong"


def records_of(given: Context) -> dict[str, Any]:
    """What a DNS server has that was written for these devices."""
    own = [Owner(DOMAIN, "demo-x2b4q").value()]
    every = cluster_dns_records(given.devices, DOMAIN, bootstrap_complete=True, nodes=given.readings["kubeconfig"]["nodes"])
    return {
        each["name"]: {"addresses": each["values"], "alias": "", "texts": own if each["values"] else [], "problem": ""} for each in every
    }


def complete(playbook: str = "install.yml", **settings: Any) -> Context:
    """A complete cluster of the default kind, whose every source was read."""
    given = {
        "dns_provider": "rfc2136",
        "load_balancer": "dns",
        "machine_network": "layer3",
        "ignition_platform": "metal",
        "publish": "controller",
        "publish_address": "192.0.2.1",
        "publish_http_port": 20000,
        "service_networks": ["172.30.0.0/16"],
        "replace_at_most": 1,
    }
    found = context(playbook, "worker-0", "worker-1", "worker-2", **{**given, **settings})
    devices = []
    for number, each in enumerate(found.readings["devices"]["devices"]):
        name = each["hostname"]
        tags = sorted([*each["tags"], "openshift-infra-id=demo-x2b4q"])
        boots = {"operating_system": "custom_ipxe", "ipxe_script_url": f"http://192.0.2.1:20000/{name}.ipxe"}
        comparable = {"hostname": name, "tags": tags, "plan": "c3.small.x86", "metro": "da", **boots}
        own = {"state": "active", "addresses": {"public_ipv4": f"192.0.2.{10 + number}"}, "ip_addresses": []}
        devices.append({**each, **own, "comparable": comparable})
    written = {
        "configs": [],
        "ingress": {"spec": {}},
        "requests": [],
        "waiting": [],
        "kubeconfig": {"servers": ["192.0.2.10"], "is_trusting": True},
    }
    readings = {
        **found.readings,
        "devices": {"devices": devices},
        "controller": {"project": "p", "publishes": False, "metadata": {"infraID": "demo-x2b4q"}},
        "kubeconfig": {**found.readings["kubeconfig"], **written},
    }
    read = Context(found.settings, readings)
    return Context(found.settings, {**readings, "records": records_of(read)})


@pytest.mark.parametrize("playbook", ["install.yml", "scale.yml"])
def test_a_complete_cluster_has_nothing_to_do(playbook: str) -> None:
    plan = plan_of(complete(playbook))
    assert plan is not None
    assert [(step.kind, step.object, step.detail, step.reason) for step in plan.steps] == []
    assert (list(plan.also), plan.due) == ([], [])


@pytest.mark.parametrize(
    ("settings", "phase"),
    [
        ({"machine_network": "vlan"}, "Create bootstrap and control plane devices"),
        ({"load_balancer": "haproxy"}, "Create network and load balancer"),
        ({"ignition_platform": "packet"}, "Create worker devices"),
        ({"publish": "host"}, "Wait for the cluster to complete"),
        ({"dns_reverse_zones": ["2.0.192.in-addr.arpa"]}, "Wait for the cluster to complete"),
        ({"metallb": True}, "Wait for the cluster to complete"),
    ],
)
def test_what_only_roles_compare_has_its_phase_each_time(settings: dict[str, Any], phase: str) -> None:
    plan = plan_of(complete(**settings))
    assert plan is not None
    assert phase in plan.due
