"""Failures of network modules: errors name the blockers and the changes made so far, and the next run resumes."""

from dataclasses import replace
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import Metal, laid
from tests.contract.network import UNKNOWN
from tests.contract.scenario import TAGS, WAIT, Scenario
from tests.contract.test_orders import by_module, world

REFUSED = {"status": 422, "body": {"errors": ["The switch is being maintained"]}}


def test_an_interrupted_port_change_reports_its_progress_and_is_resumed(metal: Metal) -> None:
    with laid(by_module("metal_port"), metal.sandbox, metal.environment) as ready:
        assert metal.run("metal_port", ready.create)["changed"]

        refused = metal.run("metal_vlan", {"metro": "da", "vxlan": 1101, "state": "absent"})
        assert "in use by device worker-5.contract.metal.test" in refused["msg"]
        assert not refused["changed"]

        assert ready.change is not None
        metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/convert/layer-3$", "times": 1, **REFUSED})
        stopped = metal.run("metal_port", ready.change)
        assert "The switch is being maintained" in stopped["msg"]
        assert "Done: remove the native VLAN; unassign VLAN 1101, 1102" in stopped["msg"]
        assert "Not done: convert to layer 3; assign VLAN 1102, 1103" in stopped["msg"]
        assert stopped["changed"]
        assert stopped["failure"]["done"] == ["remove the native VLAN", "unassign VLAN 1101, 1102"]
        assert stopped["diff"]["after"] == {"layer2": True, "vlan_ids": [], "native_vlan_id": ""}
        assert metal.run("metal_port", ready.change)["changed"]
        assert ready.view(world(metal.sandbox, ready))["vlan_ids"] == ["1102", "1103"]

        metal.sandbox.forget()
        impossible = metal.run("metal_port", {**ready.change, "bonded": False, "_ansible_check_mode": True})
        assert "a bond cannot be disbonded in layer 3" in impossible["msg"]
        assert "without waiting between steps" in metal.run("metal_port", {**ready.create, "wait": False})["msg"]
        unknown = metal.run("metal_port", {**ready.change, "name": "bond7"})
        assert "the device has the ports bond0, eth0, eth1" in unknown["msg"]
        assert not [each for each in metal.sandbox.journal() if each["method"] not in ("GET", "HEAD")]

        # Only this run knows the VLANs that it has unassigned for the conversion.
        assert metal.run("metal_port", ready.create)["changed"]
        metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/convert/layer-3$", "times": 1, **REFUSED})
        to_layer_3 = {name: value for name, value in ready.change.items() if name != "vlan_ids"} | {"layer2": False}
        stopped = metal.run("metal_port", to_layer_3)
        assert "run again with vlan_ids=['1101', '1102'], which were unassigned temporarily" in stopped["msg"]


def test_an_address_moved_to_an_unknown_device_stays_assigned(metal: Metal) -> None:
    with laid(by_module("metal_ip_assignment"), metal.sandbox, metal.environment) as ready:
        assert metal.run("metal_ip_assignment", ready.create)["changed"]
        before = ready.view(world(metal.sandbox, ready))
        refused = metal.run("metal_ip_assignment", {**ready.create, "device_id": UNKNOWN, "move": True})
        assert "404" in refused["msg"]
        assert ready.view(world(metal.sandbox, ready)) == before
        assert ready.change is not None
        unwanted = metal.run("metal_ip_assignment", {**ready.change, "move": False})
        assert "set move=true to unassign it there" in unwanted["msg"]
        assert ready.view(world(metal.sandbox, ready)) == before

        metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices/.*/ips$", "times": 1, **REFUSED})
        stopped = metal.run("metal_ip_assignment", ready.change)
        assert f"The address is unassigned from device {before['device_id']}" in stopped["msg"]
        assert stopped["changed"]
        moved = metal.run("metal_ip_assignment", ready.change)
        assert moved["changed"]
        assert ready.view(world(metal.sandbox, ready))["device_id"] == moved["ip_assignment"]["device_id"]
        assert ready.absent is not None
        assert metal.run("metal_ip_assignment", ready.absent)["changed"]


