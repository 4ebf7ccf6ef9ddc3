"""What clients may send to stop the server: other requests are answered meanwhile, within a bound measured in the same run."""

from __future__ import annotations

import asyncio
import gzip
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from tests.metal_api.conftest import NO_TLS, Sandbox

BOUND = 4.0
"""Seconds in which any other request is answered during an attack, on two cores that are busy: so many times more for each process that
waits for a core.
"""
WORK_BOUND = 2.0
"""Seconds of work of this process, server and clients together, from the begin to the end of any other request."""


@dataclass
class Others:
    """The other clients of an attacked server. ``longest``, ``work``: the seconds of their slowest request, and of the work meanwhile."""

    longest: float = 0.0
    work: float = 0.0
    requests: int = 0


@asynccontextmanager
async def others(sandbox: Sandbox) -> AsyncIterator[Others]:
    """A client of the API and a machine, that call without a pause and always get their answers."""
    seen, ended = Others(), asyncio.Event()

    async def ask(url: str, status: int, **headers: str) -> None:
        # A connection for each request, as a client has that comes new.
        while not ended.is_set():
            began, work = time.monotonic(), time.process_time()
            async with httpx.AsyncClient(verify=NO_TLS, timeout=60, headers=headers) as client:
                answer = await client.get(url)
            assert answer.status_code == status, answer.text
            seen.longest = max(seen.longest, time.monotonic() - began)
            seen.work = max(seen.work, time.process_time() - work)
            seen.requests += 1

    asking = [
        asyncio.create_task(ask(f"{sandbox.url}/projects", 200, **{"X-Auth-Token": sandbox.world.token})),
        asyncio.create_task(ask(f"{sandbox.boot_url}/auto.ipxe", 404)),
    ]
    try:
        await sandbox.until(lambda: seen.requests >= 20)
        seen.longest = seen.work = 0.0
        yield seen
        # Those that began during the attack.
        before = seen.requests
        await sandbox.until(lambda: seen.requests >= before + 4)
    finally:
        ended.set()
        await asyncio.gather(*asking)
    assert seen.work < WORK_BOUND, f"another request waited for {seen.work:.1f} s of work"
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert seen.longest < BOUND * busy, f"another request took {seen.longest:.1f} s, {busy:.1f} processes wait for a core"


PATHS = {
    "encoded again and again": "/projects/%" + "25" * 30_000,
    "encoded again and again in the query": "/projects?search=%" + "25" * 30_000,
    "parameters": "/projects?" + "a=%252525&" * 6_000,
    "parameters of one letter": "/projects?" + "a&" * 30_000,
    "slashes": "/" * 60_000,
    "prefixes": "/metal/v1" * 6_500,
    "blanks": "/" + "a%20" * 15_000,
    "words": "/" + "aB1" * 20_000,
}


@pytest.mark.parametrize("name", PATHS)
async def test_paths_that_are_slow_to_read(sandbox: Sandbox, name: str) -> None:
    """Requests without a token, as three at a time stopped every boot script for 23 s."""
    async with others(sandbox), httpx.AsyncClient(verify=NO_TLS, timeout=60) as client:
        for url in (sandbox.url, sandbox.boot_url):
            target = httpx.URL(url).copy_with(raw_path=PATHS[name].encode())
            answers = await asyncio.gather(*(client.send(client.build_request("GET", target)) for _number in range(3)))
            assert {each.status_code for each in answers} <= {401, 404}
    entries = (await sandbox.control.get("/journal", params={"service": "metal"})).json()["journal"]
    hostile = [each for each in entries if each["who"] == "nobody"]
    assert len(hostile) == 3
    assert all(len(each["path"]) < 3000 for each in hostile)


