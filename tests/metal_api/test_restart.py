"""Killed with -9 and started again, the API knows all it had answered for, and goes on with what was under way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.metal_api.conftest import NO_TLS, sandbox_in
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]


class Process:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.ports = free_ports(3)
        self.process: asyncio.subprocess.Process | None = None
        self.facts: dict[str, str] = {}

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.metal_api.serving", str(self.state), *map(str, self.ports), cwd=ROOT, stdin=pipe, stdout=pipe
        )
        self.facts = await self.line()

    async def line(self) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        text = await asyncio.wait_for(self.process.stdout.readline(), 20)
        return json.loads(text)

    async def calls(self) -> list[list[str]]:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(b"calls\n")
        found: list[list[str]] = await self.line()
        return found

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def client(self) -> httpx.AsyncClient:
        base = f"http://127.0.0.1:{self.ports[0]}/metal/v1/projects/{self.facts['project']}"
        return httpx.AsyncClient(base_url=base, headers={"X-Auth-Token": self.facts["token"]}, verify=NO_TLS, timeout=20)


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    running = Process(tmp_path / "state")
    try:
        yield running
    finally:
        await running.kill()


CLIENTS = 50


async def everything(process: Process, path: str) -> dict[str, dict[str, Any]]:
    key = {"devices": "devices", "virtual-networks": "virtual_networks", "ips": "ip_addresses"}[path]
    query = {"per_page": "1000"} | ({"types": "public_ipv4"} if path == "ips" else {})
    found: dict[str, dict[str, Any]] = {}
    page, last = 0, 1
    async with process.client() as client:
        while page < last:
            page += 1
            answer = await client.get(f"/{path}", params={**query, "page": str(page)})
            assert answer.status_code == 200, answer.text
            found |= {each["id"]: each for each in answer.json()[key]}
            last = answer.json().get("meta", {}).get("last_page", 1)
    return found


RESERVED = 30


class Exchange:
    """50 clients that take and give what only one can have: reserved machines, addresses of blocks, places in VLANs; and order batches."""

    def __init__(self, process: Process, devices: list[dict[str, Any]]) -> None:
        self.root = f"http://127.0.0.1:{process.ports[0]}/metal/v1"
        self.process = process
        self.devices = devices
        self.answers: Counter[str] = Counter()
        self.reserved: dict[str, str] = {}
        self.batches: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self.in_vlan: set[tuple[str, str]] = set()
        self.released: set[str] = set()
        # Asked for, and the answer has not come: it may be either way.
        self.open: set[str] = set()

    async def client(self, number: int) -> None:
        work = (self.reserve, self.batch, self.address, self.vlan)[number % 4]
        async with self.process.client() as client:
            with contextlib.suppress(httpx.TransportError):
                for turn in range(1000):
                    await work(client, self.devices[number], f"x{number}-{turn}")
                    self.answers[work.__name__] += 1

    async def reserve(self, client: httpx.AsyncClient, device: dict[str, Any], name: str) -> None:
        """More ask than there are."""
        body = {"operating_system": "custom_ipxe", "hardware_reservation_id": "next-available", "hostname": name}
        answer = await client.post("/devices", json=body)
        if answer.status_code == 201:
            self.reserved[answer.json()["id"]] = answer.json()["hardware_reservation"]["href"].rpartition("/")[2]
            return
        assert answer.status_code == 422, answer.text
        assert "no available hardware reservations" in answer.text
        # A released machine may be assigned again as soon as it is wiped.
        if self.reserved:
            id_ = next(iter(self.reserved))
            self.open.add(id_)
            answer = await client.delete(f"{self.root}/devices/{id_}")
            assert answer.status_code in {204, 403, 404, 422}, answer.text
            if answer.status_code != 422:
                self.reserved.pop(id_, None)

    async def batch(self, client: httpx.AsyncClient, device: dict[str, Any], name: str) -> None:
        one = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "quantity": 2, "hostname": f"{name}-{{{{index}}}}"}
        answer = await client.post("/devices/batch", json={"batches": [one]})
        assert answer.status_code == 201, answer.text
        self.batches[answer.json()["batches"][0]["id"]] = name

    async def address(self, client: httpx.AsyncClient, device: dict[str, Any], name: str) -> None:
        """A block, one address of it on a device; every other one is unassigned and released."""
        block = (await client.post("/ips", json={"type": "public_ipv4", "quantity": 1, "metro": "da"})).json()
        path = f"{self.root}/devices/{device['id']}/ips"
        answer = await client.post(path, json={"address": f"{block['network']}/32"})
        assert answer.status_code == 201, answer.text
        assigned = answer.json()
        self.addresses[assigned["id"]] = assigned["address"]
        if int(name.rpartition("-")[2]) % 2:
            self.open.add(assigned["id"])
            assert (await client.delete(f"{self.root}/ips/{assigned['id']}")).status_code == 204
            del self.addresses[assigned["id"]]
            assert (await client.delete(f"{self.root}/ips/{block['id']}")).status_code == 204
            self.released.add(block["id"])

    async def vlan(self, client: httpx.AsyncClient, device: dict[str, Any], name: str) -> None:
        """A VLAN with the device's bond in it; every other one is left and deleted."""
        vlan = (await client.post("/virtual-networks", json={"metro": "da"})).json()
        port = next(each["id"] for each in device["network_ports"] if each["name"] == "bond0")
        answer = await client.post(f"{self.root}/ports/{port}/assign", json={"vnid": vlan["id"]})
        assert answer.status_code == 200, answer.text
        self.in_vlan.add((port, vlan["id"]))
        if int(name.rpartition("-")[2]) % 2:
            self.open.add(vlan["id"])
            assert (await client.post(f"{self.root}/ports/{port}/unassign", json={"vnid": vlan["id"]})).status_code == 200
            self.in_vlan.remove((port, vlan["id"]))
            assert (await client.delete(f"{self.root}/virtual-networks/{vlan['id']}")).status_code == 204
            self.released.add(vlan["id"])

    def enough(self) -> bool:
        """Each kind of work has been answered often enough, and reserved machines have been released and requested again."""
        return all(self.answers[work] >= 40 for work in ("reserve", "batch", "address", "vlan"))


