"""A rack of emulated machines with real firmware, and ``python -m metal_api serve`` with an Ironic and DHCP of its own beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from metal_api.ironic.embedded import ensure_ironic
from sandbox.rack.model import RackConfig, RackMachine
from sandbox.rack.rack import Rack, ensure_emulator
from tests.metal_api.ironic.fake_rack import Background

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = "br0"
ADDRESS = "10.78.0.1"
PLAN = "qemu.small.x86"
BOOT_TIMEOUT = 150
"""Seconds until a machine that does not boot has failed. UEFI with its own drivers takes 15 s, four machines on two busy cores far more."""
METRO = "lab"
SCRIPT = "#!ipxe\n:wait\necho The script of the test waits\nsleep 60\ngoto wait\n"
"""A machine has to stay in it: one that ends, or is no script for the iPXE of BIOS, can reset the machine, which then boots once more."""
_SET_UP = f"""
set -e
ip link set lo up
ip link add {BRIDGE} type bridge forward_delay 0
ip address add {ADDRESS}/24 dev {BRIDGE}
ip link set {BRIDGE} up
echo ready
exec sleep infinity
"""
BIOS, BY_PXE, UEFI, NO_CABLE = "r1-u1", "r1-u2", "r1-u3", "r1-u4"
RACK_FILE = f"""
metros:
  - code: {METRO}
    name: Laboratory
    country: DE
    network: 10.78.0.0/24
    gateway: {ADDRESS}
    addresses: 10.78.0.50-10.78.0.99
    dhcp_interface: {BRIDGE}
plans:
  - slug: {PLAN}
    cpu: QEMU TCG
    cores: 1
    memory_gb: 1
    drives: [{{count: 1, size_gb: 3, type: SSD, category: boot}}]
    ports: 1
defaults:
  metro: {METRO}
  plan: {PLAN}
  bmc: {{driver: redfish, user: admin, password_file: bmc-password, verify_ca: false}}
