"""Failed orders: no order is repeated, and each failure is one clear error without a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract.environment import Metal, call, laid, run
from tests.contract.scenario import TAGS, WAIT, Scenario, machine
from tests.contract.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]
CONNECTION = ("METAL_API_URL", "METAL_AUTH_TOKEN", "METAL_PROJECT_ID")


def world(sandbox: RunningSandbox, scenario: Scenario) -> list[dict[str, Any]]:
    listing = scenario.listing.format(project=sandbox.environment["METAL_PROJECT_ID"])
    return scenario.entries(call(sandbox, "GET", listing))


def by_module(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.module == name)


@pytest.mark.parametrize("cut", ["after", "body"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_an_order_with_a_lost_answer_is_not_repeated(scenario: Scenario, cut: str, metal: Metal) -> None:
    with laid(scenario, metal.sandbox, metal.environment) as ready:
        # The state of a scenario that cannot delete its resource is compared with the one before it.
        before = ready.view(world(metal.sandbox, ready))
        metal.sandbox.call("POST", "faults", json={"method": "POST", "path": f"/{ready.order_path}$", "cut": cut, "times": 1})
        result = metal.run(ready.module, ready.create)
        assert not result.get("failed"), result
        assert result["changed"]
        orders = [each for each in metal.sandbox.journal() if each["method"] == "POST" and each["path"].endswith(ready.order_path)]
        assert len(orders) == len(ready.create.get("machines", [None] * ready.orders))
        assert ready.view(world(metal.sandbox, ready)) != before  # fails when there are two of anything
        assert not metal.run(ready.module, ready.create)["changed"]
        if ready.absent is not None:
            metal.run(ready.module, ready.absent)
            assert ready.view(world(metal.sandbox, ready)) == {} == before


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
    "bare": ({"machines": [{"hostname": "worker-1.contract.metal.test"}]}, {}, ["plan and operating_system and metro"]),
    "no-time": (
        {"metal_api_timeout": "nan", "wait_timeout": -1},
        {},
        ["metal_api_timeout must be", "wait_timeout must be"],
    ),
    "unknown-metro": ({"machines": [machine(1, metro="xx")]}, {}, ["xx"]),
}


@pytest.mark.parametrize(("options", "environment", "texts"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_invalid_options_are_one_error_and_order_nothing(
    options: dict[str, Any],
    environment: dict[str, str],
    texts: list[str],
    metal: Metal,
) -> None:
    result = run("metal_device_set", {**ORDER, **options}, {**metal.environment, **environment})
    assert result["failed"]
    for text in texts:
        assert text in result["msg"]
    assert "\n" not in result["msg"]
    assert not result["changed"]
    assert "wrong-token" not in json.dumps(result)
    assert not [
        each for each in metal.sandbox.journal() if each["method"] == "POST" and each["path"].endswith("/devices") and each["status"] < 400
    ]
