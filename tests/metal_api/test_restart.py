"""Killed with -9 and started again, the API knows all it had answered for, and goes on with what was under way."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.metal_api.conftest import NO_TLS
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]


class Process:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.ports = free_ports(3)
        self.process: asyncio.subprocess.Process | None = None
        self.facts: dict[str, str] = {}
        self.answered = 0

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.metal_api.serving", str(self.state), *map(str, self.ports), cwd=ROOT, stdin=pipe, stdout=pipe
        )
        self.facts = await self.line()

    async def line(self) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        text = await asyncio.wait_for(self.process.stdout.readline(), 60)
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


async def confirmed(process: Process, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Post without a pause until the server is killed; return what it has answered for."""
    found: list[dict[str, Any]] = []
    async with process.client() as client:
        with contextlib.suppress(httpx.TransportError):
            while True:
                answer = await client.post(path, json=body)
                assert answer.status_code == 201, answer.text
                found.append(answer.json())
                process.answered += 1
    return found


async def test_a_kill_under_load(process: Process) -> None:
    """Each machine of a batch is ordered once, and blocks and VLANs are whole: nothing is billed twice or forgotten."""
    await process.start()
    async with process.client() as client:
        change = {"quotas": {"virtual_networks": None, "public_ipv4": None}, "durations": {"device_batch": 20}}
        assert (await client.put(f"http://127.0.0.1:{process.ports[0]}/_sandbox/settings", json=change)).status_code == 200
    machines = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "quantity": 2, "hostname": "x-{{index}}"}
    work: dict[str, dict[str, Any]] = {
        "/devices/batch": {"batches": [machines]},
        "/ips": {"type": "public_ipv4", "quantity": 1, "metro": "da"},
        "/virtual-networks": {"metro": "da"},
    }
    facts = process.facts
    clients = [asyncio.create_task(confirmed(process, path, body)) for path, body in list(work.items()) * 10]
    async with asyncio.timeout(60):
        while process.answered < 200 and not any(each.done() for each in clients):  # noqa: ASYNC110 - the moment of the kill: in the load
            await asyncio.sleep(0.005)
    await process.kill()
    made = await asyncio.gather(*clients)
    await process.start()
    assert process.facts == facts
    batches, blocks, vlans = ([each for some in made[kind::3] for each in some] for kind in range(3))
    query = {"per_page": "1000", "types": "public_ipv4"}
    async with process.client() as client:
        known: list[dict[str, Any]] = []
        async with asyncio.timeout(30):
            while {each["state"] for each in known} != {"completed"}:
                await asyncio.sleep(0.1)
                known = (await client.get("/batches")).json()["batches"]
        devices, addresses, networks = [
            (await client.get(path, params=query)).json()[key]
            for path, key in (("/devices", "devices"), ("/ips", "ip_addresses"), ("/virtual-networks", "virtual_networks"))
        ]
    assert {each["batches"][0]["id"] for each in batches} <= {each["id"] for each in known}
    ordered = [each["href"].rpartition("/")[2] for batch in known for each in batch["devices"]]
    assert sorted(ordered) == sorted(each["id"] for each in devices)
    assert len(ordered) == 2 * len(known)
    assert {each["id"] for each in blocks} <= {each["id"] for each in addresses}
    assert len({each["network"] for each in addresses}) == len(addresses)
    assert {each["id"] for each in vlans} <= {each["id"] for each in networks}
    assert len({each["vxlan"] for each in networks}) == len(networks)


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


async def test_machines_are_restored_with_their_power(process: Process) -> None:
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
        await client.post(f"{root}/devices/{id_}/actions", json={"type": "power_off"})
        while (await client.get(f"{root}/devices/{id_}")).json()["state"] != "inactive":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        await process.kill()
        await process.start()
        assert await process.calls() == [["restore off", id_]]
        assert (await client.delete(f"{root}/devices/{id_}")).status_code == 204
        await process.kill()
        await process.start()
        while (await client.get(f"{root}/devices/{id_}")).status_code != 404:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        assert await process.calls() == [["remove", id_]]
