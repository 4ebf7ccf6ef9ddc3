"""What an operator may edit or delete: the server starts all the same, and somebody can write to it."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from metal_api.__main__ import main
from metal_api.catalogue.data import Catalogue, Plan, catalogue, own_metro, set_catalogue
from metal_api.core.machines import Hardware
from metal_api.core.world import MetroNetwork
from metal_api.devices.lifecycle import Lifecycle
from metal_api.serve import load_rack, rack_in_force
from metal_api.servers import FoundServer, Server
from metal_api.state_folder import StartError, locked
from tests.metal_api.conftest import ScriptedMachines, machine_client, sandbox_in

PLAN = Plan(
    "r640.x86",
    "Xeon Gold 6130",
    16,
    192,
    ({"count": 2, "size_gb": 480, "type": "SSD", "category": "boot"},),
    2,
    "10Gbps",
    0.4,
    "standard",
    (),
)
SERVER = FoundServer("5f6e9a00-0000-4000-8095-000000000001", "r1-u1", PLAN.slug, "lab", ("52:54:00:95:00:01",))
NETWORK = MetroNetwork("127.95.0.0/24", "127.95.0.1", "127.95.0.10", "127.95.0.20")
RACK = """\
metros:
  - {code: lab, name: Laboratory, country: DE, network: 127.95.0.0/24, gateway: 127.95.0.1, addresses: 127.95.0.10-127.95.0.20}
plans:
  - slug: r640.x86
    cpu: Xeon Gold 6130
    cores: 16
    memory_gb: 192
    drives: [{count: 2, size_gb: 480, type: SSD, category: boot}]
"""


@pytest.fixture
def lab() -> Iterator[None]:
    """The catalogue of a rack, until the test sets another."""
    before = catalogue()
    set_catalogue(Catalogue([own_metro("lab", "Laboratory", "DE")], [PLAN]))
    yield
    set_catalogue(before)


@pytest.mark.usefixtures("lab")
async def test_a_plan_and_a_metro_of_a_device_are_taken_out_of_the_rack_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server did not start again (KeyError)."""
    order = {"plan": PLAN.slug, "metro": "lab"}

    async with sandbox_in(tmp_path, strict=False) as sandbox:
        sandbox.be_rack(monkeypatch, {"lab": NETWORK}, SERVER)
        sandbox.machines.boots = False
        device = await sandbox.create(hostname="one", **order)
        await sandbox.until(lambda: ("install", device["id"]) in sandbox.machines.calls)
        sandbox.world.service(Lifecycle).server_boots(device["id"], "boots now")
        async with machine_client(sandbox.boot_url, "127.95.0.10") as machine:
            assert (await machine.get("/auto.ipxe")).status_code == 200
        await sandbox.until(lambda: sandbox.world.store["devices"][device["id"]].pending is None)
        assert sandbox.state(device["id"]) == "active"
        known = sandbox.world.store[Server][SERVER.id]
        assert (known.address, known.gateway) == ("127.95.0.10", "127.95.0.1")
    set_catalogue(Catalogue([own_metro("new", "New", "DE")]))
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        sandbox.be_rack(monkeypatch, {}, replace(SERVER, unavailable="its plan is not in the rack file"))
        # Its network stays that of the device.
        assert replace(sandbox.world.store[Server][SERVER.id], unavailable="") == known
        shown = await sandbox.device(device["id"], include="plan,metro")
        assert (shown["plan"]["slug"], shown["metro"]["code"], shown["state"]) == (PLAN.slug, "lab", "active")
        for path in (
            f"/devices/{device['id']}/metadata",
            f"{sandbox.project}/devices",
            "/plans",
            "/metros",
            "/capacity/metros",
            f"{sandbox.project}/usages",
        ):
            assert (await sandbox.api.get(path)).status_code == 200, path
        assert PLAN.slug not in (await sandbox.api.get("/plans")).text
        (text,) = await sandbox.refused("devices", {**order, "metro": "new", "operating_system": "custom_ipxe"})
        assert text == "r640.x86 is not a valid plan"
        assert (await sandbox.api.post(f"/devices/{device['id']}/actions", json={"type": "reboot"})).status_code == 202
        await sandbox.until(lambda: sandbox.world.store["devices"][device["id"]].pending is None)
        assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
        await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")


