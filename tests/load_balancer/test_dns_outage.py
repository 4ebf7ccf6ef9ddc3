"""HAProxy with the configuration of the role: members by their records while the DNS server fails in every way."""

import contextlib
import os
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import jinja2
import pytest

from sandbox.testing.process import REPOSITORY
from tests.eventually import until
from tests.load_balancer.namespaces import program

pytestmark = pytest.mark.debian("haproxy")

TEMPLATE = REPOSITORY / "roles/load_balancer/templates/haproxy.cfg.j2"
DEFAULT_HOLD = 30
"""Seconds after which HAProxy by default puts members into maintenance whose name cannot be resolved."""
OUTAGES = {"silent": None, "refused": dns.rcode.REFUSED, "server failure": dns.rcode.SERVFAIL, "no such name": dns.rcode.NXDOMAIN}
RESOLUTION_MAINTENANCE = 0x20
"""Bit of the administrative state (HAProxy, "show servers state"): in maintenance since its name cannot be resolved."""


class Names(socketserver.ThreadingUDPServer):
    """A DNS server that has one address for every name, or fails."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.address = "192.0.2.1"
        self.fails = False
        self.outage: dns.rcode.Rcode | None = None
        self.failed = 0


class Answer(socketserver.BaseRequestHandler):
    server: Names

    def handle(self) -> None:
        query, channel = self.request
        message = dns.message.from_wire(query)
        answer = dns.message.make_response(message)
        question = message.question[0]
        if self.server.fails:
            self.server.failed += 1
            if self.server.outage is None:
                return
            answer.set_rcode(self.server.outage)
        elif question.rdtype == dns.rdatatype.A:
            answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", self.server.address))
        channel.sendto(answer.to_wire(), self.client_address)


@contextlib.contextmanager
def names() -> Iterator[Names]:
    with Names() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Balancer:
    """HAProxy with the role's configuration, and a socket that shows the state of its members."""

    def __init__(self, folder: Path, resolver: str, address: str) -> None:
        self.control = folder / "control"
        settings = {
            "__load_balancer_cluster": "demo.metal.test",
            "__load_balancer_nameserver": resolver,
            "load_balancer_api_slots": 2,
            "load_balancer_ingress_slots": 2,
        }
        text = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), keep_trailing_newline=True).render(settings)
        configuration = folder / "haproxy.cfg"
        configuration.write_text(text.replace("global\n", f"global\n  stats socket {self.control} level admin\n", 1), encoding="utf-8")
        command = [program("haproxy"), "-db", "-f", str(configuration)]
        self.process = subprocess.Popen(command, env={"LB_ADDRESS": address}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def members(self) -> dict[str, set[str]]:
        """Return the addresses of the members that are not in maintenance, by backend."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.control))
            connection.sendall(b"show servers state\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        found: dict[str, set[str]] = {}
        for line in text.splitlines():
            fields = line.split()
            if len(fields) > 6 and fields[0].isdigit():
                backend, address, state = fields[1], fields[4], int(fields[6])
                members = found.setdefault(backend, set())
                if address != "-" and not state & RESOLUTION_MAINTENANCE:
                    members.add(address)
        return found


@pytest.fixture
def balancers(tmp_path: Path) -> Iterator[dict[str, tuple[Names, Balancer]]]:
    """A load balancer with a DNS server of its own for each outage, on loopback addresses of this process."""
    made: dict[str, tuple[Names, Balancer]] = {}
    with contextlib.ExitStack() as stack:
        for number, (name, outage) in enumerate(OUTAGES.items(), start=1):
            server = stack.enter_context(names())
            server.outage = outage
            folder = tmp_path / str(number)
            folder.mkdir()
            host = f"127.{os.getpid() >> 8 & 63 | 64}.{os.getpid() & 255}.{number}"
            balancer = Balancer(folder, f"127.0.0.1:{server.server_address[1]}", host)
            stack.callback(balancer.process.wait)
            stack.callback(balancer.process.kill)
            made[name] = server, balancer
        for _server, balancer in made.values():
            until(balancer.control.exists, "the control socket of HAProxy")
        yield made


def test_members_stay_while_the_dns_server_fails(balancers: dict[str, tuple[Names, Balancer]]) -> None:
    backends = {"api", "machine-config", "ingress-https", "ingress-http"}

    def all_have(address: str) -> bool:
        expected = {backend: {address} for backend in backends}
        return all(balancer.members() == expected for _server, balancer in balancers.values())

    until(lambda: all_have("192.0.2.1"), "every backend has the member of its record")
    for server, _balancer in balancers.values():
        server.fails = True
    until(lambda: all(server.failed for server, _balancer in balancers.values()), "every load balancer asks during the outage")
    end = time.monotonic() + DEFAULT_HOLD + 10
    lost: set[str] = set()
    while time.monotonic() < end:
        lost |= {name for name, (_server, balancer) in balancers.items() if any(not each for each in balancer.members().values())}
        time.sleep(0.5)
    assert lost == set()

    # Members follow their records again once the DNS server answers.
    for server, _balancer in balancers.values():
        server.address, server.fails = "192.0.2.2", False
    until(lambda: all_have("192.0.2.2"), "every backend has the new member of its record")
