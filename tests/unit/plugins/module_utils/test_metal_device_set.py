"""A pool as one resource: each machine as far as it gets, whatever becomes of the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.set import DEVICE_SET_OPTIONS, DeviceSet
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import resource

from .fake_metal import BareModule, FakeMetal, Time, hostnames

TAGS = ["openshift-cluster=demo.metal.test"]
GIVEN = "2b70eb8f-fa18-47c0-aba7-222a842362fd"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "RECHECK_AFTER_LOST_ANSWER", (0.0, 0.0))


def machine(number: int, **more: Any) -> dict[str, Any]:
    return {
        "hostname": f"worker-{number}.demo.metal.test",
        "plan": "c3.small.x86",
        "metro": "da",
        "operating_system": "ubuntu_24_04",
        **more,
    }


def converge(metal: FakeMetal, *machines: dict[str, Any], **given: Any) -> dict[str, Any]:
    """The module's result; raises what it would fail with."""
    module, error = attempt(metal, *machines, **given)
    if error is not None:
        raise error
    return module.result


def attempt(metal: FakeMetal, *machines: dict[str, Any], **given: Any) -> tuple[BareModule, CollectionError | None]:
    options = {"machines": list(machines) or None, "ownership_tags": TAGS, "state": "present", **given}
    module = BareModule(DEVICE_SET_OPTIONS, options, metal)
    # A client in all that is used of it.
    devices = DeviceSet(metal, module.params, module.warnings.append, now=given.get("now", Time()))
    try:
        module.converge_set(lambda: devices)
    except CollectionError as error:
        return module, error
    return module, None


def test_given_reservations_are_ordered_before_any_free_ones() -> None:
    metal = FakeMetal()
    reservations = ["next-available", "next-available", GIVEN, "next-available"]
    converge(metal, *[machine(number, hardware_reservation_id=each) for number, each in enumerate(reservations)])
    ordered = [device["hardware_reservation_id"] for device in metal.devices.values()]
    assert ordered == [GIVEN, *["next-available"] * 3]


def test_two_devices_of_one_name_are_an_error_with_both_ids() -> None:
    metal = FakeMetal()
    for _twice in range(2):
        metal.add("worker-0.demo.metal.test", tags=TAGS)
    _module, error = attempt(metal, machine(0))
    assert error is not None
    assert "id-1, id-2" in error.message
    assert not metal.changes


@pytest.mark.parametrize("state", ["present", "absent"])
def test_foreign_devices_are_not_changed(state: str) -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=["openshift-cluster=other.metal.test"])
    module, error = attempt(metal, machine(0), state=state)
    assert (error is not None) is (state == "present")
    assert not metal.changes
    assert not module.result["changed"]
    if error:
        assert "has another owner" in error.message
        assert "Rename or delete that device, or add the tags" in error.message


@pytest.mark.parametrize(
    ("machines", "given", "text"),
    [
        ([machine(0), machine(0)], {}, "worker-0.demo.metal.test is listed 2 times"),
        ([machine(0)], {"ownership_tags": []}, "ownership_tags must have at least one tag"),
        ([machine(0)], {"ownership_tags": [" "]}, "ownership_tags must have at least one tag"),
        ([], {"all_owned": True}, "all_owned needs state=absent"),
        ([], {"machines": None, "state": "absent"}, "machines or hostnames must be set"),
        ([machine(0)], {"ids": ["id-1"], "state": "absent"}, "ids needs state=absent, without machines and hostnames"),
        ([], {"ids": ["id-1"]}, "ids needs state=absent"),
        ([], {"ids": ["id-1"], "all_owned": True, "state": "absent"}, "all_owned needs state=absent, without machines, hostnames and ids"),
        ([], {"machines": None, "hostnames": ["worker-0", ""], "state": "absent"}, "a hostname is empty"),
        ([machine(0) | {"hostname": " "}], {"state": "absent"}, "a hostname is empty"),
        ([machine(0, operating_system="custom_ipxe")], {}, "custom_ipxe needs ipxe_script_url"),
        ([machine(0) | {"hostname": "worker_0"}], {}, "underscore"),
    ],
)
def test_contradicting_set_options_are_refused_before_any_request(machines: list[Any], given: dict[str, Any], text: str) -> None:
    metal = FakeMetal()
    _module, error = attempt(metal, *machines, **given)
    assert error is not None
    assert text in error.message
    assert not metal.calls


