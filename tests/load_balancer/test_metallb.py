"""The objects of MetalLB with the real MetalLB, a real API server and a real router: announced with the password, and withdrawn."""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.metallb import metallb_changes
from tests.cluster.control_plane import ADDRESS, ControlPlane
from tests.load_balancer.conftest import NAMESPACE
from tests.load_balancer.namespaces import COUNT, ELASTIC, PASSWORD, VIA, Network, await_routes, metadata, requests

pytestmark = [
    pytest.mark.long,
    pytest.mark.debian("bird2", "iproute2"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

PLURALS = {
    "IPAddressPool": "ipaddresspools",
    "BGPAdvertisement": "bgpadvertisements",
    "BGPPeer": "bgppeers",
    "L2Advertisement": "l2advertisements",
    "Service": "services",
}
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
API_PORT = 16443

RELAY = """
import asyncio, sys
async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
async def relay(reader, writer):
    host, _colon, port = sys.argv[2].rpartition(":")
    onward = await (asyncio.open_connection(host, int(port)) if host else asyncio.open_unix_connection(sys.argv[2]))
    await asyncio.gather(copy(reader, onward[1]), copy(onward[0], writer), return_exceptions=True)
async def main():
    listen = sys.argv[1]
    start = asyncio.start_server(relay, "127.0.0.1", int(listen)) if listen.isdigit() else asyncio.start_unix_server(relay, listen)
    await (await start).serve_forever()
asyncio.run(main())
"""
"""Between a TCP port of a namespace and one outside, by a Unix socket, which has no namespace."""

AWAIT = """
import socket, sys, time
end = time.monotonic() + 30
while True:
    try:
        if sys.argv[1].isdigit():
            socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
        else:
            socket.socket(socket.AF_UNIX).connect(sys.argv[1])
        break
    except OSError:
        if time.monotonic() > end:
            raise
        time.sleep(0.05)
"""
"""Ends when something listens: a program of MetalLB ends without an API server, and a kubelet would start it again."""


def name_of(number: int) -> str:
    return f"worker-{number}.demo.metal.test"


class MetalLB:
    """The programs, and how they reach the API server: by a relay in their namespace."""

    def __init__(self, programs: Path, cluster: ControlPlane, folder: Path) -> None:
        self._programs = programs
        self._kubeconfig = cluster.write_kubeconfig(folder / "kubeconfig", server=f"https://127.0.0.1:{API_PORT}")
        content = yaml.safe_load(self._kubeconfig.read_text(encoding="utf-8"))
        content["clusters"][0]["cluster"]["tls-server-name"] = ADDRESS
        self._kubeconfig.write_text(yaml.safe_dump(content), encoding="utf-8")

    def command(self, program: str, number: int, **settings: str) -> list[str]:
        """Return the command of the speaker of a node, or of the controller, whose webhook needs a certificate of the operator."""
        known = {"KUBECONFIG": str(self._kubeconfig), "METALLB_NAMESPACE": NAMESPACE, "METALLB_BGP_TYPE": "native"}
        known |= {"METALLB_NODE_NAME": name_of(number), "METALLB_POD_NAME": f"speaker-{number}"}
        options = ["--webhook-mode=disabled", "--disable-cert-rotation"] if program == "controller" else []
        words = [f"{name}={value}" for name, value in {**known, **settings}.items()]
        return ["env", *words, str(self._programs / program), *options]


class Nodes(Network):
    """Two nodes in place of the load balancers: MetalLB's speaker, and a web server as the pods behind the address of a Service."""

    def __init__(self, folder: Path, cluster: ControlPlane, programs: Path) -> None:
        super().__init__(folder)
        self._cluster = cluster
        self._metallb = MetalLB(programs, cluster, folder)

    def _serve(self) -> None:
        super()._serve()
        socket = str(self.folder / "api.socket")
        self._outside("api", *self._relay(socket, self._cluster.url.removeprefix("https://")))
        self.inside("router", sys.executable, "-c", AWAIT, socket)
        # The controller gives Services their addresses.
        self._start_metallb("router", "controller", 0)

    def _balance(self, number: int) -> None:
        part = f"lb{number}"
        self.inside(part, "ip", "address", "add", f"{ELASTIC}/32", "dev", "lo")
        self.start(part, "web", sys.executable, "-m", "http.server", "--directory", str(self.folder), "6443")
        self._start_metallb(part, "speaker", number)

    def _start_metallb(self, part: str, what: str, number: int) -> None:
        self.start(part, "relay", *self._relay(str(API_PORT), str(self.folder / "api.socket")))
        self.inside(part, sys.executable, "-c", AWAIT, str(API_PORT))
        self.start(part, what, *self._metallb.command(what, number))

    def _outside(self, what: str, *command: str) -> None:
        """Start a program in no namespace. It is killed in the end."""
        with (self.folder / f"outside-{what}.log").open("ab") as log:
            self._processes[f"outside-{what}"] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    @staticmethod
    def _relay(listen: str, to: str) -> tuple[str, ...]:
        return sys.executable, "-c", RELAY, listen, to


def found(*numbers: int, **more: Any) -> dict[str, Any]:
    """What exists, for the objects of these nodes: as the API server and the Metal API return it."""
    return {
        "nodes": [{"metadata": {"name": name_of(number), "labels": {"kubernetes.io/hostname": name_of(number)}}} for number in numbers],
        "neighbors": {name_of(number): metadata(number)["bgp_neighbors"] for number in range(COUNT)},
        **more,
    }


def create(cluster: ControlPlane, each: dict[str, Any]) -> None:
    group = "/api/v1" if each["apiVersion"] == "v1" else f"/apis/{each['apiVersion']}"
    path = f"{group}/namespaces/{each['metadata']['namespace']}/{PLURALS[each['kind']]}"
    cluster.call("POST", f"{path}?fieldValidation=Strict", each).raise_for_status()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory, cluster: ControlPlane, metallb: Path) -> Iterator[Nodes]:
    for number in range(COUNT):
        cluster.register(name_of(number))
        # A speaker reads the pod that it runs in.
        cluster.run_pod(f"speaker-{number}", name_of(number), namespace=NAMESPACE)
    secret = {
        "metadata": {"name": "equinix-metal", "namespace": NAMESPACE},
        "type": "kubernetes.io/basic-auth",
        "data": {"password": base64.b64encode(PASSWORD.encode()).decode()},
    }
    cluster.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret).raise_for_status()
    for each in metallb_changes([f"{ELASTIC}/32"], NAMESPACE, found(0, 1))["present"]:
        create(cluster, each)
    ports = [{"name": "web", "port": 6443, "protocol": "TCP"}]
    service = {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": ports}}
    cluster.call("POST", SERVICES, service).raise_for_status()
    pods = {
        "metadata": {"name": "web", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": [
            {"addresses": [f"10.128.0.{number + 1}"], "conditions": {"ready": True}, "nodeName": name_of(number)} for number in range(COUNT)
        ],
    }
    cluster.call("POST", SLICES, pods).raise_for_status()
    nodes = Nodes(tmp_path_factory.mktemp("metallb-bgp"), cluster, metallb)
    with nodes.running():
        await_routes(nodes, *VIA)
        yield nodes


def test_all_nodes_announce_the_address_of_a_service(network: Nodes, cluster: ControlPlane) -> None:
    status = cluster.call("GET", f"{SERVICES}/web").json()["status"]
    assert [each["ip"] for each in status["loadBalancer"]["ingress"]] == [ELASTIC]
    assert requests(network, 2) == 0


def test_a_node_that_is_gone_announces_no_more(network: Nodes, cluster: ControlPlane) -> None:
    path = f"/apis/metallb.io/v1beta2/namespaces/{NAMESPACE}/bgppeers"
    peers = cluster.call("GET", path).json()["items"]
    assert len(peers) == 2 * COUNT
    absent = metallb_changes([f"{ELASTIC}/32"], NAMESPACE, found(1, peers=peers))["absent"]
    assert len(absent) == 2
    for each in absent:
        cluster.call("DELETE", f"{path}/{each['metadata']['name']}").raise_for_status()
    await_routes(network, VIA[1])
    assert requests(network, 2) == 0
    for each in metallb_changes([f"{ELASTIC}/32"], NAMESPACE, found(0))["present"]:
        if each["kind"] == "BGPPeer":
            create(cluster, each)
    await_routes(network, *VIA)


def test_the_address_is_withdrawn_with_its_service(network: Nodes, cluster: ControlPlane) -> None:
    cluster.call("DELETE", f"{SERVICES}/web").raise_for_status()
    await_routes(network)