servers:
"""


def _machine(number: int, **fields: Any) -> RackMachine:
    return RackMachine(
        f"r1-u{number}", f"5f6e9a00-0000-4000-8078-{number:012x}", (f"52:54:00:78:00:{number:02x}",), memory_mb=1024, disk_gb=3, **fields
    )


WRONG_PASSWORD = (
    "  - {name: r1-u9, bmc: {address: 'http://127.0.0.1:8000', system: /redfish/v1/Systems/5f6e9a00-0000-4000-8078-000000000009,"
    " password_file: wrong-password}}"
)
MACHINES = (_machine(1), _machine(2), _machine(3, firmware="uefi"), _machine(4, cabled=False))


@dataclass
class RunningRack:
    """``api``: of the Metal API, as its first user."""

    rack: Rack
    folder: Path
    inside: list[str]
    api: httpx.Client
    project: str
    command: list[str]
    server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the Metal API server, and wait until it serves."""
        with (self.folder / "server.log").open("ab") as log:
            self.server = subprocess.Popen(self.command, cwd=ROOT, stdout=log, stderr=log)
        self.until(lambda: "# ready" in self.log and (self.folder / "api").exists(), 120, "the server has started")
        self.api.headers["X-Auth-Token"] = (self.folder / "state" / "token").read_text(encoding="ascii").strip()
        self.project = self.api.get("/projects").json()["projects"][0]["id"]

    def stop(self) -> None:
        if self.server is not None and self.server.poll() is None:
            self.server.terminate()
            self.server.wait(30)

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def order(self, hostname: str, **fields: Any) -> httpx.Response:
        body = {"plan": PLAN, "metro": METRO, "operating_system": "custom_ipxe", "userdata": SCRIPT, "no_ssh_keys": True}
        return self.api.post(f"/projects/{self.project}/devices", json={**body, "hostname": hostname, **fields})

    def device(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"/devices/{id_}").json()
        return found

    def events(self, id_: str) -> list[str]:
        answer = self.api.get(f"/devices/{id_}/events", params={"per_page": 1000})
        return [f"{each['type']}: {each['body']}" for each in answer.json()["events"]]

    def free(self) -> int:
        found: int = self.api.get("/capacity/metros").json()["capacity"][METRO][PLAN]["available_servers"]
        return found

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}\n{self.log[-3000:]}"
            time.sleep(0.5)

    def until_state(self, id_: str, state: str, seconds: float = 180) -> None:
        self.until(
            lambda: self.device(id_)["state"] == state, seconds, f"device is {state}: {self.device(id_)['state']} {self.events(id_)[:4]}"
        )

    def delete(self, id_: str) -> None:
        answer = self.api.delete(f"/devices/{id_}")
        assert answer.status_code == 204, answer.text
        self.until(lambda: self.api.get(f"/devices/{id_}").status_code != 200, 180, "the device is gone")

    def is_on(self, name: str) -> bool:
        """Whether a machine runs, by its process and not by its BMC."""
        return self.booted_at(name) is not None

    def booted_at(self, name: str) -> float | None:
        """Return when the process of a machine was started, by :func:`time.clock_gettime` with ``CLOCK_BOOTTIME``; None if it is off."""
        # By a path of this rack: another one may have machines with the same UUIDs.
        pattern = f"^[^ ]*qemu-system-x86_64 .*{re.escape(str(self.rack.console(name)))}"
        found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False)
        try:
            fields = Path(f"/proc/{found.stdout.split()[0]}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except (IndexError, OSError):
            return None
        # Field 22 of proc(5), of which the first two are cut off.
        return int(fields[19]) / os.sysconf("SC_CLK_TCK")

    def medium(self, name: str) -> str:
        """Return the file in the virtual CD drive of a machine, empty for none."""
        file = self.folder / "rack" / name / "state.json"
        return str(json.loads(file.read_text(encoding="utf-8"))["media"]) if file.exists() else ""

    def ironic(self, kind: str) -> list[dict[str, Any]]:
        """Return ``nodes`` or ``allocations`` of the server's Ironic. Raises :class:`httpx.HTTPError` while that does not answer."""
        password = (self.folder / "state" / "ironic" / "password").read_text(encoding="ascii")
        transport = httpx.HTTPTransport(uds=str(self.folder / "ironic"))
        headers = {"X-OpenStack-Ironic-API-Version": "1.80"}
        with httpx.Client(transport=transport, auth=("metal-api", password), headers=headers, timeout=20) as client:
            answer = client.get(f"http://localhost/v1/{kind}{'/detail' if kind == 'nodes' else ''}").raise_for_status()
        found: list[dict[str, Any]] = answer.json()[kind]
        return found


@pytest.fixture(scope="session")
def namespace() -> Iterator[list[str]]:
    """Words that run a command in a network namespace with a bridge."""
    with subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _SET_UP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"no network namespace: {holder.stderr.read()}")
        yield ["nsenter", "--target", str(holder.pid), "--user", "--net", "--preserve-credentials"]
        holder.kill()


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory, namespace: list[str]) -> Iterator[RunningRack]:
    """Four machines: two with BIOS, of which one boots by PXE, one with UEFI, one without a cable; a fifth server has a wrong password."""
    folder = tmp_path_factory.mktemp("rack")
    config = RackConfig(folder / "rack", MACHINES, "127.0.0.1", 8000, "admin", "secret", bridge=BRIDGE)
    emulated = Rack(config, ensure_emulator(), inside=namespace)
    ensure_ironic()
    _write_files(folder)
    background = Background()
    background.run(emulated.start())
    command = [*namespace, sys.executable, "-m", "metal_api", "serve", "--state", str(folder / "state"), "--rack", str(folder / "rack.yml")]
    command += ["--plain-http", "--listen", "127.0.0.1:8800", "--boot-listen", f"{ADDRESS}:8801", "--boot-timeout", str(BOOT_TIMEOUT)]
    url = folder / "url"
    url.write_text("http://127.0.0.1:8800", encoding="ascii")
    program = str(Path(__file__).with_name("relay.py"))
    with (folder / "relay.log").open("wb") as log:
        relays = [
            subprocess.Popen([*namespace, sys.executable, program, str(folder / name), str(file)], stdout=log, stderr=log)
            for name, file in (("api", url), ("ironic", folder / "state" / "ironic" / "url"))
        ]
    api = httpx.Client(base_url="http://localhost/metal/v1", transport=httpx.HTTPTransport(uds=str(folder / "api")), timeout=30)
    running = RunningRack(emulated, folder, namespace, api, "", command)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        for relay in relays:
            relay.kill()
            relay.wait()
        background.run(emulated.stop())
        background.close()


def _write_files(folder: Path) -> None:
    for name, text in (("bmc-password", "secret\n"), ("wrong-password", "guess\n")):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text, encoding="ascii")
    servers = []
    for each in MACHINES:
        bmc = f"{{address: 'http://127.0.0.1:8000', system: {each.system}}}"
        boot = "pxe" if each.name == BY_PXE else "virtual-media"
        servers.append(f"  - {{name: {each.name}, firmware: {each.firmware}, boot: {boot}, bmc: {bmc}}}")
    (folder / "rack.yml").write_text(RACK_FILE + "\n".join([*servers, WRONG_PASSWORD, ""]), encoding="utf-8")