async def finished_batches(client: httpx.AsyncClient) -> dict[str, dict[str, Any]]:
    """Return all batches when they are completed."""
    async with asyncio.timeout(30):
        while True:
            batches = {each["id"]: each for each in (await client.get("/batches")).json()["batches"]}
            if all(each["state"] == "completed" for each in batches.values()):
                return batches
            await asyncio.sleep(0.1)


async def test_a_kill_among_reservations_batches_addresses_and_ports(process: Process) -> None:
    await process.start()
    control = f"http://127.0.0.1:{process.ports[0]}/_sandbox"
    async with process.client() as client:
        durations = {"deprovision": 1, "reservation_wipe": 1, "device_batch": 20}
        change = {"quotas": {"virtual_networks": None, "public_ipv4": None}, "durations": durations}
        assert (await client.put(f"{control}/settings", json=change)).status_code == 200
        assert (await client.post(f"{control}/hardware_reservations", json={"count": RESERVED})).status_code == 201
        assert (await client.post(f"{control}/devices", json={"count": CLIENTS})).status_code == 201
    seeded, facts = await everything(process, "devices"), process.facts
    load = Exchange(process, list(seeded.values()))
    tasks = [asyncio.create_task(load.client(number)) for number in range(CLIENTS)]
    async with asyncio.timeout(60):
        while not load.enough() and not any(task.done() for task in tasks):  # noqa: ASYNC110 - the moment of the kill: in the load
            await asyncio.sleep(0.005)
    await process.kill()
    await asyncio.gather(*tasks)

    await process.start()
    assert process.facts == facts
    # What was in a batch when it was killed is ordered: each machine of it once.
    async with process.client() as client:
        batches = await finished_batches(client)
        reservations = (await client.get("/hardware-reservations", params={"per_page": 1000})).json()["hardware_reservations"]
    found = {path: await everything(process, path) for path in ("devices", "ips", "virtual-networks")}
    devices = found["devices"]
    assert set(load.batches) <= set(batches)
    ordered = [each["href"].rpartition("/")[2] for batch in batches.values() for each in batch["devices"]]
    assert len(ordered) == len(set(ordered)) == 2 * len(batches)
    for id_, name in load.batches.items():
        names = sorted(devices[each["href"].rpartition("/")[2]]["hostname"] for each in batches[id_]["devices"])
        assert names == [f"{name}-01", f"{name}-02"]
    in_batches = [each["hostname"] for each in devices.values() if each["hostname"].endswith(("-01", "-02"))]
    assert len(in_batches) == len(set(in_batches)) == len(ordered)

    # A reserved machine is one device's, and both say so.
    holders = [
        (each["id"], each["hardware_reservation"]["href"].rpartition("/")[2]) for each in devices.values() if each["hardware_reservation"]
    ]
    assert len({reservation for _device, reservation in holders}) == len(holders)
    kept = {device: reservation for device, reservation in load.reserved.items() if device not in load.open}
    assert kept.items() <= dict(holders).items()
    said = {each["id"]: (each["device"] or {}).get("href", "").rpartition("/")[2] for each in reservations}
    assert all(said[reservation] == device for device, reservation in holders)

    # Addresses: those that were answered for are where they were put, none is on two devices.
    assigned = {one["id"]: one["address"] for each in devices.values() for one in each["ip_addresses"]}
    assert {id_: text for id_, text in load.addresses.items() if id_ not in load.open}.items() <= assigned.items()
    assert load.open.isdisjoint(set(assigned) - set(load.addresses))
    assert len(set(assigned.values())) == len(assigned)
    blocks = [each["network"] for each in found["ips"].values()]
    assert len(set(blocks)) == len(blocks)

    assert load.released.isdisjoint([*found["ips"], *found["virtual-networks"]])

    # VLANs: each number once, each port in what it was put into and in nothing that is gone.
    numbers = [each["vxlan"] for each in found["virtual-networks"].values()]
    assert len(set(numbers)) == len(numbers)
    places = {
        (port["id"], vlan["href"].rpartition("/")[2])
        for each in devices.values()
        for port in each["network_ports"]
        for vlan in port["virtual_networks"]
    }
    assert {place for place in load.in_vlan if place[1] not in load.open} <= places
    assert {vlan for _port, vlan in places} <= set(found["virtual-networks"])


