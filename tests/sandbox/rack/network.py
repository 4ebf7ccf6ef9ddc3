"""A network namespace with a bridge, a DHCP server and a boot service of files, for the machines of a rack."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.eventually import until

BRIDGE = "br0"
ADDRESS = "10.77.0.1"
BOOT_URL = f"http://{ADDRESS}:8090"

_SET_UP = f"""
set -e
ip link set lo up
ip link add {BRIDGE} type bridge forward_delay 0
ip address add {ADDRESS}/24 dev {BRIDGE}
ip address add fd00:77::1/64 dev {BRIDGE} nodad
ip link set {BRIDGE} up
echo ready
exec sleep infinity
"""
# iPXE of 2019 waits 13 seconds for a router advertisement, and 3 for a proxy of DHCP unless option 175 says that there is none.
COMMON_DHCP = f"""
port=0
interface={BRIDGE}
bind-interfaces
dhcp-range=10.77.0.50,10.77.0.90,1h
no-daemon
log-facility=-
"""
_DHCP = f"""{COMMON_DHCP}
dhcp-userclass=set:ipxe,iPXE
dhcp-boot=tag:ipxe,{BOOT_URL}/boot.ipxe
dhcp-option=encap:175,176,1b
enable-ra
dhcp-range=fd00:77::,ra-only,64
"""
_ASK = """
import json, sys, urllib.request
method, url, authorization, body = sys.argv[1:]
headers = {"Authorization": authorization, "Content-Type": "application/json"}
request = urllib.request.Request(url, method=method, headers=headers, data=body.encode() or None)
with urllib.request.urlopen(request, timeout=60) as answer:
    print(answer.read().decode() or "{}")
"""


class Network:
    """``www``: what the boot service has; a file that is not there is answered with 404."""

    def __init__(self, folder: Path, holder: int) -> None:
        self._folder = folder
        self.www = folder / "www"
        self.inside = ["nsenter", "--target", str(holder), "--user", "--net", "--preserve-credentials"]
        self._requests = folder / "boot-service.log"

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a program in the namespace; its output goes into a file."""
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen([*self.inside, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Run the boot service."""
        before = self._times_started()
        words = [sys.executable, "-u", "-m", "http.server", "--directory", str(self.www), "--bind", ADDRESS, "8090"]
        process = self.start("boot-service", *words)
        try:
            until(lambda: self._times_started() > before, "the boot service listens")
            yield
        finally:
            process.kill()
            process.wait()

    def _times_started(self) -> int:
        return self._requests.read_text(encoding="utf-8").count("Serving HTTP on") if self._requests.exists() else 0

    def requests(self) -> list[str]:
        """Paths that were asked for, with the status they got: ``/auto.ipxe?mac=... 200``."""
        lines = self._requests.read_text(encoding="utf-8").splitlines() if self._requests.exists() else []
        words = [line.split() for line in lines if '"GET ' in line]
        return [f"{line[6]} {line[8]}" for line in words]

    def ask(self, method: str, url: str, authorization: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer of a server in the namespace."""
        command = [*self.inside, sys.executable, "-c", _ASK, method, url, authorization, "" if body is None else json.dumps(body)]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return found


@contextmanager
def network(folder: Path, dhcp: str = _DHCP) -> Iterator[Network]:
    """Make the namespace, which needs no privileges, and end all that was started for it. ``dhcp``: configuration of its dnsmasq."""
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _SET_UP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        started = []
        try:
            assert holder.stdout is not None
            assert holder.stderr is not None
            if holder.stdout.readline() != "ready\n":
                raise RuntimeError(f"no network namespace: {holder.stderr.read()}")
            made = Network(folder, holder.pid)
            made.www.mkdir()
            configuration = folder / "dnsmasq.conf"
            configuration.write_text(f"{dhcp}dhcp-leasefile={folder / 'leases'}\n", encoding="utf-8")
            started.append(made.start("dnsmasq", "dnsmasq", "--conf-file=" + str(configuration)))
            yield made
            assert started[0].poll() is None, (folder / "dnsmasq.log").read_text(encoding="utf-8")
        finally:
            for process in started:
                process.kill()
                process.wait()
            holder.kill()
