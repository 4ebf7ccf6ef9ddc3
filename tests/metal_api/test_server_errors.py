"""What goes wrong in the server itself: committed changes are answered as such, and an operation ends in an event and a usable state."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from metal_api.audit import Audit
from metal_api.boot import BootMedia, create_boot_app
from metal_api.core.world import Environment, MetroNetwork
from metal_api.device_services import BootTokens
from metal_api.devices import lifecycle
from metal_api.devices.record import Device
from metal_api.servers import FoundServer, Servers
from metal_api.world import MetalWorld
from sandbox.clock import Clock
from sandbox.metal.world import SandboxWorld, of_sandbox
from tests.metal_api.conftest import Sandbox, ScriptedMachines, machine_client, serving
from tests.ports import free_port

METRO, PLAN = "da", "c3.small.x86"
NETWORK = MetroNetwork("127.94.0.0/24", "127.94.0.1", "127.94.0.10", "127.94.0.20")


@pytest.fixture
def server(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> FoundServer:
    """The only server of the plan: its devices stay when they have failed."""
    found = FoundServer("5f6e9a00-0000-4000-8094-000000000001", "r1-u1", PLAN, METRO, ("52:54:00:94:00:01",))
    sandbox.be_rack(monkeypatch, {METRO: NETWORK}, found)
    return found


@pytest.mark.parametrize("kind", ["full", "folder", "half"])
async def test_an_audit_log_that_cannot_be_written_changes_no_answer(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "audit.log"
    log = Audit({"full": Path("/dev/full"), "folder": tmp_path, "half": path}[kind])
    sandbox.world.store.observe = log.write
    write = os.write

    def half(descriptor: int, text: memoryview) -> int:
        if len(text) < 20:
            raise OSError(28, "No space left on device")
        return write(descriptor, text[: len(text) // 2])

    with monkeypatch.context() as full:
        if kind == "half":
            full.setattr(os, "write", half)
        device = await sandbox.active(hostname="one")
        assert (await sandbox.api.put(f"/devices/{device['id']}", json={"tags": ["x"]})).status_code == 200
        # A retry would order a second one.
        assert [each["hostname"] for each in (await sandbox.api.get(f"{sandbox.project}/devices")).json()["devices"]] == ["one"]
        assert kind != "half" or path.read_bytes() == b""
    monkeypatch.setattr(log, "_path", path)
    assert (await sandbox.api.put(f"/devices/{device['id']}", json={"tags": ["y"]})).status_code == 200
    lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["fields"] == ["tags"]
    assert {(each["kind"], each["what"]) for each in lines if each["id"] == device["id"]} == {
        ("devices", "created"),
        ("devices", "changed"),
    }
    assert [each["time"] for each in lines] == sorted(each["time"] for each in lines)
    assert len({json.dumps(each) for each in lines}) == len(lines)


async def test_an_error_in_an_operation_is_an_event(sandbox: Sandbox, server: FoundServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device would stay ``provisioning`` until a restart; it can be reinstalled or deleted, and that again after another error."""

    async def broken(*_arguments: object, **_options: object) -> None:
        raise KeyError("an error of the server")

    message = "Error of the Metal API server, its log has more: KeyError: 'an error of the server'"
    monkeypatch.setattr(sandbox.machines, "install", broken)
    device = await sandbox.create(hostname="one", plan=PLAN, metro=METRO)
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    assert f"provisioning.failed: {message}" in await sandbox.events(device["id"])
    assert sandbox.world.store[Device][device["id"]].server_id == server.id

    monkeypatch.setattr(sandbox.machines, "remove", broken)
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    assert f"deprovisioning.failed: {message}" in await sandbox.events(device["id"])

    monkeypatch.undo()
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")