def test_no_secret_is_printed() -> None:
    metal = FakeMetal()
    result = converge(metal, machine(0, userdata="#!/bin/sh\nsecret", customdata={"key": "secret"}))
    assert "secret" not in repr(result)
    assert "userdata" in result["diff"]["after"]["worker-0.demo.metal.test"]


def test_devices_are_deleted_by_id_whatever_their_names() -> None:
    metal = FakeMetal()
    for name in ("worker-0", "worker-0", "worker-1"):
        metal.add(f"{name}.demo.metal.test", tags=TAGS)
    result = converge(metal, machines=None, ids=["id-2", "id-9"], state="absent")
    assert sorted(metal.devices) == ["id-1", "id-3"]
    assert {name: outcome["action"] for name, outcome in result["outcomes"].items()} == {"worker-0.demo.metal.test": "deleted"}
    assert not converge(metal, machines=None, ids=["id-2"], state="absent")["changed"]


def test_a_device_of_another_owner_is_not_deleted_by_id() -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=TAGS)
    metal.add("worker-1.demo.metal.test", tags=["x"])
    _module, error = attempt(metal, machines=None, ids=["id-1", "id-2"], state="absent")
    assert error is not None
    assert "Cannot delete device id-2: it does not have the tags" in error.message
    assert sorted(metal.devices) == ["id-1", "id-2"]


def test_a_device_missing_in_the_list_is_read_before_it_counts_as_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    metal = FakeMetal()
    for state in ("active", "queued"):
        metal.add(f"{state}.demo.metal.test", tags=TAGS, state=state)
    monkeypatch.setattr(DeviceSet, "list_owned", lambda devices: [])
    result = converge(metal, machines=None, all_owned=True, state="absent")
    assert {outcome["action"] for outcome in result["outcomes"].values()} == {"deleted"}
    assert not metal.devices


def test_two_of_one_name_are_both_deleted_with_all_owned() -> None:
    metal = FakeMetal()
    for _twice in range(2):
        metal.add("worker-0.demo.metal.test", tags=TAGS)
    result = converge(metal, machines=None, all_owned=True, state="absent")
    assert not metal.devices
    assert sorted(result["outcomes"]) == ["worker-0.demo.metal.test (id-1)", "worker-0.demo.metal.test (id-2)"]


def test_a_locked_device_is_reported_and_the_others_are_deleted() -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=TAGS, locked=True)
    metal.add("worker-1.demo.metal.test", tags=TAGS)
    _module, error = attempt(metal, machine(0), machine(1), state="absent")
    assert error is not None
    assert "it is locked" in error.message
    assert hostnames(metal.devices.values()) == ["worker-0.demo.metal.test"]


def test_a_timeout_is_reported_for_each_device() -> None:
    metal = FakeMetal()
    module, error = attempt(metal, machine(0), wait_timeout=0)
    assert error is not None
    assert "worker-0.demo.metal.test is queued" in error.message
    assert "wait_timeout" in error.message
    assert module.result["outcomes"]["worker-0.demo.metal.test"]["action"] == "created"


def test_a_long_wait_never_orders_again_what_was_taken_back() -> None:
    metal = FakeMetal()
    metal.vanishes.add("worker-0.demo.metal.test")
    metal.refused["worker-1.demo.metal.test"] = "Plan is odd"
    module, error = attempt(metal, machine(0), machine(1), machine(2))
    assert error is not None
    assert "Equinix Metal deletes devices whose provisioning fails" in error.message
    assert "Plan is odd" in error.message
    assert len([call for call in metal.changes if call.startswith("POST projects")]) == 3
    assert module.result["outcomes"]["worker-2.demo.metal.test"]["error"] is None


# --- a number of machines, and where they go ------------------------------------------------------------------------------------

POOL = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
ANYWHERE = [{"metro": "da"}, {"metro": "am"}, {"metro": "sg", "plan": "m3.large.x86"}]


def pool(count: int, **more: Any) -> dict[str, Any]:
    """Return the options of a set of machines that are alike."""
    return {**POOL, "hostnames": [f"worker-{number}" for number in range(count)], **more}


def places(metal: FakeMetal) -> Counter[str]:
    return Counter(device["metro"]["code"] for device in metal.devices.values())


def orders(metal: FakeMetal) -> list[str]:
    return [call.rpartition(" ")[2] for call in metal.changes if call.startswith("POST projects")]


