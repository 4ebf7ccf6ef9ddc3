"""The Redfish API of the rack, with QEMU behind it: power, boot overrides, virtual media, inventory, faults, a killed emulator."""

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.rack.model import RackConfig, RackMachine
from sandbox.rack.rack import Rack, ensure_emulator
from tests.ports import free_port
from tests.sandbox.rack.boot_programs import write_cd, write_disk

pytestmark = pytest.mark.long

ONE = RackMachine("one", "5f6e9a00-0000-4000-8000-000000000001", ("52:54:00:00:00:01",), memory_mb=512, cores=2, disk_gb=3)
TWO = RackMachine("two", "5f6e9a00-0000-4000-8000-000000000002", ("52:54:00:00:00:02", "52:54:00:00:00:03"), memory_mb=2048)
WITHIN = 60.0


class _Rack:
    """A rack that runs, and a client of its BMCs."""

    def __init__(self, rack: Rack, media: str) -> None:
        self.rack, self.media = rack, media
        self.client = httpx.AsyncClient(base_url=rack.url, auth=("admin", "secret"), timeout=30)

    async def get(self, machine: RackMachine, path: str = "") -> dict[str, Any]:
        answer = await self.client.get(machine.system + path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def reset(self, machine: RackMachine, kind: str) -> httpx.Response:
        return await self.client.post(f"{machine.system}/Actions/ComputerSystem.Reset", json={"ResetType": kind})

    async def power(self, machine: RackMachine) -> str:
        return str((await self.get(machine))["PowerState"])

    async def set_boot(self, machine: RackMachine, target: str, enabled: str) -> None:
        boot = {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": enabled}
        answer = await self.client.patch(machine.system, json={"Boot": boot})
        assert answer.status_code == 204, answer.text

    async def boot(self, machine: RackMachine) -> tuple[str, str]:
        boot = (await self.get(machine))["Boot"]
        return boot["BootSourceOverrideTarget"], boot["BootSourceOverrideEnabled"]

    async def insert(self, machine: RackMachine, name: str) -> httpx.Response:
        action = f"{machine.system}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
        return await self.client.post(action, json={"Image": f"{self.media}/{name}"})

    def lines(self, machine: RackMachine) -> list[str]:
        """What the boot programs wrote to the console."""
        file = self.rack.console(machine.name)
        return re.findall(r"BOOTED [A-Z0-9]+", file.read_text(errors="replace")) if file.exists() else []

    async def wait_for_power(self, machine: RackMachine, state: str) -> None:
        deadline = time.monotonic() + WITHIN
        while await self.power(machine) != state:
            assert time.monotonic() < deadline, f"{machine.name} is not {state}"
            await asyncio.sleep(0.1)

    async def wait_for_lines(self, machine: RackMachine, enough: Callable[[list[str]], bool]) -> None:
        deadline = time.monotonic() + WITHIN
        while not enough(self.lines(machine)):
            assert time.monotonic() < deadline, f"{machine.name} booted {self.lines(machine)}"
            await asyncio.sleep(0.1)


@pytest.fixture(scope="module")
def python() -> Path:
    return ensure_emulator()


@pytest.fixture
def media(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which its files are served."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    folder = tmp_path / "media"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
async def rack(tmp_path: Path, python: Path, media: tuple[Path, str]) -> AsyncIterator[_Rack]:
    config = RackConfig(tmp_path / "rack", (ONE, TWO), "127.0.0.1", free_port(), "admin", "secret")
    started = _Rack(Rack(config, python), media[1])
    await started.rack.start()
    try:
        yield started
    finally:
        await started.client.aclose()
        await started.rack.stop()


def _disk(rack: _Rack, machine: RackMachine) -> Path:
    return rack.rack.config.folder / machine.name / "disk.qcow2"


def _qemus(rack: _Rack, machine: RackMachine) -> list[int]:
    """Process ids of the QEMUs that run this machine."""
    found, disk = [], str(_disk(rack, machine)).encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if disk in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


async def test_override_for_one_boot_is_used_up_by_it(rack: _Rack, media: tuple[Path, str]) -> None:
    write_cd(media[0] / "cd.iso", "BOOTED CD", "reset")
    write_disk(_disk(rack, ONE), "BOOTED DISK", "off")
    assert (await rack.insert(ONE, "cd.iso")).status_code == 204
    await rack.set_boot(ONE, "Cd", "Once")
    assert await rack.boot(ONE) == ("Cd", "Once")
    assert (await rack.reset(ONE, "On")).status_code == 204
    assert await rack.boot(ONE) == ("None", "Disabled")
    # The program on the CD resets, the one on the disk powers off: as an installer and its system do.
    await rack.wait_for_lines(ONE, lambda lines: "BOOTED DISK" in lines)
    await rack.wait_for_power(ONE, "Off")
    assert rack.lines(ONE) == ["BOOTED CD", "BOOTED DISK"]
    assert not _qemus(rack, ONE)


async def test_medium_that_cannot_be_fetched_is_refused(rack: _Rack) -> None:
    answer = await rack.insert(ONE, "absent.iso")
    assert answer.status_code == 400
    assert "404" in answer.text
    assert (await rack.get(ONE, "/VirtualMedia/Cd"))["Inserted"] is False
