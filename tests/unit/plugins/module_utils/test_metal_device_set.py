"""A pool as one resource: each machine as far as it gets, whatever becomes of the others."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils import _resource
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device_set import DEVICE_SET_OPTIONS, DeviceSet
from ansible_collections.equinix_metal.openshift.plugins.module_utils._wait import StillWaiting

from .fake_metal import BareModule, FakeMetal, hostnames

TAGS = ["openshift-cluster=demo.metal.test"]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_resource, "LOOKS_AFTER_LOST_CREATE", (0.0, 0.0))


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
    options = {"machines": list(machines), "ownership_tags": TAGS, "state": "present", **given}
    module = BareModule(DEVICE_SET_OPTIONS, options, metal)
    try:
        module.converge_set(DeviceSet(metal, module.params))  # type: ignore[arg-type]  # a client in all that is used
    except CollectionError as error:
        return module, error
    return module, None


def test_all_are_created_side_by_side_and_followed_by_one_list_a_look() -> None:
    metal = FakeMetal()
    result = converge(metal, *[machine(number) for number in range(20)])
    assert result["changed"]
    assert hostnames(result["devices"]) == [f"worker-{number}.demo.metal.test" for number in range(20)]
    assert {outcome["action"] for outcome in result["outcomes"].values()} == {"created"}
    assert len(metal.writes) == 20
    assert len(metal.calls) - 20 <= 5  # two looks, the question for capacity, the first list
    assert all(device["tags"] == TAGS for device in metal.devices.values())


def test_a_second_run_is_one_list() -> None:
    metal = FakeMetal()
    converge(metal, machine(0), machine(1))
    metal.calls.clear()
    result = converge(metal, machine(0), machine(1))
    assert not result["changed"]
    assert metal.calls == ["GET projects/project-1/devices"]


def test_one_bad_machine_does_not_hide_the_others() -> None:
    metal = FakeMetal()
    metal.fails.add("worker-1.demo.metal.test")
    metal.vanishes.add("worker-2.demo.metal.test")
    metal.refused["worker-3.demo.metal.test"] = "Plan is odd"
    module, error = attempt(metal, *[machine(number) for number in range(5)])
    assert error is not None
    assert "3 of 5 machines" in error.message
    assert "Disk not found" in error.message
    assert "takes a device back" in error.message
    assert "Plan is odd" in error.message
    assert sorted(error.details["machines"]) == [f"worker-{number}.demo.metal.test" for number in (1, 2, 3)]
    outcomes = module.result["outcomes"]
    assert [outcome["action"] for outcome in outcomes.values()] == ["created", "created", "created", "none", "created"]
    assert [outcome["error"] is None for outcome in outcomes.values()] == [True, False, False, False, True]
    assert {device["state"] for device in metal.devices.values() if device["hostname"].startswith(("worker-0", "worker-4"))} == {"active"}


def test_nothing_is_ordered_when_not_all_can_be_had() -> None:
    metal = FakeMetal()
    metal.available = False
    _module, error = attempt(metal, machine(0), machine(1), machine(2, metro="AM"))
    assert error is not None
    assert "metro da has not 2 servers of plan c3.small.x86" in error.message
    assert "metro am has not 1 servers" in error.message
    assert not metal.writes


def test_two_devices_of_one_name_are_told_with_both_ids() -> None:
    metal = FakeMetal()
    for _twice in range(2):
        metal.add("worker-0.demo.metal.test", tags=TAGS)
    _module, error = attempt(metal, machine(0))
    assert error is not None
    assert "id-1, id-2" in error.message
    assert not metal.writes


@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_is_not_ours_is_left_alone(state: str) -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=["openshift-cluster=other.metal.test"])
    module, error = attempt(metal, machine(0), state=state)
    assert (error is not None) is (state == "present")
    assert not metal.writes
    assert not module.result["changed"]
    if error:
        assert "is not ours" in error.message
        assert "Rename it, delete it, or give it these tags" in error.message


def test_what_cannot_change_is_refused_with_the_way_out() -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=TAGS)
    _module, error = attempt(metal, machine(0, plan="c3.medium.x86", metro="am"))
    assert error is not None
    for text in ("metro is 'da', wanted is 'am'", "plan is 'c3.small.x86', wanted is 'c3.medium.x86'", "leave the option out"):
        assert text in error.message
    assert not metal.writes


@pytest.mark.parametrize(
    ("machines", "given", "text"),
    [
        ([machine(0), machine(0)], {}, "worker-0.demo.metal.test is given 2 times"),
        ([machine(0)], {"ownership_tags": []}, "ownership_tags must name at least one tag"),
        ([machine(0)], {"ownership_tags": [" "]}, "ownership_tags must name at least one tag"),
        ([], {"machines": None, "all_owned": True}, "all_owned is for state=absent"),
        ([], {"machines": None, "state": "absent"}, "machines must be given"),
        ([machine(0, operating_system="custom_ipxe")], {}, "custom_ipxe needs ipxe_script_url"),
        ([machine(0) | {"hostname": "worker_0"}], {}, "underscore"),
    ],
)
def test_what_cannot_be_meant_is_told_before_anything_is_looked_at(machines: list[Any], given: dict[str, Any], text: str) -> None:
    metal = FakeMetal()
    _module, error = attempt(metal, *machines, **given)
    assert error is not None
    assert text in error.message
    assert not metal.calls


@pytest.mark.parametrize("fate", ["before", "after"])
@pytest.mark.parametrize("hidden", [0, 1])
def test_a_create_whose_answer_was_lost_never_makes_a_second_machine(fate: str, hidden: int) -> None:
    metal = FakeMetal()
    metal.lost = [fate]
    metal.hidden = hidden if fate == "before" else 0
    result = converge(metal, machine(0))
    assert len(metal.devices) == 1
    assert result["outcomes"]["worker-0.demo.metal.test"]["action"] == "created"
    assert len(metal.writes) == (2 if fate == "before" else 1)


def test_a_create_that_is_lost_each_time_is_told() -> None:
    metal = FakeMetal()
    metal.lost = ["before"] * 9
    _module, error = attempt(metal, machine(0))
    assert error is not None
    assert "lost" in error.message
    assert len(metal.writes) == 3


def test_check_mode_predicts_and_writes_nothing() -> None:
    metal = FakeMetal(read_only=True)
    metal.add("worker-1.demo.metal.test", tags=TAGS)
    metal.add("worker-2.demo.metal.test", tags=TAGS)
    result = converge(metal, machine(0), machine(1, tags=["a"]), machine(2))
    assert [outcome["action"] for outcome in result["outcomes"].values()] == ["created", "updated", "none"]
    assert list(result["diff"]["after"]) == ["worker-0.demo.metal.test", "worker-1.demo.metal.test"]
    assert result["diff"]["before"] == {"worker-1.demo.metal.test": {**result["diff"]["after"]["worker-1.demo.metal.test"], "tags": TAGS}}
    assert result["devices"][0]["id"] is None
    assert result["devices"][0]["hostname"] == "worker-0.demo.metal.test"


def test_no_secret_is_told() -> None:
    metal = FakeMetal()
    result = converge(metal, machine(0, userdata="#!/bin/sh\nsecret", customdata={"key": "secret"}))
    assert "secret" not in repr(result)
    assert "userdata" in result["diff"]["after"]["worker-0.demo.metal.test"]


def test_power_is_switched_when_the_machine_is_ready_for_it() -> None:
    metal = FakeMetal()
    result = converge(metal, machine(0, power_state="off"), machine(1))
    assert [device["state"] for device in result["devices"]] == ["inactive", "active"]
    assert metal.writes[-1] == "POST devices/id-1/actions power_off" or metal.writes[-1] == "POST devices/id-2/actions power_off"


def test_all_owned_are_deleted_and_waited_for_also_those_still_provisioning() -> None:
    metal = FakeMetal()
    for state in ("active", "provisioning", "queued", "failed"):
        metal.add(f"{state}.demo.metal.test", tags=[*TAGS, "x"], state=state)
    metal.add("other.demo.metal.test", tags=["x"])
    result = converge(metal, machines=None, all_owned=True, state="absent")
    assert hostnames(metal.devices.values()) == ["other.demo.metal.test"]
    assert {outcome["action"] for outcome in result["outcomes"].values()} == {"deleted"}
    again = converge(metal, machines=None, all_owned=True, state="absent")
    assert not again["changed"]


def test_two_of_one_name_are_both_deleted_with_all_owned() -> None:
    metal = FakeMetal()
    for _twice in range(2):
        metal.add("worker-0.demo.metal.test", tags=TAGS)
    result = converge(metal, machines=None, all_owned=True, state="absent")
    assert not metal.devices
    assert sorted(result["outcomes"]) == ["worker-0.demo.metal.test (id-1)", "worker-0.demo.metal.test (id-2)"]


def test_a_locked_machine_is_told_and_the_others_are_deleted() -> None:
    metal = FakeMetal()
    metal.add("worker-0.demo.metal.test", tags=TAGS, locked=True)
    metal.add("worker-1.demo.metal.test", tags=TAGS)
    _module, error = attempt(metal, machine(0), machine(1), state="absent")
    assert error is not None
    assert "it is locked" in error.message
    assert hostnames(metal.devices.values()) == ["worker-0.demo.metal.test"]


def test_time_that_runs_out_is_told_machine_by_machine() -> None:
    metal = FakeMetal()
    module, error = attempt(metal, machine(0), wait_timeout=0)
    assert error is not None
    assert "worker-0.demo.metal.test is queued" in error.message
    assert "wait_timeout" in error.message
    assert module.result["outcomes"]["worker-0.demo.metal.test"]["action"] == "created"


def resume_to_the_end(metal: FakeMetal, *machines: dict[str, Any], **given: Any) -> tuple[BareModule, CollectionError | None, int]:
    """What the action plugin does: call again with what the call before gave back."""
    resume: dict[str, Any] | None = None
    for calls in range(1, 30):
        module, error = attempt(metal, *machines, resume=resume, progress_interval=1, **given)
        if not isinstance(error, StillWaiting):
            return module, error, calls
        assert error.waiting
        resume = module.result["resume"]
    raise AssertionError("no end")


def test_a_wait_in_slices_has_the_result_of_one_call() -> None:
    metal = FakeMetal()
    module, error, calls = resume_to_the_end(metal, machine(0), machine(1, power_state="off"))
    assert error is None
    assert calls > 1
    assert module.result["changed"]
    assert [outcome["action"] for outcome in module.result["outcomes"].values()] == ["created", "created"]
    assert [device["state"] for device in module.result["devices"]] == ["active", "inactive"]
    assert module.result["diff"]["before"] == {}
    metal.add("worker-3.demo.metal.test", tags=TAGS, state="queued")
    gone, error, calls = resume_to_the_end(metal, machines=None, all_owned=True, state="absent")
    assert error is None
    assert calls > 1
    assert gone.result["changed"]
    assert not metal.devices


def test_a_wait_in_slices_never_orders_again_what_was_taken_back() -> None:
    metal = FakeMetal()
    metal.vanishes.add("worker-0.demo.metal.test")
    metal.refused["worker-1.demo.metal.test"] = "Plan is odd"
    module, error, _calls = resume_to_the_end(metal, machine(0), machine(1), machine(2))
    assert error is not None
    assert "takes a device back" in error.message
    assert "Plan is odd" in error.message
    assert len([call for call in metal.writes if call.startswith("POST projects")]) == 3
    assert module.result["outcomes"]["worker-2.demo.metal.test"]["error"] is None
