"""Every inventory of cases.yml gets the report of the table from the filters. The readings are the same for all."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.filter.machines import machines
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.default_plans import Offer, default_plans
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.checks import CHECKS
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.planning import plan_of
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.machines import with_default_plans
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.preflight import report as report_of
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.controller import read_manifests
from tests.validate.cases import GROUPS, TABLE, Case, read
from tests.validate.page import PAGE, page

WORLD = {
    "pull_secret": json.dumps({"auths": {"registry.example": {"auth": "dXNlcjp3b3Jk"}}}),
    "private_block": "10.66.1.0/25",
    "dns_port": "5353",
    "api": "http://127.0.0.1:8800/metal/v1",
}
BASE, CASES = read(WORLD)
SECRET = "planted-secret"
DEFAULTS_FILE = Path(__file__).resolve().parents[2] / "roles" / "validate" / "defaults" / "main.yml"
MALFORMED: tuple[Any, ...] = (None, 0, -1, 1.5, True, [], {}, ["x"], [None], [{}], {"x": 1}, "\u00e4", "\u00b2", "\0")
"""Values of unexpected types and unexpected characters."""
STOCK = {"ny": 3, "sv": 1, "mr": 4}
"""Servers of each plan by metro; other metros have enough."""
FEATURES = {"da": ["baremetal", "layer_2"], "am": ["baremetal", "layer_2"], "lab": ["baremetal"], "ny": []}
"""Features of the facility of each metro: only that of lab has a plain network."""
SIZE = {"cpus": [{"count": 1, "type": "Xeon 8-Core Processor"}], "memory": {"total": "32GB"}, "drives": [{"count": 2, "size": "480GB"}]}
PLANS = ("c3.small.x86", "c3.large.arm64")
READINGS: dict[str, Any] = {
    "project": {"project": {"name": "sandbox", "max_devices": {}}},
    "devices": {"devices": []},
    "plans": {"plans": [{"slug": slug, "price_per_hour": 0.75, "specs": SIZE} for slug in PLANS]},
    "metros": {"metros": [{"code": code} for code in ("da", "am", "lab", *STOCK)]},
    "operating_systems": {
        "operating_systems": [{"slug": slug, "provisionable_on": list(PLANS)} for slug in ("custom_ipxe", "ubuntu_24_04")]
    },
    "ssh_keys": {"ssh_keys": {"project": 0, "user": 1, "members": 0}},
    "facilities": {
        "facilities": [{"code": f"{code}1", "metro": {"code": code}, "features": features} for code, features in FEATURES.items()]
    },
    "private_blocks": {"ip_reservations": [{"network": "10.66.1.0", "cidr": 25}]},
    "mirror": {"content": f"{'0' * 64}  openshift-install-linux-4.20.33.tar.gz\n"},
    "signature": {"status": 200, "good": True, "found": "good, by key 0123456789ABCDEF on 2026-11-01"},
    "controller": {"architecture": "x86_64", "writable": True, "mode": None},
    "catalogs": {"names": [], "messages": []},
    "publish": {"ports": {"20000": "free", "20001": "free"}, "own": False},
    "dns": {"dns_rc_str": "NOERROR"},
    "records": {"api.demo.metal.test": {"addresses": [], "alias": "", "problem": ""}},
    "resolver": {"at": "192.0.2.53", "own": "ns.metal.test.", "seen": "", "names": {}},
    "wildcard": {"at": "192.0.2.53", "name": "no-such-host-1.demo.metal.test", "addresses": []},
}
CLUSTER_ID = "0d7e1d0f-6c2b-4d0e-9d51-7d6b1c7a4f10"
# Settings whose names in the role's `wanted` are not those of the variables without openshift_.
DEFAULTS = {
    "platform": "none",
    "operator_catalog": "redhat-operators",
    "registry_size": "100Gi",
    "load_balancer": "dns",
    "load_balancer_operating_system": "ubuntu_24_04",
    "load_balancer_ingress_slots": 128,
    "dns_zone": "metal.test",
    "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "service_networks": ["172.30.0.0/16"],
    "machine_networks": ["10.0.0.0/16"],
    "machine_network": "layer3",
    "vlan_mode": "hybrid",
    "vlan_gateway": "none",
    "vlan_gateway_size": 32,
    "node_firewall": True,
    "clock_tolerance": 60,
    "run_hours": 1,
    "state_store": "folder",
}


def available(servers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "available": each["quantity"] <= STOCK.get(each["metro"], 99)} for each in servers]


def planned(machines: dict[str, Any], readings: dict[str, Any]) -> dict[str, Any]:
    """Return the machines with the default plans of the service that the readings are of."""
    plans, systems = readings["plans"].get("plans") or [], readings["operating_systems"].get("operating_systems") or []
    offer = Offer(lambda: plans, lambda: systems, available)
    plans = default_plans(machines, readings["devices"].get("devices") or [], offer, load_balancer_operating_system="ubuntu_24_04")
    return {group: with_default_plans(members, plans) for group, members in machines.items()}


def report(case: Case, **settings: Any) -> dict[str, Any]:
    return report_of(*read_world(case, **settings))


def read_world(case: Case, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings and the readings of a case."""
    given, readings = case.variables(BASE), dict(READINGS)
    variables = {name: value for name, value in given.items() if not name.startswith("case_")}
    desired = {
        **DEFAULTS,
        **{name.removeprefix("openshift_"): value for name, value in variables.items()},
        "machines": {group: machines(given["case_hosts"][group], given["case_hostvars"], strict=False) for group in GROUPS},
        "variables": variables,
        **settings,
        "bootstrap_over": case.entry.get("installed", False),
        "folder_exists": case.entry.get("installed", False),
        "adopted": case.entry.get("adopted", False),
        "job": str(given.get("awx_job_id", "")),
    }
    if case.entry.get("installed"):
        readings["controller"] = {**readings["controller"], "metadata": {"infraID": "demo-x7k2p", "clusterID": CLUSTER_ID}}
        readings["kubeconfig"] = {"cluster_id": CLUSTER_ID}
    readings["manifests"] = read_manifests(desired.get("manifests") or [])
    readings = {**readings, **{name: {**(readings.get(name) or {}), **answer} for name, answer in given["case_answers"].items()}}
    desired["machines"] = planned(desired["machines"], readings)
    if "capacity" not in readings:
        for every in (False, True):
            context = Context({**desired, "known_variables": {}, "given_variables": []}, readings)
            questions = context.capacity_questions(every=every)
            readings["capacity"] = {"servers": available(questions)}
            if not Context(desired, readings).choose_places()[1]:
                break
    return desired, readings


