"""What goes wrong with names, and that hundreds cost no more messages than they have to."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from sandbox.running import RunningSandbox
from tests.laws.ground import run
from tests.laws.zone import LAWS, names, reach, records, updates


def test_five_hundred_names_are_three_updates(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    server = reach(sandbox.environment)
    many = records(**{f"worker-{number}": [f"192.0.2.{number % 250}", f"198.51.100.{number % 250}"] for number in range(500)})
    before = len(updates(sandbox.log))
    made = run("dns_records", {**server, **many}, sandbox_environment)
    assert made["changed"], made
    assert len(made["records"]) == len(names(sandbox.environment)) == 500
    assert len(updates(sandbox.log)) - before == 3
    assert not run("dns_records", {**server, **many}, sandbox_environment)["changed"]
    gone = records(**{f"worker-{number}": [] for number in range(500)})
    assert run("dns_records", {**server, **gone}, sandbox_environment)["changed"]
    assert names(sandbox.environment) == {}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"key_secret": base64.b64encode(b"another key of thirty-two bytes!").decode()}, "its key, with this secret"),
        ({"key_secret": "abcde"}, "key_secret has to be base64"),
        ({"key_algorithm": "hmac-md5"}, "this algorithm"),
        ({"zone": "other.test"}, "NOTAUTH"),
        ({"port": 1}, "Could not ask for the names at .* port 1: .*refused"),
        ({"records": [{"name": f"a.{LAWS}", "values": ["not an address"]}]}, "cannot have A not an address"),
        ({"records": [{"name": "a.elsewhere.example", "values": ["192.0.2.1"]}]}, "REFUSED"),
        ({"records": [{"name": f"{'a' * 64}.{LAWS}", "values": ["192.0.2.1"]}]}, "label"),
    ],
)
def test_what_is_refused_is_told(wrong: dict[str, Any], told: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    options = {**reach(sandbox.environment), **records(refused=["192.0.2.9"]), **wrong}
    result = run("dns_records", options, sandbox_environment)
    assert result["failed"]
    assert re.search(told, result["msg"]), result["msg"]
    assert names(sandbox.environment) == {}
