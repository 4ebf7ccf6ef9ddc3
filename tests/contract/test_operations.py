"""Reboot, rescue, reinstall: requested exactly once, also by a run that is killed."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import MODULES, ROOT, Metal, call
from tests.contract.scenario import TAGS, WAIT, machine
from tests.eventually import until

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
def device(metal: Metal) -> Iterator[dict[str, Any]]:
    made = metal.run("metal_device", {**machine(1), "tags": ["kept"], "ownership_tags": TAGS, **WAIT})
    assert not made.get("failed"), made
    metal.sandbox.forget()
    yield made["device"]
    metal.sandbox.call("DELETE", "faults")
    gone = metal.run("metal_device", {"id": made["device"]["id"], "state": "absent", **WAIT})
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
def test_an_operation_is_requested_once_and_waited_for(operation: str, device: dict[str, Any], metal: Metal) -> None:
    order = {**MINE, "operation": operation, **WORD}
    predicted = metal.run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True})
    assert predicted["changed"]
    assert writes(metal.sandbox) == []
    done = metal.run("metal_device", {**order, "_ansible_diff": True})
    assert not done.get("failed"), done
    assert done["diff"] == predicted["diff"]
    assert done["diff"]["after"]["operation"] == f"{operation} window-7"
    assert done["device"]["state"] == "active"
    newest = metal.call("GET", f"devices/{device['id']}/events")["events"][0]
    # The service records an event for each end: the module did not return before it.
    assert newest["type"] == ("provisioning.110" if operation == "reinstall" else "power.203")
    assert writes(metal.sandbox) == ["PUT " + device["id"][:7], "POST actions", "PUT " + device["id"][:7]]
    assert sorted(tags(metal.sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])

    metal.sandbox.forget()
    # The user's tags leave the ownership tag unchanged, and so does the module's result.
    for given in ({}, {"tags": ["kept"]}, {"tags": done["device"]["tags"]}, {"_ansible_check_mode": True}):
        again = metal.run("metal_device", {**order, **given})
        assert not again.get("failed"), again
        assert not again["changed"]
    assert writes(metal.sandbox) == []
    assert metal.run("metal_device", {**MINE, "tags": ["other"]})["changed"]
    assert not metal.run("metal_device", order)["changed"]
    assert asked(metal.sandbox, device, operation) == 1
    assert metal.run("metal_device", {**order, "operation_id": "window-8"})["changed"]
    assert not metal.run("metal_device", order)["changed"]
    assert asked(metal.sandbox, device, operation) == 2


@pytest.mark.parametrize("fault", FATES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_operation_with_a_lost_answer_runs_exactly_once(
    moment: tuple[str, str], fault: dict[str, Any], device: dict[str, Any], metal: Metal
) -> None:
    operation, number = moment[0], WRITES.index(moment[1])
    order = {**MINE, "operation": operation, **WORD}
    metal.sandbox.call("POST", "faults", json={"method": "PUT|POST", "path": "/devices/", "times": 1, "skip": number, **fault})
    # The next test has the six seconds in which it polls for the effect of a lost request.
    done = metal.run("metal_device", order, without_pauses=True)
    assert not done.get("failed"), done
    assert asked(metal.sandbox, device, operation) == 1
    assert not metal.run("metal_device", order)["changed"]
    assert asked(metal.sandbox, device, operation) == 1
    assert sorted(tags(metal.sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])


def test_an_operation_whose_answer_is_pending_is_left_to_the_next_run(device: dict[str, Any], metal: Metal) -> None:
    order = {**MINE, "operation": "reinstall", **WORD, "metal_api_timeout": 1}
    # Arrives after the caller has ended, and after the six seconds in which it polls for it.
    metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/actions$", "times": 1, "delay": 9})
    unsure = metal.run("metal_device", order)
    assert unsure["failed"]
    assert "may still carry it out" in unsure["msg"]
    assert "Run again" in unsure["msg"]
    assert "ansible-operation-requested=reinstall:window-7:" in str(tags(metal.sandbox, device))
    until(lambda: asked(metal.sandbox, device, "reinstall") == 1)
    again = metal.run("metal_device", order)
    assert not again.get("failed"), again
    assert again["changed"]
    assert asked(metal.sandbox, device, "reinstall") == 1
    assert not metal.run("metal_device", order)["changed"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_operation_of_a_killed_run_runs_exactly_once(moment: tuple[str, str], when: str, device: dict[str, Any], metal: Metal) -> None:
    """``kill -9`` in each of the three writes, before the service has it and after it has done it."""
    operation, number = moment[0], WRITES.index(moment[1])
    order = {**MINE, "operation": operation, **WORD, "description": "mended"}
    fault = {"method": "PUT|POST", "path": "/devices/", "times": 1, "skip": number}
    # A write that is killed before its effect never has one: here no answer comes.
    fault |= {"delay": 2, "cut": "before"} if when == "before" else {"cut": "after"}
    metal.sandbox.call("POST", "faults", json=fault)
    process = subprocess.Popen(
        [sys.executable, "-m", f"{MODULES}.metal_device"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**metal.environment, "PYTHONPATH": str(ROOT / "collections")},
        cwd=ROOT,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": order}))
    process.stdin.close()
    # The fault counts what it meets as it begins; the journal has what is over.
    until(lambda: metal.sandbox.call("GET", "faults")["faults"][0]["hits"] > number)
    if when == "after":
        until(lambda: any(each["fault"] for each in metal.sandbox.journal()))
    process.kill()
    process.wait()
    metal.sandbox.call("DELETE", "faults")

    done = metal.run("metal_device", order)
    assert not done.get("failed"), done
    assert asked(metal.sandbox, device, operation) == 1
    assert done["device"]["state"] == "active"
    assert done["device"]["description"] == "mended"
    assert not metal.run("metal_device", order)["changed"]
    assert asked(metal.sandbox, device, operation) == 1
    assert sorted(tags(metal.sandbox, device)) == sorted([*TAGS, "kept", f"ansible-operation={operation}:window-7"])


def test_reinstall_changes_attributes_before_it_installs(device: dict[str, Any], metal: Metal) -> None:
    """One task: attributes first, so that what is installed anew finds them; the role is a tag as well."""
    metal.sandbox.call("POST", "faults", json={"method": "POST", "path": "/actions$", "times": 1, "delay": 0.01})
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
    predicted = metal.run("metal_device", {**order, "_ansible_check_mode": True, "_ansible_diff": True})
    done = metal.run("metal_device", {**order, "_ansible_diff": True})
    try:
        assert not done.get("failed"), done
        assert done["diff"] == predicted["diff"]
        assert done["diff"]["before"]["operating_system"] == "ubuntu_24_04"
        assert done["device"]["operating_system"] == "debian_12"
        assert done["device"]["addresses"] == device["addresses"]
        assert writes(metal.sandbox)[1] == "POST actions"
        real = metal.call("GET", f"devices/{device['id']}")
        assert (real["hostname"], real["userdata"]) == (order["hostname"], order["userdata"])
        assert sorted(real["tags"]) == sorted([TAGS[0], "openshift-role=control-plane", "ansible-operation=reinstall:becomes-worker-2"])
        assert not metal.run("metal_device", order)["changed"]
        # Done is done: what differs from now on is drift again.
        drift = metal.run("metal_device", {**order, "operating_system": "ubuntu_24_04"})
        assert "operation_id that was not used before" in drift["msg"]
    finally:
        metal.run("metal_device", {"id": device["id"], "state": "absent", **WAIT})


def test_a_new_device_needs_no_operation(metal: Metal) -> None:
    order = {**machine(1), "ownership_tags": TAGS, "operation": "reinstall", **WORD, **WAIT}
    rescued = metal.run("metal_device", {**order, "operation": "rescue"})
    assert "operation=rescue needs an existing device" in rescued["msg"]
    made = metal.run("metal_device", order)
    assert not made.get("failed"), made
    assert writes(metal.sandbox) == ["POST devices"]
    assert not metal.run("metal_device", order)["changed"]
    metal.run("metal_device", {"id": made["device"]["id"], "state": "absent", **WAIT})
