"""The boot and metadata services of a rack: a computer of the network that takes the address of a server gets nothing of its device."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from metal_api.app import create_machines_app
from metal_api.boot import BootMedia
from metal_api.core.neighbors import mac_of
from metal_api.core.world import MetroNetwork
from metal_api.devices.lifecycle import SERVER_BOOTS, Lifecycle
from metal_api.servers import FoundServer
from tests.metal_api.conftest import Sandbox, machine_client, serving
from tests.ports import free_port

METRO, PLAN, ADDRESS = "da", "c3.small.x86", "127.96.0.10"
NETWORK = MetroNetwork("127.96.0.0/24", "127.96.0.1", ADDRESS, "127.96.0.20")
MACS = ("52:54:00:96:00:01", "52:54:00:96:00:02")
FORGER = "52:54:00:66:66:66"
SECRET = "#!ipxe\necho the secret\n"


@dataclass
class Network:
    """``card``: the network card that calls from the address of the server; None: the kernel knows none, as behind a router."""

    url: str
    device: str
    card: str | None = MACS[0]

    async def call(self, method: str, path: str, **arguments: object) -> httpx.Response:
        async with machine_client(self.url, ADDRESS) as client:
            return await client.request(method, path, **arguments)  # type: ignore[arg-type] # of a test


@pytest.fixture
async def network(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Network]:
    """A device in provisioning whose server boots now."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    found = FoundServer("5f6e9a00-0000-4000-8096-000000000001", "r1-u1", PLAN, METRO, MACS)
    sandbox.be_rack(monkeypatch, {METRO: NETWORK}, found, url=url)
    sandbox.machines.boots = False
    device = await sandbox.create(hostname="one", plan=PLAN, metro=METRO, userdata=SECRET)
    await sandbox.until(lambda: ("install", device["id"]) in sandbox.machines.calls)
    made = Network(url, device["id"])
    monkeypatch.setattr("metal_api.device_services.mac_of", lambda address: made.card if address == ADDRESS else None)
    async with serving({port: create_machines_app(sandbox.world, BootMedia(tmp_path))}):
        yield made


def boots(sandbox: Sandbox, network: Network) -> None:
    sandbox.world.service(Lifecycle).server_boots(network.device, "boots now")
    assert SERVER_BOOTS in sandbox.world.store["devices"][network.device].progress


async def test_a_forged_address_gets_nothing_of_a_device(sandbox: Sandbox, network: Network) -> None:
    """It took the boot script, so that the real machine got 404, the userdata, and reported events."""
    boots(sandbox, network)
    network.card = FORGER
    for path in ("/auto.ipxe", "/userdata", "/metadata", "/api/v1/userdata", "/2009-04-04/user-data", "/2009-04-04/meta-data/hostname"):
        for _number in range(3):
            answer = await network.call("GET", path)
            assert "the secret" not in answer.text
            assert "This server is not in use" in answer.text if path == "/auto.ipxe" else answer.status_code == 404, answer.text
    await network.call("POST", "/phone-home")
    await network.call("POST", "/events", json={"message": "forged"})
    assert sandbox.state(network.device) == "provisioning"
    shown = await sandbox.events(network.device)
    warned = [each for each in shown if each.startswith("server.forged_address")]
    assert warned == [
        f"server.forged_address: {FORGER} uses the address {ADDRESS} of server r1-u1 ({', '.join(MACS)}): it gets nothing of this device"
    ]
    assert not any(each.endswith(": forged") for each in shown)

    # The machine itself, also with its other card.
    network.card = MACS[1]
    assert "the secret" in (await network.call("GET", "/auto.ipxe")).text
    await sandbox.until(lambda: sandbox.state(network.device) == "active")


async def test_userdata_is_there_after_the_devices_own_boot(sandbox: Sandbox, network: Network) -> None:
    for _number in range(2):
        assert (await network.call("GET", "/userdata")).status_code == 404
        boots(sandbox, network)
    await network.call("GET", "/auto.ipxe")
    assert (await network.call("GET", "/userdata")).text == SECRET


@pytest.mark.parametrize("card", [MACS[0], None])
async def test_events_need_the_token_of_the_device(sandbox: Sandbox, network: Network, card: str | None) -> None:
    """An address alone reports nothing; scripts of nodes find the URL in the metadata."""
    network.card = card
    boots(sandbox, network)
    script = (await network.call("GET", "/auto.ipxe")).text
    url = (await network.call("GET", "/metadata")).json()["phone_home_url"]
    assert url.startswith(f"{network.url}/devices/{network.device}/")
    assert f"set tinkerbell {url.removesuffix('/phone-home')}\n" in script
    await network.call("POST", "/events", json={"message": "by the address alone"})
    await network.call("POST", "/phone-home", data={"type": "forged", "body": "by the address alone"})
    wrong = url.replace(url.split("/")[-2], "0" * 64)
    async with httpx.AsyncClient() as anybody:
        await anybody.post(wrong.replace("phone-home", "events"), json={"message": "with a wrong token"})
        await anybody.post(
            url.replace(network.device, network.device[::-1]).replace("phone-home", "events"), json={"message": "of another"}
        )
        assert (await anybody.post(url.replace("phone-home", "events"), json={"message": "of the machine"})).status_code == 200
        assert (await anybody.post(url, data={"type": "own", "body": "progress"})).status_code == 200
    shown = {each.partition(": ")[2] for each in await sandbox.events(network.device)}
    assert {"of the machine", "progress"} <= shown
    assert not shown & {"by the address alone", "with a wrong token", "of another"}
    journal = (await sandbox.control.get("/journal", params={"service": "all"})).text
    assert url.split("/")[-2] not in journal


def test_the_neighbors_of_this_computer(tmp_path: Path) -> None:
    table = tmp_path / "arp"
    table.write_text(
        "IP address       HW type     Flags       HW address            Mask     Device\n"
        "10.20.0.50       0x1         0x2         52:54:00:AB:00:01     *        eno2\n"
        "10.20.0.51       0x1         0x0         00:00:00:00:00:00     *        eno2\n",
        encoding="ascii",
    )
    assert mac_of("10.20.0.50", table) == "52:54:00:ab:00:01"
    assert mac_of("10.20.0.51", table) is None
    assert mac_of("10.20.0.5", table) is None
    assert mac_of("10.20.0.50", tmp_path / "missing") is None
    # That of the kernel can be read.
    assert mac_of("127.0.0.1") is None
