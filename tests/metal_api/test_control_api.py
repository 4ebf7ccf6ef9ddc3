"""The control API as its users find it: its tables in docs/sandbox.md, and what it says to values that do not fit."""

from pathlib import Path
from typing import Any

import pytest

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


async def test_settings_of_another_version_do_not_keep_it_from_starting(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with sandbox_in(tmp_path / "state", strict=False) as sandbox:
        sandbox.world.store.write_value("settings", {"latency": {"read": 1e308}, "gone": {"a": 1}})
    async with sandbox_in(tmp_path / "state", strict=False) as again:
        assert again.world.settings == DEFAULTS
    assert "the settings of the last start are not used" in caplog.text
