"""The plans as people read them: each situation is a file in ``golden``. ``UPDATE_GOLDEN=1`` writes these files, to be read then."""

import importlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import MANAGED
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import Owner, cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.removal import Request
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan import install as install_plan
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan import scale as scale_plan
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.destroy import plan_destroy
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.devices import missing_machines
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.install import Installation, plan_install
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.replace import plan_replace
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.scale import plan_scale
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.step import Plan
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.world import Desired, Offer, World

CLUSTER = "demo.metal.test"
ROOT = Path(__file__).resolve().parents[5]
GOLDEN = Path(__file__).with_name("golden")
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
MASTERS = ("master-0", "master-1", "master-2")


def machine(name: str, **more: Any) -> dict[str, Any]:
    return {"hostname": f"{name}.{CLUSTER}", "inventory_hostname": name, "plan": "c3.small.x86", "metro": "da", "pool": "worker", **more}


def device(name: str, role: str = "", **more: Any) -> dict[str, Any]:
    own = role or ("control-plane" if name in MASTERS else "worker")
    tags = [f"openshift-cluster={CLUSTER}", f"openshift-role={own}"]
    place = {"plan": "c3.small.x86", "metro": "da", "price_per_hour": 1.3}
    return {
        "id": f"id-{name}",
        "hostname": f"{name}.{CLUSTER}",
        "state": "active",
        "created_at": "2026-11-20T00:00:00Z",
        "tags": tags,
        **place,
        **more,
    }


def node(name: str, **more: Any) -> dict[str, Any]:
    """A Node as ``node_info`` returns it."""
    return {
        "name": f"{name}.{CLUSTER}",
        "control_plane": name in MASTERS,
        "ready": True,
        "schedulable": True,
        "cordoned_for_removal": False,
        "device_id": f"id-{name}",
        "provider_id": f"equinixmetal://id-{name}",
        "created_at": "2026-11-20T01:00:00Z",
        "addresses": [],
        **more,
    }


def object_of(row: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": row["name"], "labels": {"tier": "silver"}, "annotations": {MANAGED: "{}"}}, "spec": {}}


def desired(*workers: dict[str, Any], **more: Any) -> Desired:
    machines = {
        "bootstrap": [machine("bootstrap", pool="")],
        "control_plane": [machine(name, pool="") for name in MASTERS],
        "workers": list(workers),
        "load_balancer": [],
    }
    return Desired(CLUSTER, machines, has_dns=True, **more)


def world(asked: Desired, *devices: dict[str, Any], nodes: list[dict[str, Any]] | None = None, over: bool = True, **more: Any) -> World:
    """A world with these devices; each has a Node unless ``nodes`` are given."""
    rows = [node(each["hostname"].partition(".")[0]) for each in devices] if nodes is None else nodes
    missing = missing_machines(asked.machines, {each["hostname"] for each in devices}, bootstrap_over=over)
    offers = {each["hostname"]: Offer("c3.small.x86", "da", 1.3) for group in missing.values() for each in group}
    return World(devices, rows, [object_of(row) for row in rows], missing, offers, now=NOW, **more)


def workers(count: int) -> list[dict[str, Any]]:
    return [machine(f"worker-{number}") for number in range(count)]


def cluster(*names: str) -> list[dict[str, Any]]:
    return [device(name) for name in (*MASTERS, *names)]


def drifted() -> tuple[Desired, World]:
    """A complete cluster in which somebody has changed one thing of each kind, and an interrupted removal has left a cordon."""
    order = {"hostname": f"worker-0.{CLUSTER}", "tags": ["openshift-role=worker", "rack=4"], "description": "compute", "locked": True}
    asked = desired(
        machine("worker-0", kernel_arguments=["nosmt"]),
        machine("worker-1"),
        orders={"workers": [order]},
        ownership_tags=[f"openshift-cluster={CLUSTER}"],
        records={"workers": [], "network": "layer3", "entries": {"ingress": ["192.0.2.6"]}},
        owner=Owner(CLUSTER, "demo-x2b4q"),
        routers={"pool": "", "replicas": 3},
    )
    names = [*MASTERS, "worker-0", "worker-1"]
    addresses = {name: f"192.0.2.{10 + number}" for number, name in enumerate(names)}
    devices = [{**device(name), "addresses": {"public_ipv4": address}} for name, address in addresses.items()]
    tags = sorted([f"openshift-cluster={CLUSTER}", "openshift-role=worker", "by-hand"])
    devices[3]["comparable"] = {"hostname": order["hostname"], "tags": tags, "description": "", "locked": False}
    # MetalLB has given the Service in front of the routers its address.
    nodes = [node(name, router=name.startswith("worker"), may_run_router=True, ingress_addresses=["192.0.2.6"]) for name in names]
    nodes[4]["cordoned_for_removal"] = True
    own = [Owner(CLUSTER, "demo-x2b4q").value()]
    every = cluster_dns_records(devices, CLUSTER, bootstrap_complete=True, nodes=nodes)
    read = {
        record["name"]: {"addresses": record["values"], "alias": "", "texts": own if record["values"] else [], "problem": ""}
        for record in every
    }
    read[f"api.{CLUSTER}"]["addresses"] = ["192.0.2.10", "192.0.2.99"]
    read[f"worker-1.{CLUSTER}"] = {"addresses": [], "alias": "", "texts": [], "problem": ""}
    read[f"worker-0.{CLUSTER}"]["texts"] = []
    found = {
        "configs": [{"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": "worker"}}],
        "ingress": {"kind": "IngressController", "metadata": {"name": "default"}, "spec": {"replicas": 2}},
        "requests": ["csr-1", "csr-2"],
        "waiting": ["operator ingress is degraded: one router is missing"],
        "kubeconfig": {"servers": ["192.0.2.10"], "is_trusting": True},
    }
    return asked, world(asked, *devices, nodes=nodes, records=read, cluster=found, publishes=True)


