"""The order of steps of a port, as a table. With the API: tests/contract/test_network_faults.py and test_port_transitions.py."""

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import Waiter
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.port import PORT_OPTIONS, Port, PortState, plan
from tests.unit.plugins.module_utils.fake_client import FakeClient, options_of


def bond(text: str, *vlans: str, native: str = "") -> PortState:
    """``layer3``, ``layer2-bonded`` or ``layer2-individual``."""
    return PortState(True, text != "layer2-individual", text.startswith("layer2"), frozenset(vlans), native)


def eth(bonded: bool, *vlans: str, native: str = "") -> PortState:
    return PortState(False, bonded, False, frozenset(vlans), native)


WAYS: dict[str, tuple[PortState, PortState, list[str]]] = {
    "exchange": (bond("layer3", "1"), bond("layer3", "2"), ["assign VLAN 2 and unassign VLAN 1"]),
    "back-vlans-stay": (bond("layer2-bonded", "1"), bond("layer3", "1"), ["unassign VLAN 1", "convert to layer 3", "assign VLAN 1"]),
    "native-is-exchanged": (
        bond("layer2-bonded", "1", "2", native="1"),
        bond("layer2-bonded", "2", "3", native="3"),
        ["remove the native VLAN", "assign VLAN 3 and unassign VLAN 1", "make VLAN 3 the native VLAN"],
    ),
    "individual-in-use": (
        replace(bond("layer2-individual"), members=frozenset({"eth1", "eth0"})),
        bond("layer3"),
        ["unassign all VLANs of eth0, eth1", "bond", "convert to layer 3"],
    ),
}


@pytest.mark.parametrize(("now", "target", "steps"), WAYS.values(), ids=WAYS)
def test_port_changes_have_the_expected_steps(now: PortState, target: PortState, steps: list[str]) -> None:
    assert [str(step) for step in plan(now, target)] == steps


NO_WAYS: dict[str, tuple[PortState, PortState, str]] = {
    "disbond-in-layer3": (bond("layer3"), PortState(True, False, False), "set layer2=true with bonded=false"),
    "vlans-of-individual": (bond("layer2-individual"), bond("layer2-individual", "1"), "eth0, eth1"),
    "vlans-of-a-bonded-eth": (eth(True), eth(True, "1"), "at the bond port"),
    "native-that-is-not-there": (bond("layer2-bonded", "1", "2"), bond("layer2-bonded", "1", "2", native="3"), "not one of its VLANs"),
    "all-at-once": (bond("layer3"), PortState(True, False, False, frozenset({"1"}), "2"), "4 problems"),
}


@pytest.mark.parametrize(("now", "target", "text"), NO_WAYS.values(), ids=NO_WAYS)
def test_an_impossible_port_change_fails_before_the_first_step(now: PortState, target: PortState, text: str) -> None:
    with pytest.raises(CollectionError, match=text):
        plan(now, target)


def port(port_of_api: dict[str, Any], **given: Any) -> Port:
    batches = [{"id": "b", "state": "queued"}, {"id": "c", "state": "completed"}]
    client = FakeClient({"ports/p": port_of_api, "ports/p/vlan-assignments/batches": batches})
    return Port(client, options_of(PORT_OPTIONS, id="p", **given), Waiter(0.5, 0))


def test_a_port_change_is_blocked_by_another_batch() -> None:
    assert port({}).blockers({"id": "p"}, {"layer2": True}) == ["VLANs of port p are being changed: batch b is queued"]


def test_vlans_are_compared_as_they_are_named() -> None:
    networks = [{"id": "b8a1", "vxlan": 1}, {"id": "c9d2", "vxlan": 2}]
    bond = {"type": "NetworkBondPort", "data": {"bonded": True}, "network_type": "layer3"}
    current = {"id": "p", **bond, "virtual_networks": networks, "native_virtual_network": networks[0]}
    by_id = port(current, vlan_ids=["c9d2", "b8a1"], native_vlan_id="b8a1")
    assert by_id.comparable(current) == {"bonded": True, "layer2": False, **by_id.desired()}
    by_number = port(current, vlan_ids=["2", "1", "2"])
    assert by_number.comparable(current)["vlan_ids"] == by_number.desired()["vlan_ids"]
    with pytest.raises(CollectionError, match="by number or all by id"):
        port(current, vlan_ids=["b8a1"], native_vlan_id="1").find()