def test_concurrent_devices_get_different_free_addresses_of_a_block_and_keep_them(metal: Metal) -> None:
    block = metal.run("metal_ip_reservation", {"metro": "da", "quantity": 4, "tags": TAGS, **WAIT})["ip_reservation"]
    seeded = {"count": 5, "hostname": "taker-{{index}}.contract.metal.test", "tags": TAGS}
    devices = metal.sandbox.call("POST", "devices", json=seeded)["ids"]
    try:

        def take(device: str) -> dict[str, Any]:
            return metal.run("metal_ip_assignment", {"ip_reservation_id": block["id"], "device_id": device, **WAIT})

        taken = {"status": 422, "body": {"errors": ["Address has already been taken"]}}
        metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices/.*/ips$", "times": 2, **taken})
        addresses = [take(device)["ip_assignment"]["address"] for device in devices[:4]]
        assert len(set(addresses)) == 4
        assert [take(device)["ip_assignment"]["address"] for device in devices[:4]] == addresses
        assert "has no free /32" in take(devices[4])["msg"]
        refused = metal.run("metal_ip_reservation", {"id": block["id"], "state": "absent"})
        assert addresses[0] in refused["msg"]
        assert "taker-1.contract.metal.test" in refused["msg"]
    finally:
        metal.run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT})
        metal.run("metal_ip_reservation", {"id": block["id"], "state": "absent", **WAIT})


def quota(sandbox: RunningSandbox, addresses: int | None) -> None:
    sandbox.call("PUT", "settings", json={"quotas": {"public_ipv4": addresses}})


def test_fail_on_approval_required_fails_at_once(metal: Metal) -> None:
    options: dict[str, Any] = {"metro": "da", "quantity": 8, "tags": TAGS, **WAIT}
    given = metal.sandbox.call("GET", "settings")["quotas"]["public_ipv4"]
    quota(metal.sandbox, 1)
    try:
        refused = metal.run("metal_ip_reservation", {**options, "fail_on_approval_required": True})
        assert "approval" in refused["msg"]
        assert not by_module("metal_ip_reservation").view(world(metal.sandbox, by_module("metal_ip_reservation")))
        pending = metal.run("metal_ip_reservation", {**options, "wait": False})
        assert pending["ip_reservation"]["state"] == "pending"
        late = metal.run("metal_ip_reservation", {**options, "wait_timeout": 0.5})
        assert "was not completed within wait_timeout" in late["msg"]
    finally:
        quota(metal.sandbox, given)
        metal.run("metal_ip_reservation", {"tags": TAGS, "state": "absent", **WAIT})


def test_deleting_a_vrf_or_vlan_in_use_names_the_blockers(metal: Metal) -> None:
    def well(module: str, **options: Any) -> dict[str, Any]:
        result = metal.run(module, options)
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
        other = metal.run("metal_gateway", {"id": gateway["id"], "private_ipv4_subnet_size": 8})
        assert "a gateway keeps its subnet" in other["msg"]
        refused = metal.run("metal_vrf", {"name": "troubles", "state": "absent"})
        assert f"in use by gateway {gateway['id']}, IP reservation {block['id']} (192.168.1.0/28)" in refused["msg"]
        refused = metal.run("metal_vlan", {"id": vlan["id"], "state": "absent"})
        assert f"in use by gateway {gateway['id']}" in refused["msg"]
    finally:
        for module, made in (
            ("metal_gateway", gateway),
            ("metal_ip_reservation", block),
            ("metal_vlan", vlan),
            ("metal_vrf", vrf),
        ):
            well(module, id=made["id"], state="absent", **({} if module in ("metal_vlan", "metal_vrf") else WAIT))


def bgp_sessions_without_configuration() -> Scenario:
    """The scenario of metal_bgp_session, in a project of its own in which nobody has requested BGP."""
    scenario = by_module("metal_bgp_session")
    return replace(scenario, prerequisites={name: each for name, each in scenario.prerequisites.items() if name != "config"})


