"""Failed orders: no order is repeated, and each failure is one clear error without a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import call, laid, run
from tests.contract.scenario import TAGS, WAIT, Scenario, machine
from tests.contract.scenarios import SCENARIOS, devices_of_contract

ROOT = Path(__file__).resolve().parents[2]
CONNECTION = ("METAL_API_URL", "METAL_AUTH_TOKEN", "METAL_PROJECT_ID")

DELETE_ALL = {"ownership_tags": TAGS, "all_owned": True, "state": "absent", **WAIT}


def world(sandbox: RunningSandbox, scenario: Scenario) -> list[dict[str, Any]]:
    listing = scenario.listing.format(project=sandbox.environment["METAL_PROJECT_ID"])
    return scenario.entries(call(sandbox, "GET", listing))


def by_module(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.module == name)


@pytest.mark.parametrize("cut", ["after", "body"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_an_order_with_a_lost_answer_is_not_repeated(
    scenario: Scenario, cut: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    with laid(scenario, sandbox, sandbox_environment) as ready:
        # The state of a scenario that cannot delete its resource is compared with the one before it.
        before = ready.view(world(sandbox, ready))
        sandbox.call("POST", "faults", json={"method": "POST", "path": f"/{ready.order_path}$", "cut": cut, "times": 1})
        result = run(ready.module, ready.create, sandbox_environment)
        assert not result.get("failed"), result
        assert result["changed"]
        orders = [each for each in sandbox.journal() if each["method"] == "POST" and each["path"].endswith(ready.order_path)]
        assert len(orders) == len(ready.create.get("machines", [None] * ready.orders))
        assert ready.view(world(sandbox, ready)) != before  # fails when there are two of anything
        assert not run(ready.module, ready.create, sandbox_environment)["changed"]
        if ready.absent is not None:
            run(ready.module, ready.absent, sandbox_environment)
            assert ready.view(world(sandbox, ready)) == {} == before


@pytest.mark.parametrize("fault", [{"cut": "before"}, {"status": 502, "body": "<html>", "headers": {"Content-Type": "text/html"}}])
def test_an_order_that_did_not_arrive_is_retried(
    fault: dict[str, Any], sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    sandbox.call("POST", "faults", json={"method": "POST", "path": "/devices$", "times": 1, **fault})
    result = run("metal_device_set", {"ownership_tags": TAGS, "machines": [machine(1), machine(2)], **WAIT}, sandbox_environment)
    assert not result.get("failed"), result
    assert len(devices_of_contract(world(sandbox, by_module("metal_device_set")))) == 2
    run("metal_device_set", DELETE_ALL, sandbox_environment)


def test_one_failed_device_does_not_hide_the_others(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    sandbox.call("POST", "faults", json={"hostname": "worker-2"})
    machines = [machine(1), machine(2), machine(3)]
    result = run("metal_device_set", {"ownership_tags": TAGS, "machines": machines, **WAIT}, sandbox_environment)
    assert result["failed"]
    assert result["msg"].startswith(
        "1 of 3 devices are not in the desired state: worker-2.contract.metal.test: Device worker-2.contract.metal.test"
    )
    devices = run("metal_device_info", {"tags": TAGS}, sandbox_environment)["devices"]
    assert [device["state"] for device in devices if "worker-2" not in device["hostname"]] == ["active", "active"]
    run("metal_device_set", DELETE_ALL, sandbox_environment)


ORDER = {"ownership_tags": TAGS, "machines": [machine(1), machine(2)], **WAIT, "metal_api_retries": 1}


UNKNOWN = "00000000-0000-0000-0000-000000000000"
BAD_INPUT: dict[str, tuple[dict[str, Any], dict[str, str], list[str]]] = {
    "nothing": ({}, dict.fromkeys(CONNECTION, ""), ["3 problems", *CONNECTION]),
    "wrong-token": ({}, {"METAL_AUTH_TOKEN": "wrong-token"}, ["does not accept the token", "metal_api_token", "401"]),
    "no-token": ({}, {"METAL_AUTH_TOKEN": "two\nlines"}, ["metal_api_token must be a token"]),
    "unknown-project": ({"project_id": UNKNOWN}, {}, ["list the project's devices", UNKNOWN, "404", "Check project_id"]),
    "no-api": ({"metal_api_url": "http://127.0.0.1:1/metal/v1"}, {}, ["no connection to http://127.0.0.1:1", "metal_api_url"]),
    "no-address": ({"metal_api_url": "127.0.0.1"}, {}, ["metal_api_url must be an address"]),
    "unknown-plan": ({"machines": [machine(1, plan="c9.huge.x86")]}, {}, ["c9.huge.x86"]),
    "unknown-metro": ({"machines": [machine(1, metro="xx")]}, {}, ["xx"]),
    "twice": ({"machines": [machine(1), machine(1)]}, {}, ["worker-1.contract.metal.test is listed 2 times"]),
    "bare": ({"machines": [{"hostname": "worker-1.contract.metal.test"}]}, {}, ["plan and operating_system and metro"]),
    "no-tags": ({"ownership_tags": []}, {}, ["ownership_tags must have at least one tag"]),
}


@pytest.mark.parametrize(("options", "environment", "texts"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_invalid_options_are_one_error_and_order_nothing(
    options: dict[str, Any],
    environment: dict[str, str],
    texts: list[str],
    sandbox: RunningSandbox,
    sandbox_environment: dict[str, str],
) -> None:
    result = run("metal_device_set", {**ORDER, **options}, {**sandbox_environment, **environment})
    assert result["failed"]
    for text in texts:
        assert text in result["msg"]
    assert "\n" not in result["msg"]
    assert not result["changed"]
    assert "wrong-token" not in json.dumps(result)
    assert not [
        each for each in sandbox.journal() if each["method"] == "POST" and each["path"].endswith("/devices") and each["status"] < 400
    ]


def test_a_metro_without_capacity_fails_before_any_order(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 1}}}})
    try:
        result = run("metal_device_set", ORDER, sandbox_environment)
    finally:
        sandbox.call("PUT", "settings", json={"capacity": {"metros": {"da": None}}})
    assert "Nothing was ordered" in result["msg"]
    assert "metro da has no capacity for 2 servers of plan c3.small.x86" in result["msg"]
    assert not devices_of_contract(world(sandbox, by_module("metal_device_set")))
