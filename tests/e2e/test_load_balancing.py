"""Each kind of load balancing carries requests to the API and to the routers, through every address that its DNS records have.

A cluster with three workers: OpenShift runs two routers, so one worker has none.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import jinja2
import pytest

from sandbox.openshift.kube_vip import LEASE, LEASE_DURATION, LEASES, LONGEST_RETRY
from sandbox.testing.process import REPOSITORY
from tests.cluster.olm import Olm
from tests.e2e.harness import NAME, User, until
from tests.e2e.ingress import ROUTER_PODS, assert_served, routers, trust
from tests.e2e.requests_per_second import RATE, Loop
from tests.e2e.test_networks import layer2_inventory
from tests.e2e.test_services import OfUser

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.debian("haproxy")]

KINDS = ("dns", "haproxy", "haproxy-pair", "kube_vip", "kube_vip-arp", "external")
HOLD_TIME = 10.0
"""Seconds after which no address leads to a dead device: the hold time of BGP sessions with one second for the withdrawal."""
TAKEOVER = {"haproxy": 2.0, "haproxy-pair": 2.0, "kube_vip": HOLD_TIME, "kube_vip-arp": LEASE_DURATION + 2 * LONGEST_RETRY}
"""Seconds after which no request may fail because of a dead control plane machine: that of a health check, the above, or the lease of the
address since another node observed its last renewal, with the attempt to take it."""
PROJECT_OBJECTS = (("devices", "devices"), ("ips", "ip_addresses"), ("virtual-networks", "virtual_networks"))
OTHER = "openshift-cluster=other.metal.test"
EXTERNAL = "127.5.77.9"
"""Address of the user's own load balancer."""


class BalancedUser(OfUser):
    """A user with a cluster of one kind of load balancing, and with objects of another cluster in the project."""

    kind = ""
    ingress = ""
    decoys: tuple[str, ...] = ()

    def reserve_decoys(self) -> None:
        """Create an elastic address, a device and a VLAN that are of another cluster, in the cluster's metro."""
        project = f"projects/{self.sandbox.environment['METAL_PROJECT_ID']}"
        address = {"type": "public_ipv4", "quantity": 1, "metro": "da", "tags": [OTHER, "openshift-role=load-balancer"]}
        reserved = self.ask("POST", f"{project}/ips", json=address)
        machine = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04", "hostname": "balancer-0.other.metal.test"}
        device = self.ask("POST", f"{project}/devices", json={**machine, "tags": [OTHER, "openshift-role=load-balancer"]})
        vlan = self.ask("POST", f"{project}/virtual-networks", json={"metro": "da", "tags": [OTHER, "openshift-role=load-balancer"]})
        self.decoys = (f"ips/{reserved['id']}", f"devices/{device['id']}", f"virtual-networks/{vlan['id']}")

    def listed(self, what: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GET", f"projects/{self.sandbox.environment['METAL_PROJECT_ID']}/{what}")[key]
        return found


def balanced(user: BalancedUser, kind: str, external: str = EXTERNAL) -> None:
    """Give the inventory a load balancer of this kind. ``external``: address of the user's own."""
    number = {"haproxy": 1, "haproxy-pair": 2}.get(kind, 0)
    hosts: dict[str, Any] = {f"balancer-{index}": {} for index in range(number)}
    content: dict[str, Any] = {
        "openshift": {"children": {"load_balancer": {"hosts": hosts}} if hosts else {}},
        "all": {"vars": {"openshift_load_balancer": kind.partition("-")[0]}},
    }
    if kind == "kube_vip":
        content["all"]["vars"]["openshift_machine_network"] = "bond"
    if kind == "kube_vip-arp":
        project = f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}"
        block = user.ask("POST", f"{project}/ips", json={"type": "public_ipv4", "quantity": 16, "metro": "da", "details": "machines"})
        in_vlan = layer2_inventory({"openshift_vlan_gateway": "public", "openshift_vlan_reservation_id": block["id"]})
        api, user.ingress = (str(ip_network(f"{block['network']}/{block['cidr']}")[number]) for number in (14, 13))
        addresses = {"openshift_api_address": api, "openshift_ingress_address": user.ingress, "openshift_metallb": True}
        content["all"]["vars"] |= {**in_vlan.pop("all")["vars"], **addresses}
        content |= in_vlan
    if kind == "external":
        addresses = {
            "openshift_api_address": external,
            "openshift_ingress_address": external,
            "openshift_node_firewall_sources": [external],
        }
        content["all"]["vars"] |= addresses
    (user.inventory / "08-load-balancing.yml").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(scope="module", params=KINDS)
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedUser]:
    user = BalancedUser(tmp_path_factory.mktemp(f"balanced-{request.param}"), speed=600)
    beside: dict[str, Callable[[BalancedUser], contextlib.AbstractContextManager[Any]]]
    beside = {"external": own_load_balancer, "kube_vip-arp": MetalLB}
    with user.at_work(), beside.get(request.param, contextlib.nullcontext)(user):
        user.edit_workers(2)
        balanced(user, request.param)
        user.kind = request.param
        user.reserve_decoys()
        run = user.play("install.yml").ended_well()
        assert (f"{EXTERNAL}:22623 (TCP, from the nodes only)" in run.output) == (request.param == "external")
        yield user


