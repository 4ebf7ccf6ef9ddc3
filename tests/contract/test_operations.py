"""Reboot, rescue, reinstall: requested exactly once, also by a run that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import MODULES, ROOT, call, run
from tests.contract.scenario import TAGS, WAIT, machine

MINE = {"hostname": "worker-1.contract.metal.test", "ownership_tags": TAGS, **WAIT}
WORD = {"operation_id": "window-7"}
OPERATIONS = ["reboot", "rescue", "reinstall"]
WRITES = ["intent", "request", "note"]
"""What a run writes, in this order."""
FATES = [
    pytest.param({"cut": "after"}, id="after"),
    pytest.param({"cut": "before"}, id="before"),
    pytest.param({"status": 502, "body": "<html>"}, id="502", marks=pytest.mark.long),
]
MOMENTS = [
    *(pytest.param(("reinstall", write), id=f"reinstall-{write}") for write in WRITES),
    pytest.param(("reboot", "request"), id="reboot-request"),
    pytest.param(("rescue", "request"), id="rescue-request", marks=pytest.mark.long),
]


@pytest.fixture
def device(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    made = run("metal_device", {**machine(1), "tags": ["kept"], "ownership_tags": TAGS, **WAIT}, sandbox_environment)
    assert not made.get("failed"), made
    sandbox.forget()
    yield made["device"]
    sandbox.call("DELETE", "faults")
    gone = run("metal_device", {"id": made["device"]["id"], "state": "absent", **WAIT}, sandbox_environment)
    assert not gone.get("failed"), gone


def writes(sandbox: RunningSandbox) -> list[str]:
    return [f"{each['method']} {each['path'].rpartition('/')[2][:7]}" for each in sandbox.journal() if each["method"] != "GET"]


def asked(sandbox: RunningSandbox, device: Mapping[str, Any], operation: str) -> int:
    """Return how often the service started the operation, by the events of the device."""
    events: list[dict[str, Any]] = call(sandbox, "GET", f"devices/{device['id']}/events")["events"]
    if operation == "reinstall":
        return len([event for event in events if event["type"] == "provisioning.101"]) - 1
    return len([event for event in events if event["body"] == "Reboot operation queued"])


def tags(sandbox: RunningSandbox, device: Mapping[str, Any]) -> list[str]:
    return list(call(sandbox, "GET", f"devices/{device['id']}")["tags"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_is_requested_once_and_waited_for(
    operation: str, device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    order = {**MINE, "operation": operation, **WORD}
    predicted = run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True}, sandbox_environment)
    assert predicted["changed"]
    assert writes(sandbox) == []
    done = run("metal_device", {**order, "_ansible_diff": True}, sandbox_environment)
    assert not done.get("failed"), done
    assert done["diff"] == predicted["diff"]
    assert done["diff"]["after"]["operation"] == f"{operation} window-7"
    assert done["device"]["state"] == "active"
    newest = call(sandbox, "GET", f"devices/{device['id']}/events")["events"][0]
    # The service records an event for each end: the module did not return before it.
    assert newest["type"] == ("provisioning.110" if operation == "reinstall" else "power.203")
    assert writes(sandbox) == ["PUT " + device["id"][:7], "POST actions", "PUT " + device["id"][:7]]
    assert sorted(tags(sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])

    sandbox.forget()
    # The user's tags leave the ownership tag unchanged, and so does the module's result.
    for given in ({}, {"tags": ["kept"]}, {"tags": done["device"]["tags"]}, {"_ansible_check_mode": True}):
        again = run("metal_device", {**order, **given}, sandbox_environment)
        assert not again.get("failed"), again
        assert not again["changed"]
    assert writes(sandbox) == []
    assert run("metal_device", {**MINE, "tags": ["other"]}, sandbox_environment)["changed"]
    assert not run("metal_device", order, sandbox_environment)["changed"]
    assert asked(sandbox, device, operation) == 1
    assert run("metal_device", {**order, "operation_id": "window-8"}, sandbox_environment)["changed"]
    assert not run("metal_device", order, sandbox_environment)["changed"]
    assert asked(sandbox, device, operation) == 2


@pytest.mark.parametrize("fault", FATES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_operation_with_a_lost_answer_runs_exactly_once(
    moment: tuple[str, str], fault: dict[str, Any], device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    operation, number = moment[0], WRITES.index(moment[1])
    order = {**MINE, "operation": operation, **WORD}
    sandbox.call("POST", "faults", json={"method": "PUT|POST", "path": "/devices/", "times": 1, "skip": number, **fault})
    done = run("metal_device", order, sandbox_environment)
    assert not done.get("failed"), done
    assert asked(sandbox, device, operation) == 1
    assert not run("metal_device", order, sandbox_environment)["changed"]
    assert asked(sandbox, device, operation) == 1
    assert sorted(tags(sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])


def test_an_operation_whose_answer_is_pending_is_left_to_the_next_run(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    order = {**MINE, "operation": "reinstall", **WORD, "metal_api_timeout": 1}
    # Arrives after the caller has ended, and after the six seconds in which it polls for it.
    sandbox.call("POST", "faults", json={"method": "POST", "path": "/actions$", "times": 1, "delay": 9})
    unsure = run("metal_device", order, sandbox_environment)
    assert unsure["failed"]
    assert "may still carry it out" in unsure["msg"]
    assert "Run again" in unsure["msg"]
    assert "ansible-operation-requested=reinstall:window-7:" in str(tags(sandbox, device))
    wait_until(lambda: asked(sandbox, device, "reinstall") == 1)
    again = run("metal_device", order, sandbox_environment)
    assert not again.get("failed"), again
    assert again["changed"]
    assert asked(sandbox, device, "reinstall") == 1
    assert not run("metal_device", order, sandbox_environment)["changed"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_operation_of_a_killed_run_runs_exactly_once(
    moment: tuple[str, str], when: str, device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    """``kill -9`` in each of the three writes, before the service has it and after it has done it."""
    operation, number = moment[0], WRITES.index(moment[1])
    order = {**MINE, "operation": operation, **WORD, "description": "mended"}
    fault = {"method": "PUT|POST", "path": "/devices/", "times": 1, "skip": number}
    # A write that is killed before its effect never has one: here no answer comes.
    fault |= {"delay": 2, "cut": "before"} if when == "before" else {"cut": "after"}
    sandbox.call("POST", "faults", json=fault)
    process = subprocess.Popen(
        [sys.executable, "-m", f"{MODULES}.metal_device"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**sandbox_environment, "PYTHONPATH": str(ROOT / "collections")},
        cwd=ROOT,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": order}))
    process.stdin.close()
    # The fault counts what it meets as it begins; the journal has what is over.
    wait_until(lambda: sandbox.call("GET", "faults")["faults"][0]["hits"] > number)
    if when == "after":
        wait_until(lambda: any(each["fault"] for each in sandbox.journal()))
    process.kill()
    process.wait()
    sandbox.call("DELETE", "faults")

    done = run("metal_device", order, sandbox_environment)
    assert not done.get("failed"), done
    assert asked(sandbox, device, operation) == 1
    assert done["device"]["state"] == "active"
    assert done["device"]["description"] == "mended"
    assert not run("metal_device", order, sandbox_environment)["changed"]
    assert asked(sandbox, device, operation) == 1
    assert sorted(tags(sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])


def wait_until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_reinstall_changes_attributes_before_it_installs(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    """One task: attributes first, so that what is installed anew finds them; the role is a tag as well."""
    sandbox.call("POST", "faults", json={"method": "POST", "path": "/actions$", "times": 1, "delay": 0.01})
    order = {
        "id": device["id"],
        "hostname": "worker-2.contract.metal.test",
        "ownership_tags": TAGS[:1],
        "tags": ["openshift-role=control-plane"],
        "userdata": "#cloud-config\n# another\n",
        "ipxe_script_url": "http://boot.metal.test/worker.ipxe",
        "operating_system": "debian_12",
        "operation": "reinstall",
        "operation_id": "becomes-worker-2",
        "preserve_data": True,
        "deprovision_fast": True,
        **WAIT,
    }
    predicted = run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True}, sandbox_environment)
    done = run("metal_device", {**order, "_ansible_diff": True}, sandbox_environment)
    try:
        assert not done.get("failed"), done
        assert done["diff"] == predicted["diff"]
        assert done["diff"]["before"]["operating_system"] == "ubuntu_24_04"
        assert done["device"]["operating_system"] == "debian_12"
        assert done["device"]["addresses"] == device["addresses"]
        assert writes(sandbox)[1] == "POST actions"
        real = call(sandbox, "GET", f"devices/{device['id']}")
        assert (real["hostname"], real["userdata"]) == (order["hostname"], order["userdata"])
        assert sorted(real["tags"]) == sorted([TAGS[0], "openshift-role=control-plane", "ansible-operation=reinstall:becomes-worker-2"])
        assert not run("metal_device", order, sandbox_environment)["changed"]
        # Done is done: what differs from now on is drift again.
        drift = run("metal_device", {**order, "operating_system": "ubuntu_24_04"}, sandbox_environment)
        assert "operation_id that was not used before" in drift["msg"]
    finally:
        run("metal_device", {"id": device["id"], "state": "absent", **WAIT}, sandbox_environment)


def test_a_new_device_needs_no_operation(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    order = {**machine(1), "ownership_tags": TAGS, "operation": "reinstall", **WORD, **WAIT}
    rescued = run("metal_device", {**order, "operation": "rescue"}, sandbox_environment)
    assert "operation=rescue needs an existing device" in rescued["msg"]
    made = run("metal_device", order, sandbox_environment)
    assert not made.get("failed"), made
    assert writes(sandbox) == ["POST devices"]
    assert not run("metal_device", order, sandbox_environment)["changed"]
    run("metal_device", {"id": made["device"]["id"], "state": "absent", **WAIT}, sandbox_environment)


def test_contradicting_operation_options_are_an_error(
    device: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    for given, text in (
        ({"operation": "reboot"}, "operation_id"),
        ({"operation": "reboot", "operation_id": "two words"}, "no blanks"),
        ({"operation": "reboot", **WORD, "preserve_data": True}, "only be given with operation=reinstall"),
        ({"operation": "reboot", **WORD, "power_state": "off"}, "mutually exclusive"),
        ({"preserve_data": True}, "operation"),
    ):
        assert text in run("metal_device", {**MINE, **given}, sandbox_environment)["msg"]
    assert writes(sandbox) == []
    run("metal_device", {**MINE, "power_state": "off"}, sandbox_environment)
    for check in (True, False):
        off = run("metal_device", {**MINE, "operation": "reboot", **WORD, "_ansible_check_mode": check}, sandbox_environment)
        assert "it is powered off" in off["msg"]
