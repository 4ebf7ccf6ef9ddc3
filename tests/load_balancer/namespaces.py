"""A router and two load balancers in network namespaces: real BIRD on both sides, real HAProxy, and the program of the role between them.

The router has the neighbors' addresses of the service (169.254.255.1 and .2), a subnet of two addresses for each load balancer, as private
addresses of devices are, and the backend. Its kernel spreads connections over the routes that it learns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import string
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.testing.process import REPOSITORY

ELASTIC = "198.51.100.7"
PEERS = ("169.254.255.1", "169.254.255.2")
PASSWORD = "Secret4Sessions"
ANNOUNCE = REPOSITORY / "roles/load_balancer/files/announce.py"
COUNT = 2
HOLD_TIME = 9

HAPROXY = """
defaults
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend health
  mode http
  bind 127.0.0.1:8404
  monitor-uri /healthz
frontend api
  mode tcp
  bind 0.0.0.0:6443
  default_backend api
backend api
  mode tcp
  server one 10.0.0.0:8080
"""


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Network:
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
        """Start the router's BIRD, the metadata service and the backend."""
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
        self._bird("router", self.folder / "router.conf")

    def _bird(self, part: str, configuration: Path) -> None:
        socket = self.folder / f"{part}.ctl"
        bird = program("bird")
        self.start(part, "bird", bird, "-f", "-c", str(configuration), "-s", str(socket), "-P", str(self.folder / f"{part}.pid"))

    def _balance(self, number: int) -> None:
        """Start a load balancer: BIRD as the distribution configures it, HAProxy, and the role's program."""
        part = f"lb{number}"
        configuration = self.folder / f"{part}.conf"
        configuration.write_text(f"router id 10.0.0.{2 * number + 1};\nprotocol device {{ }}\n", encoding="utf-8")
        self._bird(part, configuration)
        self.start_haproxy(number)
        own = ("--configuration", str(configuration), "--socket", str(self.folder / f"{part}.ctl"))
        self.start(part, "announce", *unit_command(f"http://10.0.0.{2 * number}:8080/metadata-{number}"), *own)

    def start_haproxy(self, number: int) -> None:
        configuration = self.folder / "haproxy.cfg"
        configuration.write_text(HAPROXY, encoding="utf-8")
        self.start(f"lb{number}", "haproxy", program("haproxy"), "-db", "-f", str(configuration))

    def cut(self, number: int) -> None:
        """Take the power of a load balancer. The link of the router stays up, as behind a switch, so the session ends by its hold time."""
        self.inside(f"lb{number}", "ip", "link", "set", "bond0", "address", "02:00:00:00:00:01", "arp", "off")
        for what in ("announce", "haproxy", "bird"):
            self.kill(f"lb{number}", what)

    def log(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted(self.folder.glob("*.log")))


def unit_command(metadata_url: str) -> list[str]:
    """Return the command of the role's unit, with its program and its file of settings."""
    found = re.search(r"^ExecStart=(.*)$", ANNOUNCE.with_suffix(".service").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    settings = {"ADDRESS": ELASTIC, "METADATA_URL": metadata_url}
    interpreter, _program, *words = found[1].split()
    assert interpreter == "/usr/bin/python3"
    return [sys.executable, str(ANNOUNCE), *(string.Template(word).substitute(settings) for word in words)]


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
