"""Garbage for the control API and for what machines talk to: whatever is sent, nothing of the sandbox fails."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from metal_api.app import create_boot_app, create_metadata_app, create_metal_app
from metal_api.core.bodies import LARGEST_UNKNOWN
from sandbox.control import PATH, Call
from sandbox.metal.control import CALLS, control_app
from tests.metal_api.conftest import Sandbox
from tests.metal_api.test_garbage import GARBAGE, spoilt

GOOD = frozenset({200, 201, 204, 404, 405, 413, 422})
RAW = [b"{", b"nothing", b"[]", b"null", b"true", b'"text"', b"1", b"\xff\xfe", b"\x00", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": NaN}']
NUMBERS = ["1e400", "-1e400", "NaN", "Infinity", "1e308", "-1", "0", "0.5", "1" * 400, "18446744073709551616", "true", '"1"']
QUERIES = [
    "",
    "x",
    "\0",
    "-1",
    "nan",
    "1e400",
    "9" * 400,
    "(",
    "a{99999999999}",
    "(" * 5000,
    "\N{ARABIC-INDIC DIGIT ONE}",
    "1.5",
    "[1]",
    "null",
]
FAULT_BODIES: list[Any] = [None, "", "text", {"a": [1]}, [], 1, True, {"errors": None}]
GOOD_HEADERS: list[dict[str, Any]] = [{}, {"Retry-After": 5}, {"content-type": "text/html"}, {"X-Any": "one, two"}]
BAD_HEADERS: list[dict[str, Any]] = [
    {"a b": "1"},
    {"a": "1\r\nb: 2"},
    {"a": "\N{SNOWMAN}"},
    {"Content-Length": "7"},
    {"a": None},
    {"a": [1]},
    {"": "1"},
]
_SAMPLES: dict[str, Any] = {
    "text": "a",
    "pattern": "a",
    "time": "2030-01-01T00:00:00Z",
    "number": 1,
    "whole number": 1,
    "flag": True,
    "texts": ["a"],
    "object": {"a": 1},
    "JSON value": [1],
}


@pytest.fixture
async def client(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> AsyncIterator[httpx.AsyncClient]:
    """Straight into the application, in which an exception is the test's; afterwards everything can still be read."""
    app = create_metal_app(sandbox.world, {PATH: control_app(sandbox.world)})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sandbox") as made:
        with caplog.at_level(logging.ERROR):
            yield made
        for call in CALLS:
            if call.method == "GET":
                assert (await made.get(f"{PATH}{call.path}")).status_code == 200, call
        sandbox.world.faults.remove()
        made.headers["X-Auth-Token"] = sandbox.world.token
        for path in ("/projects", f"{sandbox.project}/devices", f"{sandbox.project}/hardware-reservations", "/capacity/metros", "/users"):
            assert (await made.get(path)).status_code == 200, path
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


def look(answer: httpx.Response, what: Any) -> None:
    assert answer.status_code in GOOD, (str(what)[:300], answer.status_code, answer.text[:300])
    if answer.status_code >= 400:
        texts = answer.json()["errors"]
        assert texts, what
        assert all(isinstance(each, str) and each for each in texts), what


def bodies(call: Call) -> Iterator[bytes]:
    whole = {name: each.choices[0] if each.choices else _SAMPLES[each.kind] for name, each in call.body.items()}
    for start in (dict(call.example or {}), whole):
        for each in spoilt(start):
            # Making thousands of things is not the point.
            if each.get("count") not in (10**400, 1e308):
                yield json.dumps(each).encode()
    for name in call.body:
        for number in NUMBERS:
            yield f"{{{json.dumps(name)}: {number}}}".encode()
    for piece in GARBAGE:
        yield json.dumps({"unheard-of": piece}).encode()
    yield from RAW