def install(asked: Desired, found: World, **state: Any) -> Plan:
    return plan_install(asked, found, Installation(**state))


def situations() -> dict[str, Plan]:
    three = desired(*workers(3))
    begun = [device("bootstrap", "bootstrap"), *cluster()]
    gold = desired(machine("worker-0"), machine("worker-1", labels={"tier": "gold"}), machine("worker-4"), machine("worker-5"))
    due = desired(*workers(3), replace_not_ready_after=600)
    silent = node("worker-1", ready=False, unreachable=True, message="Kubelet stopped posting node status.", since="2026-11-28T11:00:00Z")
    kept = desired(*workers(1), removal=Request(in_job=True))
    chosen = {"names": ["master-1", "worker-0", "worker-2"], "pool": "", "older_than": "", "at_most": 1, "window": 7200}
    failed = desired(*workers(2), replace_failed=1)
    first = world(three, nodes=[], over=False)
    block = {"id": "id-block", "network": "192.0.2.8", "cidr": 29, "metro": "da", "created_at": "2026-11-20T00:00:00Z"}
    objects = {"name": CLUSTER, "price_per_hour": 5.2, "virtual_networks": [], "metal_gateways": [], "ip_reservations": [block]}
    records = [{"name": f"api.{CLUSTER}", "before": ["192.0.2.10", "192.0.2.11"]}, {"name": f"*.apps.{CLUSTER}", "before": ["192.0.2.20"]}]
    return {
        "install_first": install(three, first, release="4.20.3"),
        "install_first_in_a_vlan": install(
            three,
            first,
            release="4.20.3",
            network=[("vlan", "VLAN in da"), ("addresses", "32 public addresses"), ("gateway", "public gateway")],
        ),
        "install_first_with_reuse": install(
            three,
            replace(first, missing={**first.missing, "workers": first.missing["workers"][:2]}),
            release="4.20.3",
            reused=f"worker-2.{CLUSTER}",
        ),
        "install_interrupted_while_devices_are_created": install(three, world(three, *begun[:2], nodes=[], over=False)),
        "install_interrupted_before_bootstrap_is_complete": install(three, world(three, *begun, nodes=[], over=False)),
        "install_interrupted_while_workers_join": install(
            three, world(three, *cluster("worker-0", "worker-1"), nodes=[node(name) for name in MASTERS]), bootstrap_over=True
        ),
        "install_nothing": install(three, world(three, *cluster("worker-0", "worker-1", "worker-2")), bootstrap_over=True),
        "install_drifted": install(*drifted(), bootstrap_over=True),
        "scale_drifted": plan_scale(*drifted()),
        "install_no_metal_api": install(three, World(problems={"Metal API": "no answer within 15 s"}), bootstrap_over=True),
        "scale_nothing": plan_scale(three, world(three, *cluster("worker-0", "worker-1", "worker-2"))),
        "scale_both_ways": plan_scale(gold, world(gold, *cluster("worker-0", "worker-1", "worker-2"))),
        "scale_kept_in_a_job": plan_scale(kept, world(kept, *cluster("worker-0", "worker-1"))),
        "scale_worker_without_node": plan_scale(
            three,
            world(three, *cluster("worker-0", "worker-1", "worker-2"), nodes=[node(name) for name in (*MASTERS, "worker-0", "worker-1")]),
        ),
        "scale_device_gone": plan_scale(
            three,
            world(three, *cluster("worker-0", "worker-1"), nodes=[node(name) for name in (*MASTERS, "worker-0", "worker-1", "worker-2")]),
        ),
        "scale_node_of_a_former_worker": plan_scale(
            desired(*workers(2)),
            world(
                desired(*workers(2)),
                *cluster("worker-0", "worker-1"),
                nodes=[
                    *(node(name) for name in (*MASTERS, "worker-0", "worker-1", "worker-7")),
                    node("of-others", device_id="", provider_id=""),
                ],
            ),
        ),
        "scale_unhealthy_replaced": plan_scale(
            due,
            world(
                due,
                *cluster("worker-0", "worker-1", "worker-2"),
                nodes=[*(node(name) for name in (*MASTERS, "worker-0", "worker-2")), silent],
            ),
        ),
        "scale_failed_replaced": plan_scale(
            failed, world(failed, *cluster("worker-0"), device("worker-1", state="failed"), nodes=[node(n) for n in (*MASTERS, "worker-0")])
        ),
        "scale_nodes_without_record": plan_scale(
            three,
            world(
                three,
                *cluster("worker-0", "worker-1", "worker-2"),
                nodes=[node(name) for name in (*MASTERS, "worker-0", "worker-1")] + [node("worker-2", provider_id="")],
            ),
        ),
        "scale_cluster_does_not_answer": plan_scale(
            gold, world(gold, *cluster("worker-0", "worker-1"), nodes=[], problems={"cluster API": "connection refused"})
        ),
        "replace_several": plan_replace(
            replace(three, replacement=chosen),
            world(three, *cluster("worker-0", "worker-1"), nodes=[node(name) for name in (*MASTERS, "worker-0", "worker-1")]),
        )[0],
        "destroy": plan_destroy(
            {**objects, "devices": [*cluster(), device("worker-0", locked=True)]},
            records,
            files={"boot files": "published by the controller", "cluster folder": "files and keys in /home/ops/clusters/demo"},
            project={"name": "demo", "id": "id-project"},
        ),
    }