async def test_what_is_under_way_goes_on(process: Process) -> None:
    """Gateways, batches, sessions, reservations being wiped, terminations: each is taken up again after a kill."""
    await process.start()
    root = f"http://127.0.0.1:{process.ports[0]}"
    async with process.client() as client:
        reserved = (await client.post(f"{root}/_sandbox/hardware_reservations", json={})).json()["ids"][0]
        (device,) = (await client.post(f"{root}/_sandbox/devices", json={"count": 1})).json()["ids"]
        slow = {"device_batch": 300, "gateway": 300, "bgp_session": 300, "reservation_wipe": 300, "deprovision": 1}
        await client.put(f"{root}/_sandbox/settings", json={"durations": slow})
        vlan = (await client.post("/virtual-networks", json={"metro": "da"})).json()
        gateway = (await client.post("/metal-gateways", json={"virtual_network_id": vlan["id"], "private_ipv4_subnet_size": 8})).json()
        ports = (await client.get(f"{root}/devices/{device}")).json()["network_ports"]
        (bond,) = (each["id"] for each in ports if each["name"] == "bond0")
        (await client.post(f"{root}/ports/{bond}/assign", json={"vnid": vlan["id"]})).raise_for_status()
        await client.post("/bgp-configs", json={"deployment_type": "local", "asn": 65000})
        session = (await client.post(f"{root}/devices/{device}/bgp/sessions", json={"address_family": "ipv4"})).json()
        body = {"operating_system": "custom_ipxe", "hardware_reservation_id": reserved}
        one = (await client.post("/devices", json=body)).json()
        moment = (datetime.now(UTC) + timedelta(seconds=1.5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (await client.put(f"{root}/devices/{one['id']}", json={"termination_time": moment})).status_code == 200
        order = {"batches": [{"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "quantity": 2}]}
        batch = (await client.post("/devices/batch", json=order)).json()["batches"][0]
        assert (batch["state"], gateway["state"], session["status"]) == ("queued", "ready", "unknown")
        await process.kill()
        await process.start()
        async with asyncio.timeout(10):
            for path, name, wanted in (
                (f"batches/{batch['id']}", "state", "completed"),
                (f"metal-gateways/{gateway['id']}", "state", "active"),
                (f"bgp/sessions/{session['id']}", "status", "up"),
                (f"hardware-reservations/{reserved}", "provisionable", True),
            ):
                while (await client.get(f"{root}/{path}")).json()[name] != wanted:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.02)
        assert (await client.get(f"{root}/devices/{one['id']}")).status_code == 404


async def test_machines_that_were_on_are_restored(process: Process) -> None:
    await process.start()
    async with process.client() as client:
        body = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "hostname": "one"}
        id_ = (await client.post("/devices", json=body)).json()["id"]
        root = f"http://127.0.0.1:{process.ports[0]}"
        while (await client.get(f"{root}/devices/{id_}")).json()["state"] != "active":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        # What the sandbox takes for granted follows the phone-home: that the machine is on.
        await process.calls()
        await process.kill()
        await process.start()
        assert await process.calls() == [["restore", id_]]
        assert (await client.delete(f"{root}/devices/{id_}")).status_code == 204
        await process.kill()
        await process.start()
        while (await client.get(f"{root}/devices/{id_}")).status_code != 404:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        assert await process.calls() == [["remove", id_]]


async def test_the_seed_decides_ids_and_token(tmp_path: Path) -> None:
    facts = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        async with sandbox_in(tmp_path / name, seed=seed, strict=False) as sandbox:
            facts.append((sandbox.world.token, sandbox.world.project_id))
    assert facts[0] == facts[1] != facts[2]
    async with sandbox_in(tmp_path / "a", seed=2, strict=False) as again:
        assert (again.world.token, again.world.project_id) == facts[0]
