"""Garbage on every route: the answer is one that the API could give, and afterwards everything can be read."""

import copy
import gzip
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
from tests.metal_api.objects import BODIES, everything, filled

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

    async def read_everything(self, ids: dict[str, str]) -> None:
        """Check that what was taken can be read."""
        assert self.wrong == []
        for each in ROUTES:
            if each.method == "GET":
                await self.throw("GET", filled(each.path, ids), params={"cidr": "32", "from": "0", "until": "60", "per_page": "1000"})
        assert self.wrong == []

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
    assert thrower.count > 2000
    await thrower.read_everything(ids)


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


RAW = [b"{", b"nothing", b"[]", b"null", b"true", b'"text"', b"1", b"\xff\xfe", b"\x00", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": NaN}']


@pytest.mark.parametrize("content", [*RAW, b'{"name": "\\ud800"}', b"--x\r\nContent-Disposition: form-data\r\n\r\n"])
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
            answer = await thrower.throw("GET", path, headers=headers)
            assert (answer.status_code, answer.json()["errors"][0].partition(" ")[0]) == (401, "Invalid")
    assert thrower.wrong == []


async def test_methods_that_a_path_does_not_have(thrower: Thrower) -> None:
    """As for a path that is not there: the text has no 405, and knows all calls of the paths that are imitated."""
    for method in ("DELETE", "PUT", "TRACE", "OPTIONS", "PROPFIND", "BREW"):
        assert (await thrower.throw(method, "/plans")).status_code == 404
    assert (await thrower.throw("POST", "/devices/x/userdata")).status_code == 404
    assert thrower.wrong == []


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


# Each is known to make some parser raise what is not its own error, or to take it long.
TEXTS: list[str] = [
    "[" * 20_000,
    '{"a":' * 10_000,
    "#cloud-config\n" + "[" * 5_000,
    "#cloud-config\na: 2001-99-99\n",
    "#cloud-config\na: !!float x\n",
    "#cloud-config\na: !!timestamp x\n",
    "#cloud-config\n? [a]\n: 1\n",
    "#cloud-config\n&a [*a]\n",
    "#cloud-config\n\x00",
    gzip.compress(b"#!/bin/sh\n" * 10, mtime=0).decode("latin-1"),
    "\x1f\x8b",
    "Content-Type: multipart/mixed; boundary=\n\n--\n",
    'Content-Type: multipart/mixed; boundary="' + "a" * 5000 + '"\n\n',
    "Content-Type: multipart/mixed; charset*0*=''%FF\n\n",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2030-01-01",
    "20300101T000000Z",
    "2030-W01-1",
    "https://[::1",
    "http://a:99999/",
    "http://\N{LATIN SMALL LETTER A WITH DIAERESIS}:x@/",
    "ssh-rsa AAAA====",
    "ssh-rsa \N{SNOWMAN}",
    "ssh-ed25519",
    "0.0.0.0/0",
    "10.0.0.0/33",
    "::/0",
    "fe80::1%eth0/64",
    "1.2.3.4/255.255.255.0",
    "00000000-0000-0000-0000-000000000000",
    "next-available",
    "any",
    "{{index}}",
    "\N{RIGHT-TO-LEFT OVERRIDE}",
    "a" * 254 + ".b",
    "1e400",
    "-0",
    "\N{ARABIC-INDIC DIGIT ONE}",
    "0" * 5000,
]
PARSED = frozenset({"userdata", "customdata", "termination_time", "end_at", "ipxe_script_url", "key", "address", "network", "vnid"})
"""Parts of a body that the sandbox reads with a parser."""


@pytest.mark.parametrize("share", [pytest.param(2, id="some"), pytest.param(len(TEXTS), id="all", marks=pytest.mark.long)])
async def test_texts_in_every_part_of_every_body(sandbox: Sandbox, thrower: Thrower, share: int) -> None:
    """Of each part ``share`` texts, others each time; of parts that are parsed six times as many."""
    chance = random.Random(share)  # noqa: S311 - the same each time
    ids = await everything(sandbox)
    sandbox.world.clock.speed = 0.001
    for route, body in BODIES.items():
        method, path = route.split(" ")
        for part in list(_paths(body)):
            for text in chance.sample(TEXTS, min(len(TEXTS), share * 6 if part[-1] in PARSED else share)):
                sent = _with(body, part, lambda holder, name, text=text: holder.__setitem__(name, text))
                await thrower.throw(method, filled(path, ids), json.dumps(sent).encode())
    assert thrower.wrong == []


@pytest.mark.parametrize("field", ["userdata", "customdata"])
async def test_a_compression_bomb_is_refused(sandbox: Sandbox, thrower: Thrower, field: str) -> None:
    packed = gzip.compress(b"#!" + b"\0" * 2**28, mtime=0).decode("latin-1")
    await thrower.throw("PUT", f"/devices/{(await sandbox.seed(1))[0]}", json.dumps({field: packed}).encode())
    assert thrower.wrong == []


async def test_a_bandwidth_of_all_time(sandbox: Sandbox, thrower: Thrower) -> None:
    (id_,) = await sandbox.seed(1)
    for until in ("99999999999", "9" * 12, "9" * 13, "9" * 5000):
        await thrower.throw("GET", f"/devices/{id_}/bandwidth", params={"from": "0", "until": until})
    assert thrower.wrong == []