def test_a_bgp_session_enables_local_bgp_in_a_project_without_a_configuration(metal: Metal) -> None:
    with laid(bgp_sessions_without_configuration(), metal.sandbox, metal.environment) as ready:
        options = {**ready.create, "enable_local_bgp": True}
        project = metal.call("GET", f"devices/{options['device_id']}")["project"]["href"].rpartition("/")[2]
        metal.sandbox.forget()
        predicted = metal.run("metal_bgp_session", {**options, "_ansible_check_mode": True})
        assert predicted["changed"]
        assert not [each for each in metal.sandbox.journal() if each["method"] != "GET"]

        created = metal.run("metal_bgp_session", options)
        assert (created["changed"], created["diff"]) == (True, predicted["diff"])
        enabled = metal.call("GET", f"projects/{project}/bgp-config")
        assert (enabled["deployment_type"], enabled["asn"], enabled["status"]) == ("local", 65000, "enabled")
        metal.sandbox.forget()
        assert not metal.run("metal_bgp_session", options)["changed"]
        assert not [each for each in metal.sandbox.journal() if each["method"] != "GET"]

        # A configuration of the project stays, whatever its ASN.
        metal.run("metal_bgp_config", {"project_id": project, "deployment_type": "local", "asn": 65001})
        metal.run("metal_bgp_session", ready.absent or {})
        assert metal.run("metal_bgp_session", options)["changed"]
        assert metal.call("GET", f"projects/{project}/bgp-config")["asn"] == 65001


PRECIOUS: dict[str, dict[str, Any]] = {
    "metal_vlan": {"metro": "sg", "vxlan": 77, "tags": ["precious"]},
    "metal_ip_reservation": {"metro": "sg", "quantity": 1, "tags": ["precious"], **WAIT},
}


@pytest.mark.parametrize("module", PRECIOUS)
def test_an_empty_id_selects_nothing(module: str, metal: Metal) -> None:
    """An empty id does not select the one network or block without a text."""
    made = metal.run(module, PRECIOUS[module])
    found = made["virtual_network" if module == "metal_vlan" else "ip_reservation"]
    text = "description" if module == "metal_vlan" else "details"
    metal.sandbox.forget()
    try:
        for state in ("present", "absent"):
            for options in ({"id": ""}, {"metro": "sg", "tags": []}, {"id": " ", "tags": ["precious"]}, {text: "", "tags": []}):
                refused = metal.run(module, {**options, "state": state})
                assert "Cannot use the options" in refused["msg"]
                assert not refused["changed"]
        assert metal.sandbox.journal() == []
        # A resource that is selected by its id may lose its tags.
        assert metal.run(module, {"id": found["id"], "tags": []})["changed"]
    finally:
        metal.run(module, {"id": found["id"], "state": "absent"})


DELETERS = {
    "metal_device": ("id", "hostname"),
    "metal_project": ("id", "name"),
    "metal_ip_assignment": ("id", "address"),
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in DELETERS.items() for name in names])
def test_absent_without_a_name_deletes_nothing(module: str, name: str, metal: Metal) -> None:
    refused = metal.run(module, {name: "", "state": "absent"})
    assert f"Cannot use the options: {name} is given, but empty" in refused["msg"]
    assert metal.sandbox.journal() == []


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("module", PRECIOUS)
def test_a_resource_with_additional_tags_is_another_resource(module: str, order: int, metal: Metal) -> None:
    """Whichever was created first: each task finds its own, and no resource loses a tag."""
    common = {name: value for name, value in PRECIOUS[module].items() if name not in ("vxlan", "tags")}
    tasks = [{**common, "tags": tags} for tags in (["web"], ["web", "prod"])][::order]
    key = "virtual_network" if module == "metal_vlan" else "ip_reservation"
    made: list[dict[str, Any]] = []
    try:
        for task in tasks:
            result = metal.run(module, task)
            assert not result.get("failed"), result
            made.append(result[key])
        for task, found in zip(tasks, made, strict=True):
            again = metal.run(module, task)
            assert not again["changed"]
            assert again[key]["id"] == found["id"]
        text = "description" if module == "metal_vlan" else "details"
        for given in ({"tags": ["prod"]}, {"tags": ["web"], text: "nothing-like-it"}):
            assert not metal.run(module, {"metro": "sg", **given, "state": "absent"})["changed"]
        assert [metal.run(module, {**task, "state": "absent"})["changed"] for task in tasks] == [True, True]
    finally:
        for found in made:
            metal.run(module, {"id": found["id"], "state": "absent"})
