"""The database of an Ironic of the server's own is lost, as by an upgrade: its nodes are created again, and devices run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metal_api.ironic.embedded import USER, Access
from tests.metal_api.ironic.firmware import Firmware
from tests.metal_api.ironic.server import Server, rack_file
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


@pytest.mark.parametrize("lost", ["other versions", "no folder"])
def test_nodes_are_created_again_and_those_in_use_adopted(server: Server, lost: str) -> None:
    """SQLite cannot be migrated by Ironic: an upgrade ended in a server that did not start."""
    firmware = Firmware(access(server).connect(), server.boot_url)
    try:
        id_ = server.order(hostname="w1").json()["id"]
        server.until(lambda: server.devices() == {"w1": "active"}, 100, what="the device is active")
        server.until(lambda: "active" in {each[1] for each in nodes(server).values()}, 60, what="deployed")
    finally:
        firmware.close()
    before = nodes(server)
    address = server.api.get(f"/devices/{id_}").json()["ip_addresses"][0]["address"]
    assert server.process is not None
    server.process.terminate()
    server.process.wait(60)
    folder = server.state / "ironic"
    if lost == "other versions":
        (folder / "database-is-complete").write_text("of another version", encoding="ascii")
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