@pytest.mark.parametrize("call", [each for each in CALLS if each.body], ids=lambda call: f"{call.method} {call.path}")
async def test_every_part_of_every_body_spoilt(client: httpx.AsyncClient, call: Call) -> None:
    path = f"{PATH}{call.path.replace('{id}', 'none')}"
    for body in bodies(call):
        look(await client.request(call.method, path, content=body), body)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path}")
async def test_every_query_spoilt(client: httpx.AsyncClient, call: Call) -> None:
    path = f"{PATH}{call.path.replace('{id}', 'none')}"
    for name in (*call.query, "unheard-of"):
        for value in QUERIES:
            look(await client.request(call.method, path, params={name: value}), (name, value))


@pytest.mark.parametrize("id_", ["none", "%00", "%F0%9F%90%9F", "x" * 5000, "0", "%FF", "'", "%20", "a%2Fb"])
async def test_ids_and_paths_that_are_none(client: httpx.AsyncClient, id_: str) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "BREW"):
        for path in (f"/approvals/{id_}", f"/faults/{id_}", f"/{id_}", f"/settings/{id_}"):
            look(await client.request(method, f"{PATH}{path}"), (method, path))


async def test_a_fault_of_any_kind_is_answered(sandbox: Sandbox, client: httpx.AsyncClient) -> None:
    """What could be made a fault can be met: any status, any header, any body."""
    client.headers["X-Auth-Token"] = sandbox.world.token
    for status in (200, 204, 304, 299, 404, 429, 500, 599):
        for body in FAULT_BODIES:
            for headers in GOOD_HEADERS:
                fault = {"status": status, "body": body, "headers": headers, "times": 1}
                assert (await client.post(f"{PATH}/faults", json=fault)).status_code == 201, fault
                assert (await client.get("/user")).status_code == status
    for headers in BAD_HEADERS:
        answer = await client.post(f"{PATH}/faults", json={"status": 500, "headers": headers})
        assert answer.status_code == 422, headers
        assert "cannot be sent" in answer.text


async def test_machines_may_say_anything(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """The boot service and the metadata service, asked from a machine's address: no answer but those of the real ones."""
    device = await sandbox.active(hostname="one", userdata="#!/bin/sh")
    address = (device["ip_addresses"][0]["address"], 40_000)
    chance = random.Random(6)  # noqa: S311 - the same each time
    events = [{"state": "failed", "code": 1000, "message": "a"}, {"type": "provisioning.109", "body": "a"}]
    bodies = (
        [json.dumps(each).encode() for event in events for each in spoilt(event)] + RAW + [chance.randbytes(200) for _number in range(50)]
    )
    kinds = ["application/json", "application/x-www-form-urlencoded", "text/plain", "", "\xff", "multipart/form-data; boundary="]
    with caplog.at_level(logging.ERROR):
        boot = httpx.ASGITransport(create_boot_app(sandbox.world), client=address)
        async with httpx.AsyncClient(transport=boot, base_url="http://boot") as machine:
            for path in ("/phone-home", "/events"):
                for body in bodies:
                    for kind in kinds:
                        answer = await machine.post(path, content=body, headers=[(b"Content-Type", kind.encode("latin-1"))])
                        expected = {413} if len(body) > LARGEST_UNKNOWN else {200, 400}
                        assert answer.status_code in expected, (path, body[:80], kind, answer.text)
        asked = httpx.ASGITransport(create_metadata_app(sandbox.world), client=address)
        async with httpx.AsyncClient(transport=asked, base_url="http://metadata") as machine:
            for item in ("%00", "..", "x" * 5000, "%FF", "hostname/x", "operating-system/slug/x", "//", "%2e%2e/%2e%2e"):
                for path in (f"/2009-04-04/meta-data/{item}", f"/{item}", f"/metadata/{item}"):
                    answer = await machine.get(path)
                    assert answer.status_code in {200, 307, 404}, (path, answer.text)
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert (await sandbox.device(device["id"]))["hostname"] == "one"
    assert (await sandbox.api.get(f"/devices/{device['id']}/events")).status_code == 200
