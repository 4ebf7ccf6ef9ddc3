"""The database of an Ironic of the server's own is lost, as by an upgrade: its nodes are created again, and devices run on."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal_api.ironic.embedded import USER, Access
from tests.eventually import until
from tests.metal_api.ironic.firmware import Firmware
from tests.metal_api.ironic.server import ROOT, Server, rack_file
from tests.system_packages import BOOT_ISO

pytestmark = pytest.mark.debian(*BOOT_ISO)

SERVERS = 2


@pytest.fixture
def server(tmp_path: Path, ironic_programs: Path) -> Iterator[Server]:
    """With an Ironic of its own."""
    assert ironic_programs.is_dir()
    running = Server(tmp_path, rack_file(tmp_path / "rack.yml", "127.90.7", SERVERS))
    try:
        running.start(within=200)
        running.until(lambda: running.free() == SERVERS, 100, what="all servers are offered")
        yield running
    finally:
        running.stop()


def access(server: Server) -> Access:
    folder = server.state / "ironic"
    return Access((folder / "url").read_text(encoding="ascii").strip(), USER, (folder / "password").read_text(encoding="ascii"))


def nodes(server: Server) -> dict[str, tuple[str, str, str | None]]:
    found = (
        access(server).connect().baremetal.get("/nodes?fields=uuid,name,provision_state,instance_uuid", microversion="1.80").json()["nodes"]
    )
    return {each["name"]: (each["uuid"], each["provision_state"], each["instance_uuid"]) for each in found}


def kill_with_an_empty_database(server: Server) -> None:
    """Start the server, and kill it when the database of its Ironic is complete, before Ironic runs."""
    complete = server.state / "ironic" / "database-is-complete"
    server.process = subprocess.Popen(server.command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: complete.exists() and complete.read_text(encoding="ascii") != "of another version", within=120)
    server.kill()


def deployed(server: Server) -> str:
    """Order a device, wait until its server is deployed and runs, and return its id."""
    firmware = Firmware(access(server).connect(), server.boot_url)
    try:
        id_ = str(server.order(hostname="w1").json()["id"])
        server.until(lambda: server.devices() == {"w1": "active"}, 100, what="the device is active")
        server.until(lambda: "active" in {each[1] for each in nodes(server).values()}, 60, what="deployed")
    finally:
        firmware.close()
    return id_


@pytest.mark.parametrize("lost", ["other versions", "no folder", "other versions, and a kill before any node was created"])
def test_nodes_are_created_again_and_those_in_use_adopted(server: Server, lost: str) -> None:
    """SQLite cannot be migrated by Ironic: an upgrade ended in a server that did not start."""
    id_ = deployed(server)
    before = nodes(server)
    address = server.api.get(f"/devices/{id_}").json()["ip_addresses"][0]["address"]
    assert server.process is not None
    server.process.terminate()
    server.process.wait(60)
    folder = server.state / "ironic"
    if lost.startswith("other versions"):
        (folder / "database-is-complete").write_text("of another version", encoding="ascii")
        if "kill" in lost:
            kill_with_an_empty_database(server)
    else:
        for each in [*folder.glob("ironic.sqlite*"), folder / "database-is-complete", folder / "password"]:
            each.unlink()
    server.start(within=200)
    server.until(lambda: server.free() == SERVERS - 1, 100, what="the other server is offered")
    # The same servers, of which one is the device.
    assert nodes(server) == before
    device = server.api.get(f"/devices/{id_}").json()
    assert (device["state"], device["ip_addresses"][0]["address"]) == ("active", address)
    assert server.api.delete(f"/devices/{id_}").status_code == 204
    server.until(lambda: server.free() == SERVERS, 100, what="its server is free again")
    assert {each[2] for each in nodes(server).values()} == {None}


def test_no_server_is_lost_while_the_rack_file_cannot_be_used(server: Server, tmp_path: Path) -> None:
    """Free servers lost their records, and a deletion succeeded without power off and cleaning."""
    id_ = deployed(server)
    before = nodes(server)
    assert server.process is not None
    server.process.terminate()
    server.process.wait(60)
    (server.state / "ironic" / "database-is-complete").unlink()
    rack = tmp_path / "rack.yml"
    text = rack.read_text(encoding="utf-8")
    rack.write_text("metros: [", encoding="utf-8")
    server.start(within=200)
    assert server.api.delete(f"/devices/{id_}").status_code == 204
    server.until(lambda: server.devices() == {"w1": "failed"}, 60, what="the deletion fails")
    assert any("has no node in Ironic" in each["body"] for each in server.api.get(f"/devices/{id_}/events").json()["events"])
    rack.write_text(text, encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    server.until(lambda: server.free() == SERVERS - 1, 100, what="the other server is offered")
    server.until(lambda: nodes(server) == before, 60, what="the nodes are as they were")
    assert server.api.delete(f"/devices/{id_}").status_code == 204
    server.until(lambda: server.free() == SERVERS, 100, what="its server is free again")
