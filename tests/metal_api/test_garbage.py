"""Garbage on every route: whatever is sent, the answer is one the API could give, and afterwards everything can still be read."""

from __future__ import annotations

import copy
import json
import logging
import random
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from metal_api.app import create_boot_app, create_metadata_app, create_metal_app
from metal_api.core.bodies import LARGEST_UNKNOWN
from sandbox.metal.resources import ROUTES
from tests.metal_api.conftest import Sandbox
from tests.metal_api.contract import check
from tests.metal_api.objects import ORDER, REQUEST, everything, filled

# What is in an order within another order is read as in an order itself.
_BRIEF = {name: ORDER[name] for name in ("plan", "operating_system", "hostname", "tags", "customdata", "no_ssh_keys")}
_KEY = {"label": "a", "key": "ssh-ed25519 AAAA", "tags": ["a"]}
_CAPACITY = {"servers": [{"metro": "da", "facility": "da11", "plan": "c3.small.x86", "quantity": 1}]}
_PROJECT: dict[str, Any] = {
    "name": "a",
    "customdata": {},
    "tags": ["a"],
    "organization_id": None,
    "payment_method_id": None,
    "backend_transfer_enabled": False,
}
_ORGANIZATION = {"name": "a", "description": "a", "website": "a", "twitter": "a", "customdata": {}}