def test_what_a_machine_leaves_open_is_as_for_all() -> None:
    metal = FakeMetal()
    converge(metal, {"hostname": "a"}, {"hostname": "b", "metro": "am"}, plan="c3.small.x86", metro="da", operating_system="ubuntu_24_04")
    assert {device["hostname"]: device["metro"]["code"] for device in metal.devices.values()} == {"a": "da", "b": "am"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({**pool(2), "quorum": 3}, "quorum must be 1 to the number of machines, 2"),
        ({**pool(2), "replace_failed": -1}, "replace_failed must be 0 or more"),
        ({**pool(2), "replace_at_once": 0}, "replace_at_once must be 1 or more"),
        ({**pool(2), "on_drift": "replace", "wait": False}, "on_drift=replace needs wait=true"),
        ({**pool(2), "placement": [{"metro": None, "plan": None}]}, "each entry of placement needs"),
        ({**pool(2), "placement": [{"metro": "any"}], "spread": True}, "spread does not support the metro any"),
        ({"hostnames": ["a"], "machines": [{"hostname": "b"}]}, "machines and hostnames are mutually exclusive"),
    ],
)
def test_an_invalid_placement_is_refused_before_any_request(given: dict[str, Any], text: str) -> None:
    metal = FakeMetal()
    _module, error = attempt(metal, **given)
    assert error is not None
    assert text in error.message
    assert not metal.calls


def test_a_placement_of_one_entry_is_the_place() -> None:
    metal = FakeMetal()
    result = converge(metal, **pool(2), placement=[{"metro": "AM", "plan": "m3.large.x86"}])
    assert places(metal) == {"am": 2}
    assert {outcome["plan"] for outcome in result["outcomes"].values()} == {"m3.large.x86"}
    assert not converge(metal, **pool(2), placement=[{"metro": "AM", "plan": "m3.large.x86"}])["changed"]


def test_devices_without_capacity_anywhere_are_reported_one_by_one() -> None:
    metal = FakeMetal()
    metal.stock = {("da", "c3.small.x86"): 5, ("am", "c3.small.x86"): 1, ("sg", "m3.large.x86"): 0}
    metal.taken_after_question = 2
    module, error = attempt(metal, **pool(5), placement=ANYWHERE)
    assert error is not None
    assert "2 of 5 devices" in error.message
    assert "There is no capacity for c3.small.x86 in am, m3.large.x86 in sg either" in error.message
    assert places(metal) == {"da": 3}
    assert len(module.result["missing_machines"]) == 2


def test_pools_of_one_set_have_their_own_placement() -> None:
    metal = FakeMetal()
    metal.stock = {("da", "c3.small.x86"): 3}
    machines = [machine(0), machine(1), *(machine(number, placement=[{"metro": "da"}, {"metro": "am"}]) for number in (2, 3))]
    converge(metal, *machines)
    assert places(metal) == {"da": 2, "am": 2}


# --- failed ones ----------------------------------------------------------------------------------------------------------------


def test_replacements_are_limited_for_the_whole_set() -> None:
    metal = FakeMetal()
    metal.fails |= {"worker-0", "worker-1"}
    module, error = attempt(metal, **pool(3), replace_failed=3)
    assert error is not None
    assert "2 of 3 devices" in error.message
    assert len(orders(metal)) == 3 + 3
    assert len(module.result["notes"]) == 3
    assert module.displayed == module.result["notes"], "each while the module runs, once"
    assert module.result["failed_machines"] == ["worker-0", "worker-1"]
    assert len(metal.devices) == 3  # the last failed ones stay for analysis


def test_a_machine_that_has_joined_is_not_replaced_for_its_events() -> None:
    """Any program on a node can report one: a node was deleted without a drain, and of a control plane every member."""
    metal = FakeMetal()
    metal.stopped |= {metal.add(f"worker-{number}", tags=TAGS, state="active")["hostname"] for number in range(2)}
    result = converge(metal, **pool(2), replace_failed=2, joined=["id-1"])
    assert [outcome["action"] for outcome in result["outcomes"].values()] == ["none", "replaced"]
    assert metal.changes == ["DELETE devices/id-2", "POST projects/project-1/devices worker-1"]


def test_more_stopped_machines_than_may_be_replaced_are_reported() -> None:
    metal = FakeMetal()
    metal.stopped |= {metal.add(f"worker-{number}", tags=TAGS, state="active")["hostname"] for number in range(2)}
    module, error = attempt(metal, **pool(2), replace_failed=1)
    assert error is not None
    assert "worker-1 stopped in its installation or first boot" in error.message
    assert module.result["failed_machines"] == ["worker-1"]