@pytest.mark.parametrize("playbook", ["install.yml", "scale.yml", "replace.yml"])
def test_what_is_checked_of_orders_is_what_the_plan_orders(playbook: str) -> None:
    """Capacity, quota, price and names are judged for the machines that the plan has steps for, and for no others."""
    compared = 0
    for case in CASES:
        desired, readings = read_world(case, playbook=playbook)
        devices = [{"id": f"id-{number}", **each} for number, each in enumerate(readings["devices"].get("devices") or [])]
        if playbook != "install.yml" and not (devices and case.entry.get("installed")):
            continue
        cluster = dict(readings.get("kubeconfig") or {})
        if "nodes" in cluster:
            cluster["nodes"] = [
                {"control_plane": False, "device_id": "", "provider_id": "", "created_at": "", **row} for row in cluster["nodes"]
            ]
        found = {"devices": {**readings["devices"], "devices": devices}, "kubeconfig": cluster, "records": {}}
        context = Context(desired, {**readings, **found})
        plan = plan_of(context)
        if plan is None or plan.unknown:
            continue
        ordered = {step.object for step in plan.steps if step.kind == "device" and step.verb in ("create", "replace")}
        assert {machine["hostname"] for machine in context.machines_to_order} == ordered, case.name
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_report_has_the_findings_of_the_table(case: Case) -> None:
    made = report(case)
    lines = {line["check"]: line for line in made["checks"]}
    for check, expected in case.expected.items():
        assert lines[check]["verdict"] == expected.verdict, lines[check]
        assert expected.found in lines[check]["found"], lines[check]
    failures = {check: line["found"] for check, line in lines.items() if line["verdict"] == "failed"}
    assert set(failures) == case.failures, failures
    assert made["failed"] == len(failures)
    assert SECRET not in json.dumps(made)
    assert all(line["expected"] and (line["advice"] or line["verdict"] != "failed") for line in lines.values())
    verdicts = [line["verdict"] for line in made["checks"]]
    assert verdicts == sorted(verdicts, key=("passed", "not checkable", "warning", "failed").index)


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"\b(?:openshift|metal)_[a-z_]+\b", DEFAULTS_FILE.read_text(encoding="utf-8")))))
def test_malformed_variables_do_not_break_the_report(variable: str) -> None:
    for value in MALFORMED:
        made = report(Case(0, {"name": "malformed", "variables": {variable: value}, "expect": {}}))
        assert len(made["checks"]) == len(CHECKS)


def test_the_price_is_that_of_the_machines_to_order() -> None:
    made = report(CASES[0])
    assert (made["price_per_hour"], made["price_of_the_run"], made["price_per_month"]) == (4.5, 4.5, round(5 * 0.75 * 730, 2))


@pytest.mark.parametrize("stock", [0, 1, 2, 5])
def test_the_price_includes_machines_without_capacity(stock: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STOCK, "da", stock)
    made = report(CASES[0])
    assert made["failed"] == 1
    assert (made["machines_to_order"], made["price_per_hour"], made["price_per_month"]) == (6, 4.5, round(5 * 0.75 * 730, 2))
    (capacity,) = [line for line in made["checks"] if line["check"] == "capacity"]
    assert "4 servers of plan c3.small.x86" in capacity["found"] or "2 servers of plan c3.small.x86" in capacity["found"]
    assert f"{stock} available" in capacity["found"]


def test_the_tolerance_of_the_clock_is_a_setting() -> None:
    case = Case(0, {"name": "clock", "answers": {"clock": {"date": "Thu, 01 Jan 1970 00:00:00 GMT", "now": 300}}, "expect": {}})
    verdicts = [
        line["verdict"] for value in (300, 299) for line in report(case, clock_tolerance=value)["checks"] if line["check"] == "clock"
    ]
    assert verdicts == ["passed", "failed"]


def test_case_names_are_unique_and_checks_exist() -> None:
    names = [entry["name"] for entry in TABLE["cases"]]
    assert len(names) == len(set(names)) >= 60
    assert {check for case in CASES for check in case.expected} <= CHECKS.keys()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.validate.page"
