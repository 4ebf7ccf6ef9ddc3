"""Random requests to the Metal API: several parts of a body spoilt at once, texts that parsers stumble over, odd queries and headers.

Each run of a seed is the same. More of them: ``FUZZ_SEEDS=1000:1100 pytest tests/metal_api/test_fuzz.py``.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.metal.resources import ROUTES
from tests.metal_api.conftest import Sandbox
from tests.metal_api.objects import everything, filled
from tests.metal_api.test_garbage import BODIES, GARBAGE, QUERY, Thrower, _paths, _with, thrower

__all__ = ["thrower"]

_FIRST, _LAST = map(int, os.environ.get("FUZZ_SEEDS", "1:4").split(":"))
REQUESTS = 400
"""With each seed."""

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
NUMBERS: list[Any] = [0, -1, 1, 2**31, 2**63, 2**64, 10**30, 0.5, -0.0, 1e-308, 1e308]


NAMES = ["id", "href", "code", "a", "", "vlan", "state", "address_family", "public", "cidr", "key", "label"]


def value(chance: random.Random, ids: list[str], depth: int = 0) -> Any:
    kind = chance.randrange(7 if depth < 3 else 5)
    if kind < 5:
        return chance.choice((GARBAGE, TEXTS, NUMBERS, ids, [None, True, False])[kind])
    several = [value(chance, ids, depth + 1) for _number in range(chance.randrange(4))]
    return several if kind == 5 else {chance.choice(NAMES): each for each in several}


def spoilt(chance: random.Random, body: Any, ids: list[str]) -> Any:
    """``body`` with one to five of its parts replaced, taken out or added."""
    body = copy.deepcopy(body)
    for _number in range(chance.randint(1, 5)):
        paths = list(_paths(body))
        if not paths:
            return body
        path = chance.choice(paths)
        holder = body
        for name in path[:-1]:
            holder = holder[name]
        change: Callable[[], Any] = chance.choice([lambda: value(chance, ids), lambda: value(chance, ids), lambda: None])
        if chance.random() < 0.15:
            holder.pop(path[-1])
        else:
            holder[path[-1]] = change()
    return body


@pytest.mark.parametrize("seed", range(_FIRST, _LAST))
async def test_random_requests(sandbox: Sandbox, thrower: Thrower, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    ids = await everything(sandbox)
    sandbox.world.clock.speed = 0.001
    known = [*ids.values(), "da", "da11", "c3.small.x86", "ubuntu_24_04", "custom_ipxe", "7"]
    queries = [(name, each) for name, values in QUERY for each in values] + [("vnid", "7"), ("x", "y"), ("", "")]
    for _number in range(REQUESTS):
        route = chance.choice(ROUTES)
        body = BODIES.get(f"{route.method} {route.path}")
        content = None
        if body is not None:
            content = json.dumps(spoilt(chance, body, known) if chance.random() < 0.95 else value(chance, known)).encode()
        used = dict(ids) if chance.random() < 0.8 else {name: chance.choice(list(ids.values())) for name in ids}
        params = dict(chance.sample(queries, chance.randrange(3)))
        await thrower.throw(route.method, filled(route.path, used), content, params=params)
        if len(thrower.wrong) > 20:
            break
    assert thrower.wrong == []
    # What was taken of it can be read.
    for each in ROUTES:
        if each.method == "GET":
            await thrower.throw("GET", filled(each.path, ids), params={"cidr": "32", "from": "0", "until": "60", "per_page": "1000"})
    assert thrower.wrong == []


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