@contextlib.contextmanager
def own_load_balancer(user: User, address: str = EXTERNAL, *within: str) -> Iterator[None]:
    """HAProxy as a user could have it: it finds its backends in the records that the run prints. ``within``: command for its network."""
    template = (REPOSITORY / "roles/load_balancer/templates/haproxy.cfg.j2").read_text(encoding="utf-8")
    environment = user.sandbox.environment
    settings = {
        "__load_balancer_cluster": NAME,
        "__load_balancer_nameserver": f"{environment['OPENSHIFT_DNS_SERVER']}:{environment['OPENSHIFT_DNS_PORT']}",
        "load_balancer_api_slots": 4,
        "load_balancer_ingress_slots": 4,
    }
    configuration = user.folder / "haproxy.cfg"
    text = jinja2.Template(template, keep_trailing_newline=True).render(settings)
    # On a computer of its own that is the address from which it connects to the nodes.
    configuration.write_text(text.replace("defaults\n", f"defaults\n  source {address}\n"), encoding="utf-8")
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    process = subprocess.Popen([*within, program, "-db", "-f", str(configuration)], env={"LB_ADDRESS": address})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class MetalLB(Olm):
    """Stand-ins beside the sandbox for MetalLB's operator and its speakers, which lead to a router when the Service has its address."""

    def __init__(self, user: BalancedUser) -> None:
        super().__init__(user, interval=1, prepares=True)
        self._user = user
        self._speakers: list[socketserver.TCPServer] = []

    def _assign(self) -> None:
        super()._assign()
        services = self._items("/api/v1/namespaces/openshift-ingress/services")
        if not self._speakers and any(service["status"]["loadBalancer"] for service in services):
            # A function is a handler too: it is called with the same arguments as the class.
            relay: Any = self._relay
            self._speakers = [socketserver.ThreadingTCPServer((self._user.ingress, port), relay) for port in (80, 443)]
            for speaker in self._speakers:
                threading.Thread(target=speaker.serve_forever, daemon=True).start()

    def _relay(self, client: socket.socket, address: tuple[str, int], server: socketserver.TCPServer) -> None:
        """Copy what a client and a router send, until one of them ends."""
        (router,) = self._user.names.addresses(min(routers(self._user)))
        with contextlib.suppress(ConnectionError), socket.create_connection((router, server.server_address[1])) as onward:
            for source in iter(lambda: select.select([client, onward], [], [])[0][0], None):
                if not (data := source.recv(65536)):
                    break
                (onward if source is client else client).sendall(data)


def test_every_address_answers_and_a_second_install_changes_nothing(user: BalancedUser) -> None:
    assert len(routers(user)) == 2
    assert_served(user)
    if user.ingress:
        assert user.names.addresses(f"console.apps.{NAME}") == [user.ingress]
    user.play("install.yml").changed_nothing()


def cordon(user: User, node: str, *, off: bool) -> None:
    found = user.kube(f"/api/v1/nodes/{node}")
    found["spec"]["unschedulable"] = off
    user.kube(f"/api/v1/nodes/{node}", "PUT", found)