async def test_an_error_at_one_termination_time_keeps_those_of_other_devices(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    end = lifecycle.Lifecycle.end

    def ends(self: lifecycle.Lifecycle, device: Device, why: str) -> None:
        if device.hostname == "one" and (failures := failures_left.pop() if failures_left else None):
            raise RuntimeError(failures)
        end(self, device, why)

    failures_left = ["an error of the server"]
    monkeypatch.setattr(lifecycle.Lifecycle, "end", ends)
    monkeypatch.setattr(lifecycle, "RETRY", 0.1)
    soon = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    ids = [(await sandbox.create(hostname=each, termination_time=soon))["id"] for each in ("one", "two")]
    await sandbox.until(lambda: [sandbox.state(each) for each in ids] == ["gone", "gone"])
    assert not failures_left


@contextmanager
def full_disk(sandbox: Sandbox) -> Iterator[None]:
    """Let the databases of a state folder grow no further."""
    connections = [sandbox.world.store.database.connection, sandbox.world._local.connection]  # type: ignore[attr-defined] # SQLite
    for each in connections:
        (pages,) = each.execute("PRAGMA page_count").fetchone()
        each.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        for each in connections:
            each.execute("PRAGMA max_page_count = 1000000")


async def test_a_full_disk_ends_no_reads_and_boots(
    sandbox: Sandbox, server: FoundServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox.machines.boots = False
    device = await sandbox.create(hostname="one", plan=PLAN, metro=METRO)
    await sandbox.until(lambda: ("install", device["id"]) in sandbox.machines.calls)
    sandbox.world.service(lifecycle.Lifecycle).server_boots(device["id"], "boots now")
    sandbox.world.service(Servers).refresh([server, FoundServer("node-2", "r1-u2", PLAN, METRO, ("52:54:00:94:00:02",))])
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    path = sandbox.world.service(BootTokens).path(sandbox.world.store[Device][device["id"]])
    async with (
        serving({port: create_boot_app(sandbox.world, BootMedia(tmp_path))}),
        machine_client(url, "127.94.0.10") as machine,
        machine_client(url, "127.94.0.11") as free,
    ):
        with full_disk(sandbox), caplog.at_level(logging.ERROR):
            assert (await sandbox.api.put(sandbox.project, json={"customdata": {"a": "b" * 20_000}})).status_code == 503
            # Each is an entry of the journal, which fills its last page first.
            for _number in range(100):
                assert (await sandbox.api.get(f"/devices/{device['id']}")).status_code == 200
                waiting = await free.get("/auto.ipxe", params={"mac": "a" * 1000})
                assert waiting.text.startswith("#!ipxe\necho This server is not in use.")
            assert sum("the journal cannot be written" in each.message for each in caplog.records) == 1
            # What is left of the last page of events.
            for _number in range(200):
                if (await machine.post(f"{path}/events", json={"message": "x"})).status_code == 503:
                    break
            boot = await machine.get("/auto.ipxe")
            assert (boot.status_code, "cannot be recorded now. Next try" in boot.text) == (200, True)
        boot = await machine.get("/auto.ipxe")
        assert "chain --autofree http://127.0.0.1/x.ipxe" in boot.text
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")


async def test_an_error_of_the_boot_service_boots_no_disk(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Firmware boots the local disk after any error of this request."""
    monkeypatch.setattr("metal_api.boot._of_server", lambda *_arguments: 1 / 0)
    port = free_port()
    async with serving({port: create_boot_app(sandbox.world, BootMedia(tmp_path))}), httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/auto.ipxe")
    assert (answer.status_code, answer.text.splitlines()[0]) == (200, "#!ipxe")
    assert "Next try" in answer.text


async def test_changes_of_servers_that_exist_survive_a_power_failure(tmp_path: Path) -> None:
    """A commit is on the disk (``synchronous=FULL``); simulated devices end with the power anyway. Requests of the journal are no state."""
    environment, owner = Environment("", "", "192.0.2.0/24", "198.51.100.0/24"), of_sandbox(1)
    rack = MetalWorld(tmp_path / "rack", ScriptedMachines(), environment=environment, owner=owner)
    sandbox = SandboxWorld(tmp_path / "sandbox", Clock(1), ScriptedMachines(), environment=environment, owner=owner)
    databases = [rack.store.database, sandbox.store.database, sandbox._local]
    assert [each.connection.execute("PRAGMA synchronous").fetchone()[0] for each in databases] == [2, 1, 1]  # type: ignore[attr-defined] # SQLite
    await rack.close()
    await sandbox.close()
