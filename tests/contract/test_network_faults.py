"""Failures of network modules: errors name the blockers and the changes made so far, and the next run resumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, laid, run
from tests.contract.network import UNKNOWN
from tests.contract.scenario import TAGS, WAIT, Scenario
from tests.contract.test_orders import by_module, world

REFUSED = {"status": 422, "body": {"errors": ["The switch is being maintained"]}}


def test_an_interrupted_port_change_reports_its_progress_and_is_resumed(
    sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    with laid(by_module("metal_port"), sandbox, sandbox_environment) as ready:
        assert run("metal_port", ready.create, sandbox_environment)["changed"]

        refused = run("metal_vlan", {"metro": "da", "vxlan": 1101, "state": "absent"}, sandbox_environment)
        assert "in use by device worker-5.contract.metal.test" in refused["msg"]
        assert not refused["changed"]

        assert ready.change is not None
        sandbox.call("POST", "faults", json={"method": "POST", "path": "/convert/layer-3$", "times": 1, **REFUSED})
        stopped = run("metal_port", ready.change, sandbox_environment)
        assert "The switch is being maintained" in stopped["msg"]
        assert "Done: remove the native VLAN; unassign VLAN 1101, 1102" in stopped["msg"]
        assert "Not done: convert to layer 3; assign VLAN 1102, 1103" in stopped["msg"]
        assert stopped["changed"]
        assert stopped["failure"]["done"] == ["remove the native VLAN", "unassign VLAN 1101, 1102"]
        assert stopped["diff"]["after"] == {"layer2": True, "vlan_ids": [], "native_vlan_id": ""}
        assert run("metal_port", ready.change, sandbox_environment)["changed"]
        assert ready.view(world(sandbox, ready))["vlan_ids"] == ["1102", "1103"]

        sandbox.forget()
        impossible = run("metal_port", {**ready.change, "bonded": False, "_ansible_check_mode": True}, sandbox_environment)
        assert "a bond cannot be disbonded in layer 3" in impossible["msg"]
        unknown = run("metal_port", {**ready.change, "name": "bond7"}, sandbox_environment)
        assert "the device has the ports bond0, eth0, eth1" in unknown["msg"]
        assert not [each for each in sandbox.journal() if each["method"] not in ("GET", "HEAD")]


def test_a_failed_vlan_batch_reports_the_services_error(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    with laid(by_module("metal_port"), sandbox, sandbox_environment) as ready:
        result = run("metal_port", {**ready.create, "vlan_ids": ["1101", "1199"], "native_vlan_id": None}, sandbox_environment)
        assert result["failed"]
        assert "1199" in result["msg"]


def test_an_address_moved_to_an_unknown_device_stays_assigned(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    with laid(by_module("metal_ip_assignment"), sandbox, sandbox_environment) as ready:
        assert run("metal_ip_assignment", ready.create, sandbox_environment)["changed"]
        before = ready.view(world(sandbox, ready))
        refused = run("metal_ip_assignment", {**ready.create, "device_id": UNKNOWN, "move": True}, sandbox_environment)
        assert "404" in refused["msg"]
        assert ready.view(world(sandbox, ready)) == before
        assert ready.change is not None
        unwanted = run("metal_ip_assignment", {**ready.change, "move": False}, sandbox_environment)
        assert "set move=true to unassign it there" in unwanted["msg"]
        assert ready.view(world(sandbox, ready)) == before

        sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices/.*/ips$", "times": 1, **REFUSED})
        stopped = run("metal_ip_assignment", ready.change, sandbox_environment)
        assert f"The address is unassigned from device {before['device_id']}" in stopped["msg"]
        assert stopped["changed"]
        moved = run("metal_ip_assignment", ready.change, sandbox_environment)
        assert moved["changed"]
        assert ready.view(world(sandbox, ready))["device_id"] == moved["ip_assignment"]["device_id"]
        assert ready.absent is not None
        assert run("metal_ip_assignment", ready.absent, sandbox_environment)["changed"]


def test_concurrent_devices_get_different_free_addresses_of_a_block_and_keep_them(
    sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    block = run("metal_ip_reservation", {"metro": "da", "quantity": 4, "tags": TAGS, **WAIT}, sandbox_environment)["ip_reservation"]
    devices = sandbox.call("POST", "devices", json={"count": 5, "hostname": "taker-{{index}}.contract.metal.test", "tags": TAGS})["ids"]
    try:

        def take(device: str) -> dict[str, Any]:
            return run("metal_ip_assignment", {"ip_reservation_id": block["id"], "device_id": device, **WAIT}, sandbox_environment)

        taken = {"status": 422, "body": {"errors": ["Address has already been taken"]}}
        sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices/.*/ips$", "times": 2, **taken})
        addresses = [take(device)["ip_assignment"]["address"] for device in devices[:4]]
        assert len(set(addresses)) == 4
        assert [take(device)["ip_assignment"]["address"] for device in devices[:4]] == addresses
        assert "has no free /32" in take(devices[4])["msg"]
        refused = run("metal_ip_reservation", {"id": block["id"], "state": "absent"}, sandbox_environment)
        assert addresses[0] in refused["msg"]
        assert "taker-1.contract.metal.test" in refused["msg"]
    finally:
        run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT}, sandbox_environment)
        run("metal_ip_reservation", {"id": block["id"], "state": "absent", **WAIT}, sandbox_environment)


def quota(sandbox: RunningSandbox, addresses: int | None) -> None:
    sandbox.call("PUT", "settings", json={"quotas": {"public_ipv4": addresses}})


def test_fail_on_approval_required_fails_at_once(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    options: dict[str, Any] = {"metro": "da", "quantity": 8, "tags": TAGS, **WAIT}
    given = sandbox.call("GET", "settings")["quotas"]["public_ipv4"]
    quota(sandbox, 1)
    try:
        refused = run("metal_ip_reservation", {**options, "fail_on_approval_required": True}, sandbox_environment)
        assert "approval" in refused["msg"]
        assert not by_module("metal_ip_reservation").view(world(sandbox, by_module("metal_ip_reservation")))
        pending = run("metal_ip_reservation", {**options, "wait": False}, sandbox_environment)
        assert pending["ip_reservation"]["state"] == "pending"
        still = run("metal_ip_reservation", {**options, "fail_on_approval_required": True}, sandbox_environment)
        assert "waits for approval by Equinix Metal" in still["msg"]
        late = run("metal_ip_reservation", {**options, "wait_timeout": 0.5}, sandbox_environment)
        assert "was not completed within wait_timeout" in late["msg"]
    finally:
        quota(sandbox, given)
        run("metal_ip_reservation", {"tags": TAGS, "state": "absent", **WAIT}, sandbox_environment)


def test_deleting_a_vrf_or_vlan_in_use_names_the_blockers(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    def well(module: str, **options: Any) -> dict[str, Any]:
        result = run(module, options, sandbox_environment)
        assert not result.get("failed"), result
        return result

    vrf = well("metal_vrf", name="troubles", metro="da", ip_ranges=["192.168.0.0/20"])["vrf"]
    vlan = well("metal_vlan", metro="da", vxlan=1120)["virtual_network"]
    desired = {"type": "vrf", "vrf_id": vrf["id"], "network": "192.168.1.0", "cidr": 28, "tags": TAGS, **WAIT}
    block = well("metal_ip_reservation", **desired)["ip_reservation"]
    gateway = well("metal_gateway", virtual_network_id=vlan["id"], ip_reservation_id=block["id"], **WAIT)["metal_gateway"]
    try:
        assert gateway["gateway_address"] == "192.168.1.1/28"
        assert gateway["vrf_id"] == vrf["id"]
        assert not well("metal_ip_reservation", **desired)["changed"]
        assert not well("metal_gateway", ip_reservation_id=block["id"], **WAIT)["changed"]
        other = run("metal_gateway", {"id": gateway["id"], "private_ipv4_subnet_size": 8}, sandbox_environment)
        assert "a gateway keeps its subnet" in other["msg"]
        refused = run("metal_vrf", {"name": "troubles", "state": "absent"}, sandbox_environment)
        assert f"in use by gateway {gateway['id']}, IP reservation {block['id']} (192.168.1.0/28)" in refused["msg"]
        refused = run("metal_vlan", {"id": vlan["id"], "state": "absent"}, sandbox_environment)
        assert f"in use by gateway {gateway['id']}" in refused["msg"]
    finally:
        for module, made in (
            ("metal_gateway", gateway),
            ("metal_ip_reservation", block),
            ("metal_vlan", vlan),
            ("metal_vrf", vrf),
        ):
            well(module, id=made["id"], state="absent", **({} if module in ("metal_vlan", "metal_vrf") else WAIT))


def test_absent_returns_after_the_gateway_is_deleted(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    with laid(by_module("metal_gateway"), sandbox, sandbox_environment) as ready:
        assert ready.absent is not None
        made = run("metal_gateway", ready.create, sandbox_environment)["metal_gateway"]
        # No port is in its VLAN.
        assert made["state"] == "ready"
        assert made["private_ipv4_subnet_size"] == 8
        accepted = run("metal_gateway", {**ready.absent, "wait": False}, sandbox_environment)
        assert accepted["changed"]
        # Whether it is deleting or deleted by now: its deletion is requested once, and then it is absent.
        assert not run("metal_gateway", ready.absent, sandbox_environment)["changed"]
        assert ready.view(world(sandbox, ready)) == {}


def bgp_sessions_without_configuration() -> Scenario:
    """The scenario of metal_bgp_session, in a project of its own in which nobody has requested BGP."""
    scenario = by_module("metal_bgp_session")
    return replace(scenario, prerequisites={name: each for name, each in scenario.prerequisites.items() if name != "config"})


def test_a_bgp_session_requires_bgp_in_its_project(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    with laid(bgp_sessions_without_configuration(), sandbox, sandbox_environment) as ready:
        refused = run("metal_bgp_session", ready.create, sandbox_environment)
        assert "create ipv4 BGP session of device" in refused["msg"]
        assert "BGP is not enabled" in refused["msg"]


def test_a_bgp_session_enables_local_bgp_in_a_project_without_a_configuration(
    sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    with laid(bgp_sessions_without_configuration(), sandbox, sandbox_environment) as ready:
        options = {**ready.create, "enable_local_bgp": True}
        project = call(sandbox, "GET", f"devices/{options['device_id']}")["project"]["href"].rpartition("/")[2]
        sandbox.forget()
        predicted = run("metal_bgp_session", {**options, "_ansible_check_mode": True}, sandbox_environment)
        assert predicted["changed"]
        assert not [each for each in sandbox.journal() if each["method"] != "GET"]

        created = run("metal_bgp_session", options, sandbox_environment)
        assert (created["changed"], created["diff"]) == (True, predicted["diff"])
        enabled = call(sandbox, "GET", f"projects/{project}/bgp-config")
        assert (enabled["deployment_type"], enabled["asn"], enabled["status"]) == ("local", 65000, "enabled")
        sandbox.forget()
        assert not run("metal_bgp_session", options, sandbox_environment)["changed"]
        assert not [each for each in sandbox.journal() if each["method"] != "GET"]

        # A configuration of the project stays, whatever its ASN.
        run("metal_bgp_config", {"project_id": project, "deployment_type": "local", "asn": 65001}, sandbox_environment)
        run("metal_bgp_session", ready.absent or {}, sandbox_environment)
        assert run("metal_bgp_session", options, sandbox_environment)["changed"]
        assert call(sandbox, "GET", f"projects/{project}/bgp-config")["asn"] == 65001


PRECIOUS: dict[str, dict[str, Any]] = {
    "metal_vlan": {"metro": "sg", "vxlan": 77, "tags": ["precious"]},
    "metal_ip_reservation": {"metro": "sg", "quantity": 1, "tags": ["precious"], **WAIT},
}


@pytest.mark.parametrize("module", PRECIOUS)
def test_an_empty_id_selects_nothing(module: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    """An empty id does not select the one network or block without a text."""
    made = run(module, PRECIOUS[module], sandbox_environment)
    found = made["virtual_network" if module == "metal_vlan" else "ip_reservation"]
    text = "description" if module == "metal_vlan" else "details"
    sandbox.forget()
    try:
        for state in ("present", "absent"):
            for options in ({"id": ""}, {"metro": "sg", "tags": []}, {"id": " ", "tags": ["precious"]}, {text: "", "tags": []}):
                refused = run(module, {**options, "state": state}, sandbox_environment)
                assert "Cannot use the options" in refused["msg"]
                assert not refused["changed"]
        assert sandbox.journal() == []
        # A resource that is selected by its id may lose its tags.
        assert run(module, {"id": found["id"], "tags": []}, sandbox_environment)["changed"]
    finally:
        run(module, {"id": found["id"], "state": "absent"}, sandbox_environment)


DELETERS = {
    "metal_device": ("id", "hostname"),
    "metal_gateway": ("id", "virtual_network_id", "ip_reservation_id"),
    "metal_vrf": ("id", "name"),
    "metal_ssh_key": ("id", "label", "key"),
    "metal_project": ("id", "name"),
    "metal_bgp_session": ("id",),
    "metal_spot_market_request": ("id",),
    "metal_ip_assignment": ("id", "address"),
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in DELETERS.items() for name in names])
def test_absent_without_a_name_deletes_nothing(
    module: str, name: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    refused = run(module, {name: "", "state": "absent"}, sandbox_environment)
    assert f"Cannot use the options: {name} is given, but empty" in refused["msg"]
    assert sandbox.journal() == []


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("module", PRECIOUS)
def test_a_resource_with_additional_tags_is_another_resource(
    module: str, order: int, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    """Whichever was created first: each task finds its own, and no resource loses a tag."""
    common = {name: value for name, value in PRECIOUS[module].items() if name not in ("vxlan", "tags")}
    tasks = [{**common, "tags": tags} for tags in (["web"], ["web", "prod"])][::order]
    key = "virtual_network" if module == "metal_vlan" else "ip_reservation"
    made: list[dict[str, Any]] = []
    try:
        for task in tasks:
            result = run(module, task, sandbox_environment)
            assert not result.get("failed"), result
            made.append(result[key])
        for task, found in zip(tasks, made, strict=True):
            again = run(module, task, sandbox_environment)
            assert not again["changed"]
            assert again[key]["id"] == found["id"]
        text = "description" if module == "metal_vlan" else "details"
        for given in ({"tags": ["prod"]}, {"tags": ["web"], text: "nothing-like-it"}):
            assert not run(module, {"metro": "sg", **given, "state": "absent"}, sandbox_environment)["changed"]
        assert [run(module, {**task, "state": "absent"}, sandbox_environment)["changed"] for task in tasks] == [True, True]
    finally:
        for found in made:
            run(module, {"id": found["id"], "state": "absent"}, sandbox_environment)


def test_an_address_is_found_in_the_project_of_its_device(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    other = call(sandbox, "POST", "projects", {"name": "contract-elsewhere"})
    try:
        with laid(by_module("metal_ip_assignment"), sandbox, sandbox_environment) as ready:
            elsewhere = {**sandbox_environment, "METAL_PROJECT_ID": other["id"]}
            made = run("metal_ip_assignment", ready.create, elsewhere)
            assert made["changed"]
            assert run("metal_ip_assignment", ready.create, elsewhere)["changed"] is False
            gone = {"address": ready.create["address"], "device_id": ready.create["device_id"], "state": "absent", **WAIT}
            assert [run("metal_ip_assignment", gone, elsewhere)["changed"] for _twice in range(2)] == [True, False]
    finally:
        call(sandbox, "DELETE", f"projects/{other['id']}")
