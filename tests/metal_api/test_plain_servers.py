"""Devices that are servers in the plain network of a rack, with a backend that a test controls."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal_api import boot
from metal_api.absent import EMPTY, REFUSED
from metal_api.accounts.record import Organization
from metal_api.core.machines import Hardware
from metal_api.core.world import MetroNetwork
from metal_api.devices.lifecycle import Lifecycle
from metal_api.servers import FoundServer, Servers
from metal_api.world import MetalWorld
from tests.metal_api.conftest import Api, ScriptedMachines, machine_client, rack_of
from tests.metal_api.objects import BODIES

PLAN, METRO = "c3.small.x86", "da"
SERVER = FoundServer("5f6e9a00-0000-4000-8077-000000000001", "r1-u1", PLAN, METRO, ("52:54:00:77:00:01", "52:54:00:77:00:02"))
NETWORK = MetroNetwork("127.92.0.0/24", "127.92.0.1", "127.92.0.10", "127.92.0.20")


class ServerMachines(ScriptedMachines):
    """Servers, each of which boots for its device when it is powered on."""

    world: MetalWorld

    async def boot(self, hw: Hardware) -> None:
        self.world.service(Lifecycle).server_boots(hw.device_id, "Server r1-u1 gets its boot script from now on")
        await super().boot(hw)


@asynccontextmanager
async def rack_in(state: Path, **environment: Any) -> AsyncIterator[Api]:
    """A Metal API of a rack with the server :data:`SERVER`."""
    machines = ServerMachines()
    fields: dict[str, Any] = {"networks": {METRO: NETWORK}, "boot_timeout": 0.5, **environment}
    async with rack_of(state, machines, **fields) as running:
        machines.world = running.world
        running.world.service(Servers).refresh([SERVER])
        yield running


@pytest.fixture
async def rack(tmp_path: Path) -> AsyncIterator[Api]:
    async with rack_in(tmp_path / "state") as running:
        yield running


async def actions(rack: Api, id_: str) -> list[str]:
    return [each["type"] for each in (await rack.device(id_))["actions"]]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"operating_system": "ubuntu_24_04"},
            f"Operating system ubuntu_24_04 is not provisionable on {PLAN}: its servers boot custom_ipxe only",
        ),
        (
            {"storage": {"disks": []}},
            "Storage is not available: servers boot custom_ipxe only, and what that installs partitions their disks",
        ),
    ],
)
async def test_a_reinstallation_refuses_what_an_order_refuses(rack: Api, change: dict[str, Any], text: str) -> None:
    order = {"plan": PLAN, "metro": METRO, "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe", **change}
    assert await rack.refused("devices", order) == [text]
    device = await rack.active()
    before = list(rack.machines.calls)
    assert await rack.errors("POST", f"/devices/{device['id']}/actions", json={"type": "reinstall", **change}) == [text]
    assert (rack.state(device["id"]), rack.machines.calls) == ("active", before)


async def test_a_failed_device_is_reinstalled_on_its_server(rack: Api) -> None:
    """After its boot order or DHCP was repaired: the device keeps its id, address and userdata."""
    rack.machines.boots = False
    device = await rack.create(hostname="w1", userdata="#!ipxe\necho script of w1\n")
    await rack.until(lambda: rack.state(device["id"]) == "failed")
    failed = await rack.device(device["id"])
    # How docs/your-own-rack.md finds devices that a client has forgotten.
    listed = (await rack.api.get(f"{rack.project}/devices", params={"state": "failed"})).json()["devices"]
    assert [each["id"] for each in listed] == [device["id"]]
    assert (await rack.api.get(f"{rack.project}/devices", params={"state": "active"})).json()["devices"] == []
    assert await actions(rack, device["id"]) == ["reinstall"]
    for kind in ("reboot", "power_on"):
        [text] = await rack.errors("POST", f"/devices/{device['id']}/actions", json={"type": kind})
        assert text.endswith("a device that is failed")
    rack.machines.boots = True
    answer = await rack.api.post(f"/devices/{device['id']}/actions", json={"type": "reinstall"})
    assert answer.status_code == 202, answer.text
    await rack.until(lambda: rack.state(device["id"]) == "active")
    again = await rack.device(device["id"])
    assert [each["address"] for each in again["ip_addresses"]] == [each["address"] for each in failed["ip_addresses"]] == ["127.92.0.10"]
    assert again["userdata"] == device["userdata"]
    assert ("reinstall", device["id"]) in rack.machines.calls


async def test_a_server_that_boots_for_ever_cannot_fill_the_memory(rack: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    device = await rack.active(always_pxe=True)
    most = len(await rack.events(device["id"])) + 1
    monkeypatch.setattr(boot, "MOST_EVENTS", most)
    async with machine_client(rack.boot_url, "127.92.0.10") as machine:
        for _boot in range(3):
            assert (await machine.get("/auto.ipxe")).status_code == 200
    assert len(await rack.events(device["id"])) == most


async def test_a_rescue_without_a_rescue_system_is_not_listed(rack: Api) -> None:
    device = await rack.active()
    listed = await actions(rack, device["id"])
    assert listed == ["power_off", "reboot", "reinstall"]
    [text] = await rack.errors("POST", f"/devices/{device['id']}/actions", json={"type": "rescue"})
    assert "--rescue-script-url" in text


async def test_the_reservation_of_a_server_is_moved_in_the_rack_file_alone(rack: Api) -> None:
    """The next list of Ironic's nodes undid a move, after an order of the other project had been accepted."""
    servers, reservations = rack.world.service(Servers), rack.world.store["hardware_reservations"]
    servers.refresh([replace(SERVER, reserved_for="sandbox")])
    other = (await rack.api.post("/projects", json={"name": "other"})).json()["id"]
    assert await rack.errors("POST", f"/hardware-reservations/{SERVER.id}/move", json={"project_id": other}) == [
        "Cannot move the hardware reservation of server r1-u1: reserved_for in the rack file sets its project"
    ]
    assert reservations[SERVER.id].project_id == rack.world.project_id
    servers.refresh([replace(SERVER, reserved_for="other")])
    assert reservations[SERVER.id].project_id == other


# Of a Metal Gateway there is no list on a rack, which has none.
@pytest.mark.parametrize(("path", "expected"), [each for each in EMPTY.items() if not each[0].startswith("/metal-gateways/")])
async def test_what_nobody_can_add_to_is_empty(rack: Api, path: str, expected: dict[str, Any]) -> None:
    ids = {"projects": rack.world.project_id, "organizations": next(iter(rack.world.store[Organization])).id}
    if path.startswith("/devices/"):
        ids["devices"] = (await rack.active())["id"]
    answer = await rack.api.get(path.format(id=ids.get(path.split("/")[1], "")))
    assert (answer.status_code, answer.json()) == (200, expected)


async def test_what_a_plain_network_does_not_have_is_refused(rack: Api) -> None:
    device = await rack.active()
    of = {"ports": device["network_ports"][0]["id"], "devices": device["id"], "projects": rack.world.project_id}
    for method, path in REFUSED:
        [text] = await rack.errors(method, re.sub(r"\{\w+\}", of[path.split("/")[1]], path), json=BODIES.get(f"{method} {path}", {}))
        assert "not available" in text, (path, text)
        assert "plain network" in text, (path, text)
