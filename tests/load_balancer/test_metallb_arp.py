"""The address of ingress by ARP: the objects of MetalLB with the real MetalLB on three nodes of one bridge, and a real API server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.metallb import metallb_changes
from sandbox.openshift import pki
from tests.cluster.control_plane import ControlPlane
from tests.load_balancer.bridge import NODES, OUTSIDE, Bridge
from tests.load_balancer.conftest import NAMESPACE
from tests.load_balancer.test_metallb import API_PORT, AWAIT, RELAY, MetalLB, create, name_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.debian("iproute2"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

VIP = "192.0.2.6"
ROUTERS = "openshift-ingress"
SERVICE = f"/api/v1/namespaces/{ROUTERS}/services/equinix-metal"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{ROUTERS}/endpointslices"
LABELS = {"app": "metallb", "component": "speaker"}
START_LIMIT = 60.0
TAKEOVER = 15.0
"""Seconds until another node has the address: memberlist suspects a dead node for 4 s at least, and two busy cores take some."""

ROUTER = """
import asyncio, ssl, sys
async def serve(reader, writer):
    while await reader.readuntil(b"\\r\\n\\r\\n"):
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        await writer.drain()
async def main():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*sys.argv[1:])
    await (await asyncio.start_server(serve, "0.0.0.0", 443, ssl=context)).serve_forever()
asyncio.run(main())
"""
"""In place of a router: an HTTPS server that answers every request."""

WHO_HAS = """
import socket, struct, sys, time
own, address = map(socket.inet_aton, sys.argv[1:])
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)) as link:
    link.bind(("eno1", 0x0806))
    mac = link.getsockname()[4]
    link.send(bytes([255] * 6) + mac + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1) + mac + own + bytes(6) + address)
    end = time.monotonic() + 0.5
    while (left := end - time.monotonic()) > 0:
        link.settimeout(left)
        try:
            packet = link.recv(64)
        except TimeoutError:
            break
        if packet[20:22] == bytes([0, 2]) and packet[28:32] == address:
            print(packet[22:28].hex(":"))
"""
"""Prints the MAC address of each answer to an ARP request for an address."""


class Workers(Bridge):
    """Three workers, each with a router and MetalLB's speaker. The kernel of each takes packets to the address, as OVN-Kubernetes does."""

    address, port, name = VIP, 443, "console.apps.demo.metal.test"

    def __init__(self, folder: Path, cluster: ControlPlane, programs: Path) -> None:
        super().__init__(folder)
        self._metallb = MetalLB(programs, cluster, folder)
        self._url = cluster.url.removeprefix("https://")
        signer = pki.self_signed_ca("signer", timedelta(days=1))
        (folder / "ca.crt").write_bytes(signer.certificate)
        self._serving = pki.server(signer, self.name, (self.name,), timedelta(days=1)).write(folder / "serving")
        (folder / "secretkey").write_text("Secret4Speakers", encoding="utf-8")

    def boot(self, number: int) -> None:
        part = f"node{number}"
        if number == 0 and "api" not in self._processes:
            # Outside of the namespaces, and of the power of a node.
            self.serve_api()
        # The address is on no interface with a link, so the kernel answers ARP for it only if it may for those of all interfaces.
        self.inside(part, "sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=1")
        self.inside(part, "ip", "address", "replace", f"{VIP}/32", "dev", "lo")
        self.start(part, "router", sys.executable, "-c", ROUTER, *map(str, self._serving))
        settings = {
            "METALLB_ML_BIND_ADDR": NODES[number],
            "METALLB_ML_BIND_PORT": "9122",
            "METALLB_ML_LABELS": ",".join(f"{key}={value}" for key, value in LABELS.items()),
            "METALLB_ML_SECRET_KEY_PATH": str(self.folder),
        }
        self._start_metallb(part, "speaker", number, **settings)

    def serve_api(self) -> None:
        """Lead to the API server, and start MetalLB's controller, which gives Services their addresses."""
        with (self.folder / "api.log").open("ab") as log:
            command = [sys.executable, "-c", RELAY, str(self.folder / "api.socket"), self._url]
            self._processes["api"] = [subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)]
        self.inside("outside", sys.executable, "-c", AWAIT, str(self.folder / "api.socket"))
        self._start_metallb("outside", "controller", 0)

    def _start_metallb(self, part: str, program: str, number: int, **settings: str) -> None:
        self.start(part, "relay", sys.executable, "-c", RELAY, str(API_PORT), str(self.folder / "api.socket"))
        self.inside(part, sys.executable, "-c", AWAIT, str(API_PORT))
        self.start(part, program, *self._metallb.command(program, number, **settings))

    def answers(self) -> list[int]:
        """Return the nodes that answer one ARP request of the client outside for the address."""
        answers = self.inside("outside", sys.executable, "-c", WHO_HAS, OUTSIDE, VIP).split()
        return [number for number, mac in enumerate(self._macs()) if mac in answers]

    def _macs(self) -> list[str]:
        links = (json.loads(self.inside(f"node{number}", "ip", "-json", "link", "show", "dev", "eno1")) for number in range(len(NODES)))
        return [str(link[0]["address"]) for link in links]