async def test_a_token_is_hidden_before_the_path_is_shortened(sandbox: Sandbox) -> None:
    token = sandbox.world.token
    for at in range(2048 - len(token), 2048):
        path = "/" + "-" * at + "/" + token
        await sandbox.control.get(f"{sandbox.url}{path}", headers={"X-Auth-Token": token})
    for levels in range(1, 9):
        encoded = "".join(f"%{ord(each):02X}" for each in token).replace("%", "%" + "25" * (levels - 1))
        target = httpx.URL(sandbox.url).copy_with(raw_path=f"/projects/{encoded}".encode())
        await sandbox.control.send(sandbox.control.build_request("GET", target))
    shown = [each["path"] for each in (await sandbox.control.get("/journal")).json()["journal"]]
    assert len(shown) >= len(token)
    for path in shown:
        assert token[:6] not in path
        assert "".join(f"%{ord(each):02X}" for each in token[:6]) not in path.replace("%25", "%")


CLOUD_CONFIG = "#cloud-config\n"
BOMB = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12))
MIME = "Content-Type: multipart/mixed; boundary={0}\n\n--{0}\n"
USERDATA = {
    "a megabyte": (CLOUD_CONFIG + "a: [b, c]\n" * 100_000, None),
    "just what is parsed": (CLOUD_CONFIG + "[a],".join(["["] + [""] * 8_000) + "]", None),
    "merges": (CLOUD_CONFIG + "a0: &a0 {x: y}\n" + BOMB.replace("[", "{<<: [").replace("]", "]}"), None),
    "aliases": (CLOUD_CONFIG + "a0: &a0 [x, y]\n" + BOMB, None),
    "open braces": (CLOUD_CONFIG + "{" * 30_000, "Userdata unrecognized userdata format"),
    "nested lists": (CLOUD_CONFIG + "[" * 15_000 + "]" * 15_000, "Userdata unrecognized userdata format"),
    "an unknown alias": (CLOUD_CONFIG + "a: *b\n", "Userdata unrecognized userdata format"),
    "nested parts": ("".join(MIME.format(level) for level in range(500)) + "--\n" * 300_000, None),
    "packed": (gzip.compress(CLOUD_CONFIG.encode() + b"a: [b, c]\n" * 900_000).decode("latin-1"), None),
    "packed braces": (gzip.compress(CLOUD_CONFIG.encode() + b"{" * 30_000).decode("latin-1"), "Userdata unrecognized userdata format"),
}


@pytest.mark.parametrize("name", USERDATA)
async def test_userdata_that_is_slow_to_read(sandbox: Sandbox, name: str) -> None:
    """In one order, and in many of one batch."""
    text, error = USERDATA[name]
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "userdata": text}
    async with others(sandbox), httpx.AsyncClient(verify=NO_TLS, timeout=60, headers=sandbox.api.headers) as client:
        single = await client.post(f"{sandbox.url}/userdata/validate", json={"userdata": text})
        batch = {"batches": [order] * min(20, 5 * 2**20 // len(text))}
        ordered = await client.post(f"{sandbox.url}{sandbox.project}/devices/batch", json=batch)
    if error is None:
        assert single.status_code == 204, single.text
        assert ordered.status_code == 201, ordered.text[:1000]
    else:
        assert (single.status_code, single.json()["errors"]) == (422, [error])
        assert ordered.status_code == 422


async def test_depth_of_custom_data(sandbox: Sandbox) -> None:
    """What is accepted can be stored and sent again."""
    statuses = set()
    for depth in (50, 100, 120, 150, 151, 152, 153, 154, 155, 200, 253, 254, 255, 500, 1000, 1023):
        customdata = '{"a":' * depth + "1" + "}" * depth
        for body in (
            f'{{"name": "x", "customdata": {customdata}}}',
            f'{{"name": "x", "customdata": "{customdata.replace(chr(34), chr(92) + chr(34))}"}}',
        ):
            made = await sandbox.api.post("/projects", content=body, params={"include": "organization.projects"})
            assert made.status_code in {201, 422}, made.text
            statuses.add(made.status_code)
            if made.status_code == 201:
                shown = await sandbox.api.get("/projects", params={"include": "organization.projects.organization.projects"})
                assert shown.status_code == 200
    assert statuses == {201, 422}
    device = await sandbox.active(hostname="one")
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(local_address=device["ip_addresses"][0]["address"])) as machine:
        answer = await machine.post(f"{sandbox.boot_url}/events", content='{"message":' + "[" * 900 + "]" * 900 + "}")
    assert answer.status_code == 400
