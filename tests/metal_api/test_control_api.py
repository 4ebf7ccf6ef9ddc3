"""The control API as its users find it: its index, its examples, its tables in docs/sandbox.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest

from metal_api.capacity import Capacity
from sandbox.control import INDEX, Call
from sandbox.metal.control import CALLS
from sandbox.metal.faults import FIELDS as FAULT_FIELDS
from sandbox.metal.settings import DEFAULTS, HELP
from sandbox.openshift import registry
from sandbox.openshift.passing_time import CALL as DAYS
from sandbox.openshift.upgrade import CALL as UPGRADE
from tests.metal_api.conftest import Sandbox, sandbox_in

DOCUMENT = Path(__file__).parents[2] / "docs" / "sandbox.md"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _head in heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def test_the_page_has_every_call_field_and_setting() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    def takes(call: Call) -> str:
        return "see below" if call.checks_body else ", ".join(f"`{name}`" for name in (*call.query, *call.body))

    calls: list[tuple[str, ...]] = [
        (f"`{each.method} {each.path.lstrip('/') or '/'}`", each.help, takes(each))
        for each in (INDEX, *CALLS, DAYS, UPGRADE, registry.REMOVE, registry.RESTORE)
    ]
    faults: list[tuple[str, ...]] = [(f"`{name}`", each.expected, each.help) for name, each in FAULT_FIELDS.items()]
    groups: list[tuple[str, ...]] = [(f"`{name}`", each) for name, each in HELP.items()]
    for heads, rows in (
        (("call", "what it does", "query or body"), calls),
        (("field of a fault", "what it takes", "what it does"), faults),
        (("group of settings", "what it sets"), groups),
    ):
        desired = table(heads, rows)
        assert desired in text, f"docs/sandbox.md should have:\n{desired}"


async def index(sandbox: Sandbox, path: str = "/") -> list[dict[str, Any]]:
    answer = await sandbox.control.get(path)
    assert answer.status_code == 200, answer.text
    calls: list[dict[str, Any]] = answer.json()["calls"]
    return calls


async def test_every_example_of_the_page_works(tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8").replace("\\\n", "")
    examples = re.findall(r"^    (curl .*_sandbox/.*)$", text, re.MULTILINE)
    assert len(examples) >= 9
    async with sandbox_in(tmp_path / "state", calls=registry.calls(registry.Removed(tmp_path / "removed.json"))) as sandbox:
        for example in examples:
            answer = await run(example.replace("$SANDBOX_URL", sandbox.url))
            assert answer.is_success, (example, answer.text)


async def run(command: str) -> httpx.Response:
    """Do what a command line with curl does."""
    given = shlex.split(command)
    assert given[:2] == ["curl", "-s"]
    (url,) = (word for word in given if word.startswith("http"))

    def option(name: str, default: str) -> str:
        return given[given.index(name) + 1] if name in given else default

    headers = dict([option("-H", "Accept: */*").split(": ")])
    async with httpx.AsyncClient() as client:
        return await client.request(option("-X", "GET"), url, headers=headers, content=option("-d", ""))


WITH_BODY = [pytest.param(each, id=f"{each.method} {each.path}") for each in CALLS if each.body]


@pytest.mark.parametrize("call", WITH_BODY)
async def test_a_field_that_is_not_known_is_refused(sandbox: Sandbox, call: Call) -> None:
    before = sandbox.world.settings
    answer = await sandbox.control.request(call.method, call.path.replace("{id}", "x"), json={**(call.example or {}), "tgas": ["a"]})
    assert answer.status_code == 422
    (text,) = answer.json()["errors"]
    assert text.startswith("tgas is not a ")
    assert ", ".join(call.body) in text
    assert sandbox.world.settings == before
    assert not len(sandbox.world.store["devices"])


async def test_a_value_that_does_not_fit_is_named_with_what_would(sandbox: Sandbox) -> None:
    async def texts(method: str, path: str, body: dict[str, Any]) -> list[str]:
        answer = await sandbox.control.request(method, path, json=body)
        assert answer.status_code == 422
        found: list[str] = answer.json()["errors"]
        return found

    assert await texts("POST", "/devices", {"tags": 5, "count": 1.5, "plan": "c9"}) == [
        "tags must be a list of texts, not 5",
        "count must be a whole number between 0 and 16_384, not 1.5",
    ]
    assert await texts("POST", "/devices", {"plan": "c9"}) == ["c9 is not a valid plan"]
    assert await texts("POST", "/faults", {"cut": "soon"}) == ['cut must be one of before, after, body, not "soon"']
    assert len(await texts("POST", "/faults", {"path": "(", "what": 1})) == 3
    assert len(await texts("PUT", "/settings", {"quotas": {"vlans": 1}, "latency": {"read": -1}, "other": {}})) == 3
    assert len(await texts("PUT", "/settings", {"speed": 0})) == 1
    assert (await sandbox.control.get("/nothing")).status_code == 404
    assert await texts("PATCH", "/settings", {"latency": {"read": -1}}) == ["latency.read cannot be -1, its default is 0"]
    assert await texts("PATCH", "/settings", {"capacity": {"metros": {"xx": {"c3.small.x86": 1}, "da": {"c9": 1}}}}) == [
        "capacity.metros: xx is not a metro",
        "capacity.metros.da: c9 is not a plan",
    ]
    assert (
        (await sandbox.control.get("/journal", params={"newst": 1})).json()["errors"][0].startswith("newst is not a field here (service, ")
    )


async def test_settings_go_back_to_their_defaults_and_the_speed_stays(sandbox: Sandbox) -> None:
    await sandbox.control.patch(
        "/settings", json={"speed": 30, "quotas": {"devices": 5}, "capacity": {"metros": {"da": {"c3.small.x86": 0}}}}
    )
    assert sandbox.world.clock.speed == 30
    back = await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": None}}})
    assert (back.json()["capacity"]["metros"], back.json()["quotas"]["devices"]) == ({}, 5)
    answer = await sandbox.control.delete("/settings")
    assert answer.json() == {"speed": 30, **DEFAULTS}
    assert sandbox.world.service(Capacity).available_servers("da", "c3.small.x86") > 0
    assert sandbox.world.store.read_value("settings") == DEFAULTS


async def test_settings_of_another_version_do_not_keep_it_from_starting(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with sandbox_in(tmp_path / "state", strict=False) as sandbox:
        sandbox.world.store.write_value("settings", {"latency": {"read": 1e308}, "gone": {"a": 1}})
    async with sandbox_in(tmp_path / "state", strict=False) as again:
        assert again.world.settings == DEFAULTS
    assert "the settings of the last start are not used" in caplog.text