# What each write takes, all of it; each part is then spoilt in every way.
BODIES: dict[str, Any] = {
    "POST /organizations": _ORGANIZATION,
    "PUT /organizations/{id}": _ORGANIZATION,
    "POST /organizations/{id}/projects": _PROJECT,
    "POST /projects": _PROJECT,
    "PUT /projects/{id}": _PROJECT,
    "PUT /user": {"first_name": "a", "last_name": "a", "phone_number": "1", "timezone": "UTC", "customdata": {}},
    "POST /ssh-keys": _KEY,
    "POST /projects/{id}/ssh-keys": _KEY,
    "PUT /ssh-keys/{id}": _KEY,
    "POST /user/api-keys": {"description": "a", "read_only": True},
    "POST /projects/{id}/api-keys": {"description": "a", "read_only": True},
    "POST /capacity": _CAPACITY,
    "POST /capacity/metros": _CAPACITY,
    "POST /projects/{id}/devices": ORDER,
    "PUT /devices/{id}": ORDER,
    "POST /devices/{id}/actions": {"type": "rescue", "operating_system": "ubuntu_24_04", "preserve_data": True, "ipxe_script_url": "x"},
    "POST /projects/{id}/devices/batch": {"batches": [{**_BRIEF, "quantity": 1, "hostnames": ["a"]}]},
    "POST /hardware-reservations/{id}/move": {"project_id": "a"},
    "POST /hardware-reservations/{id}/activate": {"description": "a"},
    "POST /projects/{id}/spot-market-requests": {**REQUEST, "instance_parameters": {**_BRIEF, "hostnames": ["a"]}},
    "POST /userdata/validate": {"userdata": "#cloud-config\n"},
    "POST /projects/{id}/ips": {
        "type": "public_ipv4",
        "quantity": 1,
        "metro": "da",
        "facility": "da11",
        "details": "a",
        "comments": "a",
        "tags": ["a"],
        "customdata": {},
        "fail_on_approval_required": True,
        "vrf_id": "a",
        "network": "10.1.0.0",
        "cidr": 29,
    },
    "PATCH /ips/{id}": {"details": "a", "tags": ["a"], "customdata": {}},
    "POST /devices/{id}/ips": {"address": "127.96.0.1", "manageable": True, "customdata": {}},
    "POST /projects/{id}/virtual-networks": {
        "metro": "da",
        "facility": "da11",
        "vxlan": 2,
        "description": "a",
        "tags": ["a"],
    },
    "PUT /virtual-networks/{id}": {"description": "a", "tags": ["a"]},
    "POST /projects/{project_id}/metal-gateways": {"virtual_network_id": "a", "ip_reservation_id": "a", "private_ipv4_subnet_size": 8},
    "POST /projects/{id}/vrfs": {
        "name": "a",
        "metro": "da",
        "local_asn": 1,
        "ip_ranges": ["10.9.0.0/24"],
        "description": "a",
        "tags": [],
    },
    "PUT /vrfs/{id}": {"name": "a", "local_asn": 1, "ip_ranges": ["10.1.0.0/16"], "description": "a", "tags": ["a"]},
    "POST /vrfs/{id}/routes": {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2", "tags": ["a"]},
    "PUT /routes/{id}": {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2", "tags": ["a"]},
    "POST /projects/{id}/bgp-configs": {"deployment_type": "local", "asn": 65000, "md5": "Aa1Aa1Aa1Aa1", "use_case": "a"},
    "POST /devices/{id}/bgp/sessions": {"address_family": "ipv6", "default_route": True},
    "PUT /bgp/sessions/{id}": {"default_route": True},
    "POST /ports/{id}/assign": {"vnid": "7"},
    "POST /ports/{id}/unassign": {"vnid": "7"},
    "POST /ports/{id}/native-vlan": {"vnid": "7"},
    "POST /ports/{id}/bond": {"bulk_enable": True},
    "POST /ports/{id}/disbond": {"bulk_disable": True},
    "POST /ports/{id}/convert/layer-2": {"vnid": "7"},
    "POST /ports/{id}/convert/layer-3": {"request_ips": [{"address_family": 4, "public": False}]},
    "POST /ports/{id}/vlan-assignments/batches": {"vlan_assignments": [{"vlan": "7", "state": "assigned", "native": False}]},
}

GARBAGE: list[Any] = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "x" * 10_000,
    "\0",
    "\ud800",
    "\N{SNOWMAN}\N{FISH}",
    [],
    [None],
    [{}],
    {"": None},
    {"a": {"a": [{}]}},
]

QUERY = [
    ("page", ("0", "-1", "x", "100001", "9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}", "")),
    ("per_page", ("0", "-1", "x", "10001", "1e3", "9" * 5000)),
    ("include", ("x", ".", ",,,", "a.b.c.d.e", "__class__", "project." * 1000, "\0")),
    ("exclude", ("x", ".", "id", "href", "meta")),
    ("sort_by", ("__class__", "tags", "\0", "customdata")),
    ("search", ("\0", "(", "x" * 10_000)),
    ("cidr", ("x", "-1", "33", "9" * 5000)),
    ("from", ("x", "-1", "1" * 30)),
    ("until", ("x", "9" * 30)),
    ("types", ("x", "\0")),
    ("metro", ("x", "\0", "")),
    ("state", ("x",)),
    ("tag", ("",)),
]


def spoilt(body: Any) -> Iterator[Any]:
    """``body`` with each of its parts, at whatever depth, replaced by each piece of garbage, and without it."""
    for path in list(_paths(body)):
        for piece in GARBAGE:
            yield _with(body, path, lambda holder, name, piece=piece: holder.__setitem__(name, piece))
        yield _with(body, path, lambda holder, name: holder.pop(name))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield (*path, name)
        yield from _paths(part, (*path, name))


def _with(body: Any, path: tuple[Any, ...], change: Any) -> Any:
    body = copy.deepcopy(body)
    holder = body
    for name in path[:-1]:
        holder = holder[name]
    change(holder, path[-1])
    return body


class Thrower:
    """Sends straight to the application and checks each answer; errors are collected and reported at once."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.wrong: list[str] = []
        self.count = 0
        self._read: set[tuple[str, bytes]] = set()

    async def throw(self, method: str, path: str, content: bytes | None = None, **arguments: Any) -> httpx.Response:
        self.count += 1
        answer = await self.client.request(method, path, content=content, **arguments)
        problem = self._problem(answer)
        # The same text need not be read twice; of a page, what comes before its links.
        same = (path, answer.content.partition(b'"meta":')[0])
        if problem is None and answer.is_success and same not in self._read:
            self._read.add(same)
            try:
                await check(answer)
            except (AssertionError, ValueError) as error:
                problem = f"not as the models want it: {str(error)[:300]}"
        if problem is not None:
            self.wrong.append(f"{method} {path[:80]} {(content or b'')[:300]!r} {arguments}: {answer.status_code}: {problem}")
        return answer

    @staticmethod
    def _problem(answer: httpx.Response) -> str | None:
        if answer.status_code not in {200, 201, 202, 204, 401, 403, 404, 422}:
            return "a status that the vendor's text does not have"
        if not answer.headers.get("x-request-id"):
            return "no request id"
        if answer.status_code == 204 or (answer.status_code == 202 and not answer.content):
            return None
        if answer.headers.get("content-type") != "application/json; charset=utf-8":
            return "not JSON by its header"
        body = json.loads(answer.content)
        if answer.is_success:
            return None
        texts = body.get("errors")
        return (
            None if texts and all(isinstance(each, str) and each for each in texts) and set(body) == {"errors"} else f"not an error: {body}"
        )


@pytest.fixture
async def thrower(sandbox: Sandbox) -> Any:
    # Straight into the application: a hundred thousand bytes and thousands of calls are not the network's test.
    transport = httpx.ASGITransport(create_metal_app(sandbox.world))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://sandbox/metal/v1", headers={"X-Auth-Token": sandbox.world.token}
    ) as client:
        yield Thrower(client)


async def test_every_part_of_every_body_spoilt(sandbox: Sandbox, thrower: Thrower) -> None:
    # Nothing moves on by itself, so that all is there to the end.
    ids = await everything(sandbox)
    sandbox.world.clock.speed = 0.001
    for route, body in BODIES.items():
        method, path = route.split(" ")
        for sent in spoilt(body):
            await thrower.throw(method, filled(path, ids), json.dumps(sent).encode())
    assert thrower.wrong == []
    assert thrower.count > 2000
    # What was taken of it can be read.
    for each in ROUTES:
        if each.method == "GET":
            await thrower.throw("GET", filled(each.path, ids), params={"cidr": "32", "from": "0", "until": "60", "per_page": "1000"})
    assert thrower.wrong == []


async def test_every_query_spoilt(sandbox: Sandbox, thrower: Thrower) -> None:
    ids = await everything(sandbox)
    for each in ROUTES:
        if each.method == "GET":
            for name, values in QUERY:
                for value in values:
                    await thrower.throw("GET", filled(each.path, ids), params={name: value})
    assert thrower.wrong == []


@pytest.mark.parametrize("id_", ["none", "%00", "%F0%9F%90%9F", "x" * 5000, "0", "null", "{id}", "%FF", "'"])
async def test_ids_that_are_none(thrower: Thrower, id_: str) -> None:
    for each in ROUTES:
        if "{" in each.path:
            body = json.dumps(BODIES.get(f"{each.method} {each.path}", {})).encode() if each.method in {"POST", "PUT", "PATCH"} else None
            answer = await thrower.throw(each.method, re.sub(r"{\w+}", id_, each.path), body)
            assert answer.status_code in {403, 404}, (each, answer.text)
    assert thrower.wrong == []


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"nothing",
        b"[]",
        b"null",
        b"true",
        b'"text"',
        b"1",
        b"\xff\xfe",
        b"\x00",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": NaN}',
        b'{"name": "\\ud800"}',
        b"--x\r\nContent-Disposition: form-data\r\n\r\n",
    ],
)
async def test_bodies_that_are_none(sandbox: Sandbox, thrower: Thrower, content: bytes) -> None:
    for route in BODIES:
        method, path = route.split(" ")
        answer = await thrower.throw(method, path.replace("{id}", sandbox.world.project_id), content)
        if route != "PUT /bgp/sessions/{id}":
            assert answer.status_code == 422, (route, answer.text)
    assert thrower.wrong == []


async def test_what_a_body_may_be_like(sandbox: Sandbox, thrower: Thrower) -> None:
    """The last of two keys of one name counts, and what the body says it is does not: clients leave the type out, or send a form's."""
    for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", None):
        headers = {"Content-Type": kind} if kind else {}
        answer = await thrower.throw("POST", "/projects", b'{"name": "first", "name": "second"}', headers=headers)
        assert (answer.status_code, answer.json()["name"]) == (201, "second")
    assert thrower.wrong == []


@pytest.mark.parametrize("token", ["", " ", "x" * 100_000, "\xff", "'; --", "null", "Bearer"])
async def test_tokens_that_are_none(thrower: Thrower, token: str) -> None:
    for headers in ({"X-Auth-Token": token.encode("latin-1")}, {"X-Auth-Token": "", "Authorization": b"Bearer " + token.encode("latin-1")}):
        for path in ("/projects", "/nothing", "/devices/x"):
            assert (await thrower.throw("GET", path, headers=headers)).status_code == 401
    assert thrower.wrong == []


async def test_methods_that_a_path_does_not_have(thrower: Thrower) -> None:
    """As for a path that is not there: the text has no 405, and knows all calls of the paths that are imitated."""
    for method in ("DELETE", "PUT", "TRACE", "OPTIONS", "PROPFIND", "BREW"):
        assert (await thrower.throw(method, "/plans")).status_code == 404
    assert (await thrower.throw("POST", "/devices/x/userdata")).status_code == 404
    assert thrower.wrong == []


RAW = [b"{", b"nothing", b"[]", b"null", b"true", b'"text"', b"1", b"\xff\xfe", b"\x00", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": NaN}']


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