def move_router_to(user: User, node: str) -> None:
    """Evict a router while its node and all others but ``node`` take no pods."""
    if node in routers(user):
        return
    pod = next(pod for pod in user.kube(ROUTER_PODS)["items"] if pod["spec"].get("nodeName") in routers(user))
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    cordon(user, pod["spec"]["nodeName"], off=True)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    user.kube(f"{ROUTER_PODS}/{name}/eviction", "POST", eviction)
    until(lambda: node in routers(user), what=f"a router on {node}")
    cordon(user, pod["spec"]["nodeName"], off=False)


def carries_on_without(user: BalancedUser, name: str, within: float) -> None:
    """Send 200 requests a second while a machine loses its power: what fails, fails within so many seconds.

    Prints the figure of docs/load-balancing.md.
    """
    host = f"api.{NAME}"
    with Loop(lambda: user.names.addresses(host), host, trust(user)).running() as loop:
        until(lambda: len(loop.sent) >= RATE * 3, what="requests before the failure")
        assert loop.failed == []
        device = next(each for each in user.devices() if each["hostname"] == f"{name}.{NAME}")
        dead = time.monotonic()
        user.ask("POST", f"devices/{device['id']}/actions", json={"type": "power_off"})
        until(lambda: loop.sent and max(loop.sent) > dead + within + 10, what="requests after the failure")
    last = max(loop.failed, default=dead) - dead
    failed = f"{len(loop.failed)} of {len(loop.sent)} requests failed, the last one after {last:.1f} s"
    print(f"{user.kind}, {name}: {failed}; longest gap {loop.longest_gap():.2f} s")
    until(lambda: user.ask("GET", f"devices/{device['id']}")["state"] == "inactive", what="power off")
    user.switch("power_on", name)
    assert loop.failures(dead + within) == 0
    assert len(loop.sent) > RATE * (within + 10) * 0.8


def test_no_request_fails_when_a_control_plane_machine_is_dead_for_longer_than_a_check(user: BalancedUser) -> None:
    if user.kind not in TAKEOVER:
        pytest.skip("nobody takes a dead machine out of round robin DNS, and an external load balancer is the user's own")
    name = "master-1"
    if user.kind == "kube_vip-arp":
        name = user.kube(f"{LEASES}/{LEASE}")["spec"]["holderIdentity"].removesuffix(f".{NAME}")
    carries_on_without(user, name, TAKEOVER[user.kind])
    until(lambda: name in user.nodes(), what=f"{name} is Ready again")


def test_the_other_load_balancer_takes_over_from_one_that_is_dead(user: BalancedUser) -> None:
    """After the hold time of its BGP sessions all requests go to the other."""
    if user.kind != "haproxy-pair":
        pytest.skip("there is no second load balancer device")
    carries_on_without(user, "balancer-1", HOLD_TIME)


def test_ingress_follows_a_router_whose_node_is_removed(user: User) -> None:
    """The pool loses a worker with a router: the replica moves to the worker without one."""
    move_router_to(user, f"worker-2.{NAME}")
    user.edit_workers(1)
    user.play("scale.yml").ended_well()
    assert routers(user) == {f"worker-0.{NAME}", f"worker-1.{NAME}"}
    assert_served(user)


def test_destroy_deletes_elastic_address_and_sessions_of_this_cluster_alone(user: BalancedUser) -> None:
    announcing = {"haproxy-pair": 2, "kube_vip": 3}.get(user.kind, 0)
    own = f"openshift-cluster={NAME}"
    assert len(user.listed("bgp/sessions", "bgp_sessions")) == announcing
    assert sum(own in each["tags"] for each in user.listed("ips", "ip_addresses")) == (1 if announcing else 0)
    if not announcing:
        project = f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}"
        user.ask("POST", f"{project}/bgp-configs", json={"deployment_type": "local", "asn": 65000})
    session = user.ask("POST", f"{user.decoys[1]}/bgp/sessions", json={"address_family": "ipv4"})
    user.decoys = (*user.decoys, f"bgp/sessions/{session['id']}")
    user.destroy().ended_well()
    assert not any(own in each.get("tags", []) for what, key in PROJECT_OBJECTS for each in user.listed(what, key))
    assert [each["id"] for each in user.listed("bgp/sessions", "bgp_sessions")] == [session["id"]]
    assert [device["hostname"] for device in user.devices()] == ["balancer-0.other.metal.test"]
    for path in user.decoys:
        assert user.ask("GET", path)["id"] == path.rpartition("/")[2]
