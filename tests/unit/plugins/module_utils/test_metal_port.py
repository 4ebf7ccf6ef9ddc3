"""The order of steps of a port, as a table; and all steps are taken, or the progress is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, LostAnswerError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.wait import Waiter
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import port as metal_port
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.port import PORT_OPTIONS, Port, PortState, plan
from tests.unit.plugins.module_utils.fake_client import FakeClient, Lost, Refused


def bond(text: str, *vlans: str, native: str = "") -> PortState:
    """``layer3``, ``layer2-bonded`` or ``layer2-individual``."""
    return PortState(True, text != "layer2-individual", text.startswith("layer2"), frozenset(vlans), native)


def eth(bonded: bool, *vlans: str, native: str = "") -> PortState:
    return PortState(False, bonded, False, frozenset(vlans), native)


WAYS: dict[str, tuple[PortState, PortState, list[str]]] = {
    "nothing": (bond("layer3"), bond("layer3"), []),
    "hybrid": (bond("layer3"), bond("layer3", "1"), ["assign VLAN 1"]),
    "hybrid-many": (bond("layer3"), bond("layer3", "2", "1"), ["assign VLAN 1, 2"]),
    "exchange": (bond("layer3", "1"), bond("layer3", "2"), ["assign VLAN 2 and unassign VLAN 1"]),
    "layer2": (bond("layer3"), bond("layer2-bonded"), ["convert to layer 2"]),
    "layer2-vlans-stay": (bond("layer3", "1"), bond("layer2-bonded", "1"), ["convert to layer 2"]),
    "layer2-native": (
        bond("layer3"),
        bond("layer2-bonded", "1", "2", native="2"),
        ["convert to layer 2", "assign VLAN 1, 2", "make VLAN 2 the native VLAN"],
    ),
    "individual": (bond("layer3"), bond("layer2-individual"), ["convert to layer 2", "disbond"]),
    "individual-of-hybrid": (
        bond("layer3", "1"),
        bond("layer2-individual"),
        ["unassign VLAN 1", "convert to layer 2", "disbond"],
    ),
    "individual-to-layer3": (bond("layer2-individual"), bond("layer3"), ["bond", "convert to layer 3"]),
    "individual-to-hybrid": (bond("layer2-individual"), bond("layer3", "1"), ["bond", "convert to layer 3", "assign VLAN 1"]),
    "individual-to-bonded": (bond("layer2-individual"), bond("layer2-bonded", "1"), ["bond", "assign VLAN 1"]),
    "back": (
        bond("layer2-bonded", "1", "2", native="1"),
        bond("layer3"),
        ["remove the native VLAN", "unassign VLAN 1, 2", "convert to layer 3"],
    ),
    "back-vlans-stay": (bond("layer2-bonded", "1"), bond("layer3", "1"), ["unassign VLAN 1", "convert to layer 3", "assign VLAN 1"]),
    "native-moves": (
        bond("layer2-bonded", "1", "2", native="1"),
        bond("layer2-bonded", "1", "2", native="2"),
        ["make VLAN 2 the native VLAN"],
    ),
    "native-goes": (bond("layer2-bonded", "1", "2", native="1"), bond("layer2-bonded", "1", "2"), ["remove the native VLAN"]),
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
    "eth-out": (eth(True), eth(False, "1"), ["disbond", "assign VLAN 1"]),
    "eth-in": (eth(False, "1", "2", native="1"), eth(True), ["remove the native VLAN", "unassign VLAN 1, 2", "bond"]),
}


@pytest.mark.parametrize(("now", "target", "steps"), WAYS.values(), ids=WAYS)
def test_port_changes_have_the_expected_steps(now: PortState, target: PortState, steps: list[str]) -> None:
    assert [str(step) for step in plan(now, target)] == steps


NO_WAYS: dict[str, tuple[PortState, PortState, str]] = {
    "disbond-in-layer3": (bond("layer3"), PortState(True, False, False), "set layer2=true with bonded=false"),
    "layer3-of-individual": (bond("layer2-individual"), PortState(True, False, False), "bonded=true with layer2=false"),
    "vlans-of-individual": (bond("layer2-individual"), bond("layer2-individual", "1"), "eth0, eth1"),
    "vlans-of-a-bonded-eth": (eth(True), eth(True, "1"), "at the bond port"),
    "layer-of-an-eth": (eth(True), PortState(False, True, True), "layer2 is an attribute of the bond"),
    "native-that-is-not-there": (bond("layer2-bonded", "1", "2"), bond("layer2-bonded", "1", "2", native="3"), "not one of its VLANs"),
    "native-alone": (bond("layer2-bonded", "1"), bond("layer2-bonded", "1", native="1"), "needs a second VLAN"),
    "native-in-layer3": (bond("layer3", "1", "2"), bond("layer3", "1", "2", native="1"), "in layer 3 has no native VLAN"),
    "all-at-once": (bond("layer3"), PortState(True, False, False, frozenset({"1"}), "2"), "4 problems"),
}


@pytest.mark.parametrize(("now", "target", "text"), NO_WAYS.values(), ids=NO_WAYS)
def test_an_impossible_port_change_fails_before_the_first_step(now: PortState, target: PortState, text: str) -> None:
    with pytest.raises(CollectionError, match=text):
        plan(now, target)


class Switch(FakeClient):
    """One bond port of the API, and nothing else of it."""

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.port: dict[str, Any] = {
            "id": "p",
            "type": "NetworkBondPort",
            "data": {"bonded": True},
            "network_type": "layer3",
            "virtual_networks": [],
            "native_virtual_network": None,
            **fields,
        }
        self.calls: list[str] = []
        self.lost: list[str] = []
        self.refused = ""
        self.ignored: list[str] = []
        self.batches: list[dict[str, Any]] = []
        self.batch_state = "completed"

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        if method == "GET" and path.endswith("/batches"):
            return self.batches
        if method == "GET" and "batches" in path:
            return {"id": "b", "state": self.batch_state, "error_messages": ["VLAN 9 is odd"]}
        return self.port if method == "GET" else self._change(method, path, body)

    def _change(self, method: str, path: str, body: Any) -> dict[str, Any]:
        action = path.removeprefix("ports/p/")
        if action in self.ignored:
            self.ignored.remove(action)
            return {"id": "p"}
        self.calls.append("-" * (method == "DELETE") + action)
        if action == self.refused:
            raise Refused(422, "no")
        if action == "vlan-assignments/batches" and self.batch_state == "completed":
            for each in body["vlan_assignments"]:
                self._vlan(each["vlan"], on=each["state"] == "assigned")
        elif action in ("assign", "unassign"):
            self._vlan(body["vnid"], on=action == "assign")
        elif action.startswith("convert"):
            self.port["network_type"] = "layer2-bonded" if action.endswith("2") else "layer3"
        elif action == "native-vlan" and method == "DELETE":
            self.port["native_virtual_network"] = None
        elif action == "native-vlan":
            self.port["native_virtual_network"] = {"id": f"id-{body['vnid']}", "vxlan": int(body["vnid"])}
        if action in self.lost:
            self.lost.remove(action)
            raise Lost
        return {"id": "b"}

    def _vlan(self, number: str, *, on: bool) -> None:
        kept = [each for each in self.port["virtual_networks"] if str(each["vxlan"]) != number]
        self.port["virtual_networks"] = kept + ([{"id": f"id-{number}", "vxlan": int(number)}] if on else [])


def port(switch: Switch, **given: Any) -> Port:
    params = {name: option.get("default") for name, option in PORT_OPTIONS.argument_spec.items()}
    params |= {"id": "p", "project_id": None, "wait_interval": 0, **given}
    return Port(switch, params, Waiter(0.5, 0))


WANTED = {"layer2": True, "vlan_ids": ["1", "2"], "native_vlan_id": "2"}


def change(switch: Switch, **given: Any) -> dict[str, Any]:
    resource = port(switch, **given)
    found = resource.find()
    assert found is not None
    return resource.comparable(resource.update(found, resource.desired()))


@pytest.mark.parametrize("step", ["convert/layer-2", "vlan-assignments/batches", "native-vlan"])
def test_a_step_with_a_lost_answer_is_checked_and_not_repeated(step: str) -> None:
    switch = Switch()
    switch.lost = [step]
    assert change(switch, **WANTED) == {"bonded": True, **WANTED}
    assert switch.calls == ["convert/layer-2", "vlan-assignments/batches", "native-vlan"]


def test_what_was_accepted_and_not_done_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metal_port, "VERIFY_TIMEOUT", 0.0)
    switch = Switch()
    switch.ignored = ["native-vlan"]
    assert change(switch, **WANTED)["native_vlan_id"] == "2"
    assert change(switch, native_vlan_id="")["native_vlan_id"] == ""
    assert switch.calls[-1] == "-native-vlan"
    switch.ignored = ["convert/layer-3"] * 3
    with pytest.raises(LostAnswerError, match=r"accepted every step, but these are not done: .*convert to layer 3"):
        change(switch, layer2=False, vlan_ids=[])


def test_vlans_that_had_to_go_come_back_also_when_an_answer_was_lost_meanwhile() -> None:
    switch = Switch(network_type="layer2-bonded", virtual_networks=[{"id": "id-1", "vxlan": 1}])
    switch.lost = ["convert/layer-3"]
    assert change(switch, layer2=False)["vlan_ids"] == ["1"]
    assert switch.calls == ["unassign", "convert/layer-3", "assign"]


def test_vlans_that_were_off_for_a_moment_are_named_since_only_this_run_knows_them() -> None:
    switch = Switch(network_type="layer2-bonded", virtual_networks=[{"id": "id-1", "vxlan": 1}])
    switch.refused = "convert/layer-3"
    with pytest.raises(CollectionError, match=r"Not done: convert to layer 3; assign VLAN 1\. .*run again with vlan_ids=\['1'\]"):
        change(switch, layer2=False)


def test_without_waiting_a_batch_is_the_last_step_or_none() -> None:
    switch = Switch()
    switch.batch_state = "queued"
    change(switch, layer2=True, vlan_ids=["1", "2"], wait=False)
    assert switch.calls == ["convert/layer-2", "vlan-assignments/batches"]
    with pytest.raises(CollectionError, match=r"without waiting between steps: .* Use wait=true"):
        change(Switch(), **WANTED, wait=False)


def test_a_port_change_is_blocked_by_another_batch() -> None:
    switch = Switch()
    switch.batches = [{"id": "b", "state": "queued"}, {"id": "c", "state": "completed"}]
    assert port(switch).blockers(switch.port, {"layer2": True}) == ["VLANs of port p are being changed: batch b is queued"]


@pytest.mark.parametrize(("state", "text"), [("failed", "VLAN 9 is odd"), ("queued", "within wait_timeout.* batch b is queued")])
def test_a_batch_that_does_not_end_well_is_an_error(state: str, text: str) -> None:
    switch = Switch()
    switch.batch_state = state
    with pytest.raises(CollectionError, match=text):
        change(switch, vlan_ids=["1", "9"])


def test_vlans_are_compared_as_they_are_named() -> None:
    networks = [{"id": "b8a1", "vxlan": 1}, {"id": "c9d2", "vxlan": 2}]
    switch = Switch(virtual_networks=networks, native_virtual_network=networks[0])
    by_id = port(switch, vlan_ids=["c9d2", "b8a1"], native_vlan_id="b8a1")
    assert by_id.comparable(switch.port) == {"bonded": True, "layer2": False, **by_id.desired()}
    by_number = port(switch, vlan_ids=["2", "1", "2"])
    assert by_number.comparable(switch.port)["vlan_ids"] == by_number.desired()["vlan_ids"]
    with pytest.raises(CollectionError, match="by number or all by id"):
        port(switch, vlan_ids=["b8a1"], native_vlan_id="1").find()
