"""A router with real BIRD and two nodes in network namespaces, which announce an address to it.

The router has the neighbors' addresses of the service (169.254.255.1 and .2) and a subnet of two addresses for each node, as private
addresses of devices are. Its kernel spreads connections over the routes that it learns. `tests/containers` has load balancer devices.
"""

from __future__ import annotations

import abc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ELASTIC = "198.51.100.7"
PEERS = ("169.254.255.1", "169.254.255.2")
PASSWORD = "Secret4Sessions"
COUNT = 2

VIA = ("10.0.0.1", "10.0.0.3")

CLIENT = """
import http.client, sys, time
failed = 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    began = time.monotonic()
    try:
        connection = http.client.HTTPConnection(sys.argv[1], 6443, timeout=2)
        connection.request("GET", "/readyz")
        failed += connection.getresponse().status != 200
        connection.close()
    except OSError as problem:
        failed += 1
        print(f"{time.monotonic():.3f} {problem!r}", flush=True)
    time.sleep(max(0, 0.02 - (time.monotonic() - began)))
print("failed", failed, flush=True)
"""


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Network(abc.ABC):
    """The namespaces, and what runs in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._prefix = f"lb{os.getpid()}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def name(self, part: str) -> str:
        return f"{self._prefix}-{part}"

    def inside(self, part: str, *command: str) -> str:
        return run("ip", "netns", "exec", self.name(part), *command)

    def start(self, part: str, what: str, *command: str) -> None:
        """Start a program in a namespace. It is killed in the end."""
        with (self.folder / f"{part}-{what}.log").open("ab") as log:
            words = ["ip", "netns", "exec", self.name(part), *command]
            self._processes[f"{part}-{what}"] = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def kill(self, part: str, what: str) -> None:
        process = self._processes.pop(f"{part}-{what}")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def routes(self) -> str:
        """The router's routes to the elastic address."""
        return self.inside("router", "ip", "route", "show", f"{ELASTIC}/32")

    @contextmanager
    def running(self) -> Iterator[Network]:
        try:
            self._connect()
            self._serve()
            for number in range(COUNT):
                self._balance(number)
            yield self
        finally:
            for key in list(self._processes):
                self.kill(*key.split("-", 1))
            for part in ("router", *(f"lb{number}" for number in range(COUNT))):
                subprocess.run(["ip", "netns", "delete", self.name(part)], check=False, capture_output=True)

    def _connect(self) -> None:
        run("ip", "netns", "add", self.name("router"))
        self.inside("router", "ip", "link", "set", "lo", "up")
        for peer in PEERS:
            self.inside("router", "ip", "address", "add", f"{peer}/32", "dev", "lo")
        # By ports too, so that one client's connections go to both load balancers.
        self.inside("router", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1")
        for number in range(COUNT):
            part = f"lb{number}"
            run("ip", "netns", "add", self.name(part))
            self.inside("router", "ip", "link", "add", part, "type", "veth", "peer", "name", "bond0", "netns", self.name(part))
            self.inside("router", "ip", "address", "add", f"10.0.0.{2 * number}/31", "dev", part)
            self.inside("router", "ip", "link", "set", part, "up")
            self.inside(part, "ip", "address", "add", f"10.0.0.{2 * number + 1}/31", "dev", "bond0")
            self.inside(part, "ip", "link", "set", "lo", "up")
            self.inside(part, "ip", "link", "set", "bond0", "up")
            self.inside(part, "ip", "route", "add", "default", "via", f"10.0.0.{2 * number}")

    def _serve(self) -> None:
        """Start the router's BIRD and the metadata service."""
        sessions = "\n".join(
            f"protocol bgp lb{number}_{index} {{ local {peer} as 65530; neighbor 10.0.0.{2 * number + 1} as 65000; multihop 5; "
            f'password "{PASSWORD}"; ipv4 {{ import all; export none; }}; }}'
            for number in range(COUNT)
            for index, peer in enumerate(PEERS)
        )
        (self.folder / "router.conf").write_text(
            "router id 192.0.2.1;\nprotocol device { scan time 1; }\nprotocol direct { ipv4; }\n"
            f"protocol kernel {{ merge paths on; ipv4 {{ import none; export where source = RTS_BGP; }}; }}\n{sessions}\n",
            encoding="utf-8",
        )
        self.start_router_bird()
        for number in range(COUNT):
            (self.folder / f"metadata-{number}").write_text(json.dumps(metadata(number)), encoding="utf-8")
        (self.folder / "readyz").write_text("ok", encoding="utf-8")
        self.start("router", "web", sys.executable, "-m", "http.server", "--directory", str(self.folder), "8080")

    def start_router_bird(self) -> None:
        files = ("-c", "router.conf", "-s", "router.ctl", "-P", "router.pid")
        words = [word if word.startswith("-") else str(self.folder / word) for word in files]
        self.start("router", "bird", program("bird"), "-f", *words)

    @abc.abstractmethod
    def _balance(self, number: int) -> None:
        """Start what announces the address in the namespace of a node."""

    def log(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted(self.folder.glob("*.log")))


def await_routes(network: Network, *via: str, within: float = 40) -> float:
    """Return how long it took until the elastic address leads to these next hops and no others."""
    began = time.monotonic()
    while time.monotonic() < began + within:
        routes = network.routes()
        if all((address in routes) == (address in via) for address in VIA):
            return time.monotonic() - began
        time.sleep(0.1)
    raise AssertionError(f"routes after {within} s: {network.routes()!r}\n{network.log()}")


def requests(network: Network, seconds: float) -> int:
    """Send 50 requests a second to the elastic address from the router's side, and return how many failed."""
    output = network.inside("router", sys.executable, "-c", CLIENT, ELASTIC, str(seconds))
    return int(output.split()[-1])


def program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    assert found is not None, name
    return found


def metadata(number: int) -> dict[str, Any]:
    """The parts of a device's metadata that the program reads, in the form of recorded answers."""
    address = f"10.0.0.{2 * number + 1}"
    return {
        "network": {"addresses": [{"address": address, "gateway": f"10.0.0.{2 * number}", "management": True, "public": False}]},
        "bgp_neighbors": [
            {
                "address_family": 4,
                "customer_as": 65000,
                "customer_ip": address,
                "md5_enabled": True,
                "md5_password": PASSWORD,
                "multihop": True,
                "peer_as": 65530,
                "peer_ips": list(PEERS),
                "routes_in": [],
                "routes_out": [],
            }
        ],
    }
