"""The server and its Ironic are killed at any moment of orders and deletions: no server is lost, and none is two devices."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import keystoneauth1.exceptions
import pytest

from metal_api.ironic.embedded import Access
from tests.metal_api.ironic.fake_rack import FakeRack
from tests.metal_api.ironic.killed import differences, moments
from tests.metal_api.ironic.server import Server, rack_file, running_server
from tests.system_packages import BOOT_ISO

pytestmark = pytest.mark.debian(*BOOT_ISO)

SERVERS = 4
MOMENTS = 10
WORK = 3.0
"""Seconds that orders and deletions of two devices take."""


@pytest.fixture
def server(tmp_path: Path, rack: FakeRack) -> Iterator[Server]:
    """With four servers, of which three are ordered and deleted again and again."""
    with running_server(tmp_path, rack, "127.90.0", SERVERS) as running:
        yield running


def _work(server: Server, turn: int) -> None:
    """Order two devices, and delete one of the last turn; a server that dies meanwhile is the point."""
    with contextlib.suppress(httpx.HTTPError):
        for name, id_ in server.ids().items():
            if name.startswith(f"t{turn - 1}-"):
                server.api.delete(f"/devices/{id_}")
        for number in range(2):
            server.order(hostname=f"t{turn}-{number}")


def _settle_and_check(server: Server, rack: FakeRack) -> None:
    """Wait until nothing goes on, and compare both sides: every device is one node, every other node is free."""

    def differ() -> list[str]:
        bare = rack.connection.baremetal
        try:
            answers = [bare.get(path, microversion="1.80") for path in ("/nodes/detail", "/allocations")]
        except keystoneauth1.exceptions.ClientException as error:
            return [str(error)]
        if any(each.status_code != 200 for each in answers):
            return [each.text for each in answers]
        nodes, allocations = (each.json() for each in answers)
        devices = server.devices()
        found = [f"{name} is {state}" for name, state in devices.items() if state != "active"]
        if server.free() + len(devices) != SERVERS:
            found.append(f"{server.free()} servers are free beside {len(devices)} devices")
        return found + differences(server.ids().values(), nodes["nodes"], allocations["allocations"])

    server.until(lambda: not differ(), 120, "every device is one node, and every other node is free")


@pytest.mark.parametrize("at", [[0.4, 1.5], pytest.param(moments(MOMENTS, WORK), marks=pytest.mark.long)], ids=["two", "ten"])
def test_the_server_is_killed(server: Server, rack: FakeRack, at: list[float]) -> None:
    for turn, moment in enumerate(at):
        _work(server, turn)
        time.sleep(moment)
        server.kill()
        server.start()
        _settle_and_check(server, rack)


@pytest.mark.parametrize("at", [[0.8], pytest.param(moments(MOMENTS, WORK), marks=pytest.mark.long)], ids=["one", "ten"])
def test_the_ironic_is_killed(server: Server, rack: FakeRack, at: list[float]) -> None:
    for turn, moment in enumerate(at):
        _work(server, turn)
        time.sleep(moment)
        pid = rack.ironic.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        _settle_and_check(server, rack)


def test_the_ironic_of_its_own_ends_with_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path, rack_file(tmp_path / "rack.yml", "127.90.1", 1))
    server.start()
    try:
        url, password = ((server.state / "ironic" / name).read_text(encoding="ascii").strip() for name in ("url", "password"))
        assert httpx.get(f"{url}/v1/nodes").status_code == 401
        assert Access(url, "metal-api", password).connect().baremetal.get("/nodes").status_code == 200
        server.until(lambda: server.free() == 1, what="the server is offered")
        server.kill()
        deadline = time.monotonic() + 20
        while True:
            try:
                # An answer may be cut off by the end.
                with contextlib.suppress(httpx.ReadError, httpx.RemoteProtocolError):
                    httpx.get(f"{url}/v1/nodes")
            except httpx.ConnectError:
                break
            assert time.monotonic() < deadline, "Ironic has outlived the server"
            time.sleep(0.1)
        # Not when it has finished what it had begun: the next Ironic begins then.
        assert "graceful exiting" not in (server.state / "ironic" / "ironic.log").read_text(encoding="utf-8")
        server.start()
        server.until(lambda: server.free() == 1, what="the server is offered again")
    finally:
        server.stop()