async def test_the_server_starts_with_a_device_that_cannot_be_restored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As one of a plan with more drives than there were names: neither the API nor the boot service of all other devices started."""
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        ids = [(await sandbox.active(hostname=each))["id"] for each in ("one", "two")]
        await sandbox.until(lambda: all(each.pending is None for each in sandbox.world.store["devices"]))

    class Machines(ScriptedMachines):
        async def restore(self, hw: Hardware, *, is_on: bool) -> None:
            if hw.device_id == ids[0]:
                raise RuntimeError("an error of the server")
            await super().restore(hw, is_on=is_on)

    async with sandbox_in(tmp_path, strict=False, machines=Machines()) as sandbox:
        assert ("restore", ids[1]) in sandbox.machines.calls
        assert (await sandbox.device(ids[0]))["state"] == "active"
    assert f"one ({ids[0]}) is not restored" in caplog.messages


def test_a_rack_file_that_cannot_be_used_stops_no_later_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, state = tmp_path / "rack.yml", tmp_path / "state"
    state.mkdir()
    path.write_text("metros: [", encoding="utf-8")
    with pytest.raises(StartError, match="nothing was started"):
        rack_in_force(path, state)
    (tmp_path / "password").touch(0o600)
    (tmp_path / "password").write_text("secret", encoding="utf-8")
    servers = (
        "servers: [{name: r1-u1, metro: lab, bmc: {driver: redfish, address: 'https://127.95.1.1', user: a, password_file: password}}]\n"
    )
    path.write_text(RACK + servers, encoding="utf-8")
    rack = rack_in_force(path, state)
    assert [each.name for each in rack.servers] == ["r1-u1"]
    for broken in ("metros: [", "", "servers: [{name: 7}]\n", RACK + servers.replace("password_file: password", "password_file: missing")):
        path.write_text(broken, encoding="utf-8")
        with caplog.at_level(logging.ERROR):
            kept = rack_in_force(path, state)
        # Nothing is enrolled of it, and devices keep their network.
        assert (kept.metros, kept.plans, kept.servers) == (rack.metros, rack.plans, ())
        assert "correct the file and reload it" in caplog.records[-1].message
    path.unlink()
    assert rack_in_force(path, state).metros == load_rack(state / "rack-in-force.yml").metros
    assert "secret" not in (state / "rack-in-force.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("left", ["none", "a key that reads", "a key of a project"])
async def test_a_key_is_made_when_nobody_can_write(tmp_path: Path, left: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The server did not start without any (StopIteration), and no command made one."""
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        if left != "none":
            path = "/user/api-keys" if left == "a key that reads" else f"{sandbox.project}/api-keys"
            await sandbox.api.post(path, json={"description": "left", "read_only": left == "a key that reads"})
        for each in (await sandbox.api.get("/user/api-keys")).json()["api_keys"]:
            if not each["read_only"]:
                assert (await sandbox.api.delete(f"/api-keys/{each['id']}")).status_code == 204
        assert await sandbox.errors("GET", "/projects", 401)
        with locked(tmp_path, "server"):
            assert main(["key", "--state", str(tmp_path)]) == 1
            assert "another server (process " in capsys.readouterr().err
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        assert sandbox.world.token == ""
    assert main(["key", "--state", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/token\n"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        assert sandbox.world.token == (tmp_path / "token").read_text(encoding="ascii").strip()
        assert (await sandbox.api.put(sandbox.project, json={"name": "written"})).status_code == 200