def test_a_locked_failed_device_is_not_replaced() -> None:
    metal = FakeMetal()
    metal.add("worker-0", tags=TAGS, state="failed", locked=True)
    module, error = attempt(metal, **pool(1), replace_failed=1)
    assert error is not None
    assert "Cannot replace it: Cannot delete device worker-0 (id-1): it is locked" in error.message
    assert not metal.changes
    assert module.result["outcomes"]["worker-0"]["replacements"] == []


# --- enough ---------------------------------------------------------------------------------------------------------------------


def test_remaining_devices_are_waited_for_after_the_quorum() -> None:
    metal = FakeMetal()
    metal.add("worker-0", tags=TAGS)
    metal.add("worker-1", tags=TAGS, state="reinstalling")
    time = Time()
    module, error = attempt(metal, **pool(2), quorum=1, quorum_wait=0, now=time)
    assert error is None
    assert module.result["missing_machines"] == ["worker-1"]
    assert "not waited for any longer, since 1 of 2 devices are ready" in module.warnings[0]


def test_a_quorum_tolerates_devices_without_capacity() -> None:
    metal = FakeMetal()
    metal.stock = {("da", "c3.small.x86"): 4}
    module, error = attempt(metal, **pool(5), quorum=4)
    assert error is None
    assert places(metal) == {"da": 4}
    assert module.result["missing_machines"] == ["worker-4"]
    _module, error = attempt(FakeMetal(), **pool(5), quorum=4)
    assert error is None


def test_a_set_orders_nothing_without_capacity_for_the_quorum() -> None:
    metal = FakeMetal()
    metal.stock = {("da", "c3.small.x86"): 3}
    _module, error = attempt(metal, **pool(5), quorum=4)
    assert error is not None
    assert "Nothing was ordered" in error.message
    assert not metal.changes


# --- machines that exist -------------------------------------------------------------------------------------------------------


def grown(count: int = 5, **more: Any) -> FakeMetal:
    metal = FakeMetal(**more)
    for number in range(count):
        metal.add(f"worker-{number}", tags=TAGS)
    metal.add("master-0", tags=TAGS)
    metal.add("worker-9", tags=["openshift-cluster=other.metal.test"])
    return metal


def test_a_drifted_device_counts_as_existing() -> None:
    metal = grown(2)
    module, error = attempt(metal, {"hostname": "worker-0", "plan": "other"}, {"hostname": "worker-1"}, quorum=1)
    assert error is None
    assert module.result["outcomes"]["worker-0"]["status"] == "differs"
    assert module.result["failed_machines"] == module.result["missing_machines"] == []
    assert "plan is 'c3.small.x86', desired is 'other'" in module.warnings[0]


# --- drift ----------------------------------------------------------------------------------------------------------------------


def test_a_failed_replacement_stops_further_replacements() -> None:
    metal = grown(3)
    metal.fails.add("worker-0")
    module, error = attempt(metal, **pool(3, operating_system="debian_12"), on_drift="replace")
    assert error is not None
    assert "worker-1 is not replaced, since the replacement of worker-0 failed" in error.message
    assert len([call for call in metal.changes if call.startswith("DELETE")]) == 1
    assert [outcome["changed"] for outcome in module.result["outcomes"].values()] == [True, False, False]


def test_no_device_is_deleted_without_capacity_for_replacements() -> None:
    metal = grown(3)
    metal.stock = {("am", "c3.small.x86"): 2}
    _module, error = attempt(metal, **pool(3, metro="am"), on_drift="replace")
    assert error is not None
    assert "metro am has no capacity for 3 servers" in error.message
    assert not metal.changes


# --- two runs at the same moment ----------------------------------------------------------------------------------------------


class Rivals(FakeMetal):
    """For each device ordered, another run orders one of the same name, ``offset`` seconds before or after it."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self._offset = offset

    def _effect(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        own = super()._effect(path, body)
        if path.endswith("/devices"):
            own["created_at"], created = "2026-01-01T00:00:30Z", f"2026-01-01T00:00:{30 + self._offset:02}Z"
            self.add(own["hostname"], state="queued", tags=TAGS, created_at=created, userdata="", description="rival")
        return own


def test_of_two_that_are_ordered_at_the_same_moment_the_younger_goes() -> None:
    metal = Rivals(-5)
    result = converge(metal, machine(0), machine(1))
    staying = {device["id"]: device["description"] for device in metal.devices.values() if device["state"] == "active"}
    assert sorted(staying.values()) == ["rival", "rival"]
    assert sorted(staying) == sorted(device["id"] for device in result["devices"])
    assert result["changed"]
    assert all(len(outcome["duplicates"]) == 1 for outcome in result["outcomes"].values())
    assert len(result["notes"]) == 2