def set_routers(cluster: ControlPlane, *numbers: int) -> None:
    """Write the endpoints of the Service as Kubernetes does: routers use the network of their nodes."""
    slices = {
        "metadata": {"name": "equinix-metal", "labels": {"kubernetes.io/service-name": "equinix-metal"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP"}],
        "endpoints": [{"addresses": [NODES[number]], "conditions": {"ready": True}, "nodeName": name_of(number)} for number in numbers],
    }
    cluster.call("DELETE", f"{SLICES}/equinix-metal")
    cluster.call("POST", SLICES, slices).raise_for_status()


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory, cluster: ControlPlane, metallb: Path) -> Iterator[Workers]:
    for number, address in enumerate(NODES):
        cluster.register(name_of(number))
        cluster.run_pod(f"speaker-{number}", name_of(number), namespace=NAMESPACE, labels=LABELS)
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/speaker-{number}"
        pod = cluster.call("GET", path).json()
        pod["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}
        cluster.call("PUT", f"{path}/status", pod).raise_for_status()
    cluster.ensure_namespace(ROUTERS)
    for entry in metallb_changes([], NAMESPACE, {"nodes": [], "arp": True, "ingress": VIP})["present"]:
        create(cluster, entry)
    set_routers(cluster, 0, 1)
    with Workers(tmp_path_factory.mktemp("metallb-arp"), cluster, metallb).running() as made:
        made.until(lambda: made.is_ready() and len(made.answers()) == 1, START_LIMIT)
        yield made


def test_one_node_with_a_router_answers_for_the_address(workers: Workers, cluster: ControlPlane) -> None:
    status = cluster.call("GET", SERVICE).json()["status"]
    assert [entry["ip"] for entry in status["loadBalancer"]["ingress"]] == [VIP]
    holders = {tuple(workers.answers()) for _attempt in range(3)}
    assert holders in ({(0,)}, {(1,)})


def test_the_address_moves_with_the_routers(workers: Workers, cluster: ControlPlane) -> None:
    set_routers(cluster, 2)
    workers.until(lambda: workers.answers() == [2] and workers.is_ready(), TAKEOVER)
    set_routers(cluster, 0, 1, 2)
    workers.until(lambda: len(workers.answers()) == 1 and workers.is_ready(), TAKEOVER)


def test_another_node_answers_when_one_loses_its_power(workers: Workers) -> None:
    (before,) = workers.answers()
    workers.fail_over(before, lambda: len(now := workers.answers()) == 1 and now != [before], TAKEOVER)
    workers.power_on(before)
    workers.until(lambda: len(workers.answers()) == 1 and workers.is_ready(), START_LIMIT)


def test_the_address_comes_back_after_a_loss_of_power_of_all_nodes(workers: Workers) -> None:
    for number in range(len(NODES)):
        workers.cut(number)
    assert not workers.is_ready()
    for number in range(len(NODES)):
        workers.power_on(number)
    workers.until(lambda: len(workers.answers()) == 1 and workers.is_ready(), START_LIMIT)
