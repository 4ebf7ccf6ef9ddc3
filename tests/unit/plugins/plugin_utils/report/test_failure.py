"""The report of a failed run, from results as Ansible and the collection's modules return them."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.commands import Caller
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.failure import (
    HIDDEN,
    describe,
    kept_result,
    reason_lines,
    still_billed,
    what_failed,
    what_next,
)

TASK = {"name": "Create devices", "action": "equinix_metal.openshift.metal_device_set"}
SECRET = "pl4nted"
REFUSED = "Cannot create device {name}: the API returned 422: There aren't available servers (POST /devices, request {request})"


def report(result: Any, *task: Any) -> dict[str, Any]:
    return describe(task[0] if task else TASK, result, "Install of demo.metal.test failed", "demo.metal.test")


def printed(result: Any, *task: Any) -> str:
    return "\n".join(what_failed(report(result, *task)))


def a_set(*failed: str, ready: int = 0) -> dict[str, Any]:
    outcomes: dict[str, Any] = {f"ready-{number}.demo.metal.test": {"status": "ready", "error": None} for number in range(ready)}
    outcomes |= {
        name: {"status": "missing", "error": REFUSED.format(name=name, request=f"4f0e{number}")} for number, name in enumerate(failed)
    }
    return {"failed": True, "msg": f"{len(failed)} of {len(outcomes)} devices are not in the desired state", "outcomes": outcomes}


def test_of_a_set_only_the_devices_that_failed_are_named() -> None:
    lines = printed(a_set("worker-2.demo.metal.test", ready=270))
    assert "worker-2.demo.metal.test" in lines
    assert "There aren't available servers" in lines
    assert "ready-" not in lines
    assert len(lines.splitlines()) == 3


def test_devices_that_failed_for_the_same_reason_are_one_group() -> None:
    names = [f"worker-{number}.demo.metal.test" for number in range(40)]
    lines = what_failed(report(a_set(*names)))
    assert len(lines) == 3
    assert "worker-0.demo.metal.test, worker-1.demo.metal.test" in lines[1]
    assert "and 32 more" in lines[1]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"item": {"hostname": "worker-1", "labels": {}}}, "worker-1"),
        ({"item": {"id": "4711", "x": 1}, "_ansible_item_label": "worker-1 becomes worker-2"}, "worker-1 becomes worker-2"),
        ({"port": 8443, "ansible_loop_var": "port"}, "8443"),
        ({}, "an item whose name is unknown"),
    ],
)
def test_each_failed_item_of_a_loop_is_named(item: dict[str, Any], name: str) -> None:
    result = {"msg": "One or more items failed", "results": [{"failed": False, "item": "fine"}, {"failed": True, "msg": "no", **item}]}
    assert report(result)["items"] == [{"name": name, "reason": "no"}]


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        ({"msg": "No space left on device"}, ["No space left on device"]),
        ({"reason": "the role 'x' was not found"}, ["the role 'x' was not found"]),
        ({"msg": "non-zero return code", "rc": 1, "stderr": "a\n\nb\n", "stdout": "c"}, ["non-zero return code", "a", "b"]),
        (
            {"msg": "MODULE FAILURE\nSee stdout/stderr", "module_stderr": "", "module_stdout": "boom"},
            ["MODULE FAILURE", "See stdout/stderr", "boom"],
        ),
        ({"msg": "a real reason", "stderr": "noise"}, ["a real reason"]),
        ({}, ["the task has returned no reason"]),
        ({"msg": "\n".join(map(str, range(40)))}, [*map(str, range(12)), "and 28 more lines"]),
    ],
)
def test_the_reason_is_what_the_module_or_the_program_has_put(result: dict[str, Any], lines: list[str]) -> None:
    assert reason_lines(result) == lines


@pytest.mark.parametrize(
    "result",
    [
        {"_ansible_no_log": True, "msg": SECRET, "stderr": SECRET, "invocation": {"module_args": {"name": SECRET}}},
        {"censored": "hidden", "msg": SECRET},
        {"msg": "One or more items failed", "results": [{"failed": True, "_ansible_no_log": True, "item": SECRET, "msg": SECRET}]},
        {"_ansible_no_log": True, "outcomes": {SECRET: {"error": SECRET}}},
    ],
    ids=["a task", "a task that is censored", "an item", "a set"],
)
def test_nothing_of_a_hidden_task_is_printed_or_kept(result: dict[str, Any]) -> None:
    made = report(result)
    assert SECRET not in str(made)
    assert HIDDEN in "\n".join(what_failed(made))
    assert SECRET not in str(kept_result(result))


@pytest.mark.parametrize("task", [None, "text", {}, TASK])
@pytest.mark.parametrize("result", [None, "text", [], {}, {"results": "text"}, {"results": [None, 3]}, {"outcomes": []}, {"invocation": 3}])
def test_whatever_is_missing_or_malformed_there_is_a_report(task: Any, result: Any) -> None:
    assert printed(result, task).startswith("  Task:")


def test_the_object_is_taken_from_the_options_of_the_module() -> None:
    result = {"msg": "x", "invocation": {"module_args": {"kind": "Node", "name": "worker-0", "state": "absent"}}}
    assert report(result)["object"] == "Node worker-0"
    signed = {"msg": "x", "invocation": {"module_args": {"url": "https://user:word@s3.example.com/boot?X-Amz-Signature=word"}}}
    assert report(signed)["object"] == "https://s3.example.com/boot"


def test_what_it_prints_cannot_pretend_to_be_something_else() -> None:
    lines = printed({"msg": "one\x1b[2J\x1b[H", "results": [{"failed": True, "item": "x\nok: [localhost]", "msg": "\u202egnp"}]})
    assert "\x1b" not in lines
    assert "\u202e" not in lines
    assert "\nok:" not in lines


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("the API returned 422: There aren't available servers in that metro", "metal_placement"),
        ("worker-1 stopped in its installation or first boot: [files] no such host", "openshift_replace_failed"),
        ("its request csr-x waits for approval (since 10:11:02Z)", "approve.yml"),
        ("Cannot list devices: no connection to http://127.0.0.1:9: Connection refused", "metal_api_url"),
        ("the service does not accept the token (metal_api_token), it answered 401", "metal_api_token"),
        ("IP reservation a b waits for approval by Equinix Metal", "Ask Equinix Metal to approve the IP reservation"),
    ],
)
def test_for_what_is_known_there_is_advice(message: str, advice: str) -> None:
    assert advice in "\n".join(what_next(report({"msg": message}), Caller({})))


def test_without_advice_there_are_the_commands() -> None:
    assert what_next(report({"msg": "a new kind of failure"}), Caller({})) == [
        "  Continue: ansible-playbook install.yml  (continues with what exists)",
        "  Release:  ansible-playbook destroy.yml  (deletes all of the cluster and ends the billing)",
    ]


def device(number: int, **more: Any) -> dict[str, Any]:
    return {
        "hostname": f"worker-{number}.demo.metal.test",
        "plan": "c3.small.x86",
        "metro": "da",
        "state": "active",
        "created_at": "2026-11-21T07:10:00Z",
        "price_per_hour": 0.5,
        "hardware_reservation_id": None,
        **more,
    }


def cluster(devices: list[Any], **more: Any) -> dict[str, Any]:
    return {"clusters": [{"name": "demo.metal.test", "devices": devices, "ip_reservations": [], "price_per_hour": 1.5, **more}]}


def test_what_is_still_billed_is_listed_with_price_and_since_when() -> None:
    lines = still_billed(cluster([device(0), device(10, state="queued")]), "demo.metal.test")
    assert lines == [
        "  Billed:   2 devices, 1.50 USD per hour for the devices",
        "            worker-0.demo.metal.test   c3.small.x86 in da  active  0.50 USD/h  since 2026-11-21T07:10:00Z",
        "            worker-10.demo.metal.test  c3.small.x86 in da  queued  0.50 USD/h  since 2026-11-21T07:10:00Z",
    ]


@pytest.mark.parametrize("belongings", [{"failed": True, "msg": "503 Service Unavailable"}, {"msg": "503 Service Unavailable"}])
def test_an_api_that_is_down_is_said_and_how_to_look(belongings: dict[str, Any]) -> None:
    lines = "\n".join(still_billed(belongings, "demo.metal.test"))
    assert "unknown" in lines
    assert "503 Service Unavailable" in lines
    assert "openshift-cluster=demo.metal.test" in lines
    assert "orphans.yml" in lines


@pytest.mark.parametrize("belongings", [None, "text", [], {}, {"clusters": 3}, {"clusters": [None]}, cluster([None, 3, {}])])
def test_malformed_belongings_are_no_error(belongings: Any) -> None:
    assert still_billed(belongings, "demo.metal.test")[0].startswith("  Billed:")


@pytest.mark.parametrize(
    "name", ["scale.yml", "replace.yml", "playbooks/approve.yml", "playbooks/start.yml", "equinix_metal.openshift.stop"]
)
@pytest.mark.parametrize("job", [False, True])
def test_the_deletion_of_an_installed_cluster_is_not_offered(name: str, job: bool) -> None:
    lines = what_next(report({"msg": "x"}), Caller({"args": (name,)}, job=job))
    assert [line.split()[0] for line in lines] == ["Continue:"]


def test_a_job_of_awx_has_no_command_line() -> None:
    lines = what_next(report({"msg": "x"}), Caller({"args": ("install.yml",)}, job=True))
    assert all("job template" in line for line in lines)
    assert not any("ansible-playbook" in line for line in lines)