SITUATIONS = situations()


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_plan_of_a_situation(name: str) -> None:
    plan, file = SITUATIONS[name], GOLDEN / f"{name}.txt"
    text = "\n".join([*plan.lines(), ""])
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert plan == situations()[name], "the same input is the same plan"
    assert {step.phase for step in plan.steps} <= set(plan.phases)


def test_every_golden_file_is_of_a_situation() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(SITUATIONS)


def test_unknown_nodes_are_not_replaced_or_removed_from_the_cluster() -> None:
    plan = SITUATIONS["scale_cluster_does_not_answer"]
    assert not [step for step in plan.steps if step.verb in ("replace", "change")]


def test_unknown_devices_are_in_no_record_that_is_changed() -> None:
    asked, existing = drifted()
    found = plan_scale(asked, replace(existing, devices=(), problems={"Metal API": "connection refused"}))
    assert not [step for step in found.steps if step.kind in ("records", "device")]


@pytest.mark.parametrize("other", [{"id": "id-worker-1", "hostname": "x"}, {"id": "x", "hostname": f"worker-1.{CLUSTER}"}])
def test_a_node_of_a_device_without_our_tags_is_not_removed(other: dict[str, str]) -> None:
    """The device of a worker of an adopted cluster has none: node_ownership asks the whole project too."""
    asked = desired(machine("worker-0"))
    rows = [node(name) for name in (*MASTERS, "worker-0", "worker-1")]
    steps = [plan_scale(asked, world(asked, *cluster("worker-0"), nodes=rows, others=others)).steps for others in ([other], [])]
    assert [[step.object for step in found if step.kind == "node"] for found in steps] == [[], [f"worker-1.{CLUSTER}"]]


