"""``python -m metal_api serve`` as a process that tests kill and start again."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from metal_api.ironic.embedded import Access
from tests.metal_api.ironic.fake_rack import FakeRack
from tests.metal_api.ironic.firmware import Firmware
from tests.ports import free_port, free_ports

ROOT = Path(__file__).resolve().parents[3]


def rack_file(path: Path, metro_network: str, servers: int, plan: str = "c3.small.x86") -> Path:
    """Write the rack file of so many nodes of fake hardware in a network like ``127.90.0``."""
    lines = [
        "metros:",
        f"  - {{code: r1, name: Rack 1, country: DE, network: {metro_network}.0/24, gateway: {metro_network}.1,",
        f"     addresses: {metro_network}.10-{metro_network}.250}}",
        "servers:",
        *(
            f"  - {{name: r1-u{n:02d}, metro: r1, plan: {plan}, macs: ['52:54:00:01:00:{n:02x}'], bmc: {{driver: fake-hardware}}}}"
            for n in range(1, servers + 1)
        ),
    ]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


class Server:
    """``ironic``: None for one of its own."""

    def __init__(self, folder: Path, rack: Path, ironic: Access | None = None) -> None:
        self.state, self._log = folder / "state", folder / "log"
        api, boot = free_ports(2)
        self.boot_url = f"http://127.0.0.1:{boot}"
        self.command = [sys.executable, "-m", "metal_api", "serve", "--state", str(self.state), "--rack", str(rack), "--fake-hardware"]
        self.command += ["--plain-http", "--listen", f"127.0.0.1:{api}", "--boot-listen", f"127.0.0.1:{boot}"]
        if ironic is not None:
            password = folder / "password"
            password.touch(mode=0o600)
            password.write_text(ironic.password, encoding="utf-8")
            self.command += ["--ironic-url", ironic.url, "--ironic-user", ironic.user, "--ironic-password-file", str(password)]
        self.api = httpx.Client(base_url=f"http://127.0.0.1:{api}/metal/v1", timeout=20)
        self.project = ""
        self.metrics = ""
        self.process: subprocess.Popen[bytes] | None = None

    def use_tls(self) -> None:
        """Serve the API over TLS, with a client that takes any certificate: before the start there is none."""
        self.command.remove("--plain-http")
        self.api = httpx.Client(base_url=self.api.base_url.copy_with(scheme="https"), verify=False, timeout=20)  # noqa: S501 - see above

    def metric(self, name: str) -> float:
        """Return the value of a metric without labels."""
        lines = httpx.get(f"http://{self.metrics}/metrics").text.splitlines()
        [value] = [line.split()[1] for line in lines if line.startswith(f"{name} ")]
        return float(value)

    def start(self, within: float = 90) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, env=os.environ)
        assert self.process.stdout is not None
        readable, _w, _e = select.select([self.process.stdout], [], [], within)
        assert readable and self.process.stdout.readline() == b"# ready\n", self.log()
        self.api.headers["X-Auth-Token"] = self.token
        self.project = self.api.get("/projects").json()["projects"][0]["id"]

    @property
    def token(self) -> str:
        return (self.state / "token").read_text(encoding="ascii").strip()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        self.api.close()

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")[-4000:]

    def order(self, **fields: Any) -> httpx.Response:
        body = {"plan": "c3.small.x86", "metro": "r1", "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
        return self.api.post(f"/projects/{self.project}/devices", json={**body, "no_ssh_keys": True, **fields})

    def rename(self, name: str) -> httpx.Response:
        return self.api.put(f"/projects/{self.project}", json={"name": name})

    def devices(self) -> dict[str, str]:
        """Hostnames and states."""
        found = self.api.get(f"/projects/{self.project}/devices", params={"per_page": 1000}).json()["devices"]
        return {each["hostname"]: each["state"] for each in found}

    def ids(self) -> dict[str, str]:
        found = self.api.get(f"/projects/{self.project}/devices", params={"per_page": 1000}).json()["devices"]
        return {each["hostname"]: each["id"] for each in found}

    def free(self, plan: str = "c3.small.x86") -> int:
        found: int = self.api.get("/capacity/metros").json()["capacity"]["r1"][plan]["available_servers"]
        return found

    def until(self, condition: Any, seconds: float = 60, what: str = "") -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds:g} s: {what} {self.devices()}\n{self.log()}"
            time.sleep(0.1)


@contextmanager
def running_server(folder: Path, rack: FakeRack, metro_network: str, servers: int, *options: str) -> Iterator[Server]:
    """A server with its metrics, and so many nodes of fake hardware, whose machines boot; all of them are offered."""
    running = Server(folder, rack_file(folder / "rack.yml", metro_network, servers), rack.ironic.access)
    running.metrics = f"127.0.0.1:{free_port()}"
    running.command += ["--metrics-listen", running.metrics, *options]
    running.start()
    firmware = Firmware(rack.connection, running.boot_url)
    try:
        running.until(lambda: running.free() == servers, what="all servers are offered")
        yield running
    finally:
        running.stop()
        firmware.close()