def test_phases_without_a_step_are_not_due() -> None:
    for name in ("install_interrupted_before_bootstrap_is_complete", "install_no_metal_api", "scale_cluster_does_not_answer"):
        assert SITUATIONS[name].due == list(SITUATIONS[name].phases), "something is unknown"
    assert SITUATIONS["install_nothing"].due == []
    assert SITUATIONS["scale_nothing"].due == []
    assert SITUATIONS["scale_nodes_without_record"].due == ["Wait for workers to join"]
    # A machine that joins needs what an interrupted run may have left out: what it boots from, its device, its record.
    assert SITUATIONS["scale_worker_without_node"].due == ["Publish boot files", "Create worker devices", "Wait for workers to join"]
    assert SITUATIONS["install_interrupted_while_workers_join"].due == [
        "Create Ignition files",
        "Publish boot files",
        "Create bootstrap and control plane devices",
        "Create worker devices",
        "Wait for the cluster to complete",
    ]


def test_replacements_of_devices_that_fail_are_in_the_plan_of_what_orders_them() -> None:
    asked = replace(desired(*workers(2)), replace_failed=2)
    found = plan_scale(asked, world(asked, *cluster("worker-0"), nodes=[node(name) for name in (*MASTERS, "worker-0")]))
    assert found.data()["replaceable"] == 2
    assert found.lines()[-1].strip() == "failed devices are replaced, 2 at most: openshift_replace_failed"
    nothing = plan_scale(
        asked, world(asked, *cluster("worker-0", "worker-1"), nodes=[node(name) for name in (*MASTERS, "worker-0", "worker-1")])
    )
    assert (nothing.due, nothing.data()["replaceable"]) == ([], 0)


def test_the_reinstallation_of_the_bootstrap_device_is_due_until_it_was_requested() -> None:
    """Also when its tags say already that it is a worker: a run may have been interrupted before the request."""
    asked = desired(*workers(2))
    nodes = [node(name) for name in (*MASTERS, "worker-0")]
    reused = device("worker-1")
    reused["tags"] = [*reused["tags"], "ansible-operation-requested=reinstall:bootstrap-becomes-worker:none"]
    assert "Remove the bootstrap device" in install(asked, world(asked, *cluster("worker-0"), reused, nodes=nodes), bootstrap_over=True).due
    plain = world(asked, *cluster("worker-0", "worker-1"), nodes=nodes)
    assert "Remove the bootstrap device" not in install(asked, plain, bootstrap_over=True).due


def test_a_phase_compares_what_no_source_has_read() -> None:
    asked = desired(*workers(1))
    complete = world(asked, *cluster("worker-0"))
    for topic, phases in install_plan.TOPICS.items():
        assert install(asked, replace(complete, unread={topic: "not read"}), bootstrap_over=True).due == list(phases)
    for topic, phases in scale_plan.TOPICS.items():
        assert plan_scale(asked, replace(complete, unread={topic: "not read"})).due == list(phases)
    assert plan_scale(asked, replace(complete, unread={"anything else": "not read"})).due == list(scale_plan.PHASES)
    assert set(install_plan.TOPICS) == set(scale_plan.TOPICS)


def test_a_device_that_is_not_active_yet_is_waited_for() -> None:
    asked = desired(*workers(1))
    found = world(asked, *cluster(), device("worker-0", state="provisioning"), nodes=[node(name) for name in (*MASTERS, "worker-0")])
    assert "Create worker devices" in install(asked, found, bootstrap_over=True).due
    assert "Create worker devices" in plan_scale(asked, found).due


@pytest.mark.parametrize("playbook", ["install", "scale", "replace", "destroy"])
def test_phases_are_those_of_the_playbook(playbook: str) -> None:
    module = importlib.import_module(f"ansible_collections.equinix_metal.openshift.plugins.plugin_utils.plan.{playbook}")
    play = yaml.safe_load((ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8"))[0]
    assert list(module.PHASES) == play["vars"]["play_phases"]
