"""Each kind of load balancing in front of a cluster of containers.

Load balancer devices run their userdata: cloud-init, systemd, HAProxy, nftables and, with two devices, BIRD. Control plane nodes run the
MachineConfig of kube-vip and its static pod. An external load balancer is HAProxy on a host that is no machine of the cluster.
"""

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sandbox import namespace
from sandbox.openshift.binaries import entry_points
from sandbox.testing.process import REPOSITORY
from tests.containers.machines import (
    API,
    CONFIG_SERVER,
    MARKS,
    MASTERS,
    NODES,
    Machine,
    address_of,
    is_silent,
    outsider,
    ports_of,
    readiness,
    result_of,
    scan_from,
)
from tests.e2e.harness import NAME, QUICK, User, until
from tests.e2e.ingress import assert_served
from tests.e2e.test_load_balancing import HOLD_TIME, BalancedUser, balanced, carries_on_without, own_load_balancer

pytestmark = MARKS

KINDS = {"dns": 0, "haproxy": 1, "haproxy-pair": 2, "kube_vip": 0, "external": 0}
"""Load balancer devices of each kind."""
FAILS_WITHIN = {**dict.fromkeys(("dns", "haproxy", "haproxy-pair", "external"), 20.0), "kube_vip": HOLD_TIME}
"""Seconds after which no request fails because of a control plane machine whose packets are dropped, of clients that go on to the next
address: those in which health checks of HAProxy have found it dead, or the hold time."""
BGP = 179
SCRIPT = REPOSITORY / "roles/ignition/files/kube-vip.sh"
OWN_BALANCER = "own-balancer"
"""Host of the load balancer of the kind external."""


@pytest.fixture(scope="module", params=KINDS)
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedUser]:
    user = BalancedUser(tmp_path_factory.mktemp(request.param), speed=240, machines="container")
    user.kind, external = request.param, str(namespace.NETWORK[98])
    with user.at_work(), contextlib.ExitStack() as beside:
        namespace.use_name_server(user.folder)
        (user.inventory / "02-quick.yml").write_text(QUICK, encoding="utf-8")
        balanced(user, user.kind, external)
        if user.kind == "external":
            host = beside.enter_context(outsider(OWN_BALANCER, 98))
            beside.enter_context(own_load_balancer(user, external, "nsenter", f"--net=/run/netns/{host}"))
        project = f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}"
        user.ask("POST", f"{project}/bgp-configs", json={"deployment_type": "local", "asn": 65000, "md5": "Secret4Sessions"})
        yield user


@pytest.fixture
def load_balancers(user: BalancedUser) -> list[Machine]:
    if not KINDS[user.kind]:
        pytest.skip("there is no load balancer device")
    return [Machine(user, f"balancer-{number}") for number in range(KINDS[user.kind])]


def test_install(user: BalancedUser) -> None:
    user.play("install.yml").ended_well()
    assert len(user.nodes()) == 5
    user.play("install.yml").changed_nothing()
    assert_served(user)


def test_the_userdata_has_run_as_it_is_written(user: BalancedUser, load_balancers: list[Machine]) -> None:
    units = {"haproxy.service", "node-firewall.service", "node-firewall.timer"}
    for machine in load_balancers:
        status = json.loads(machine.inside("/usr/bin/cloud-init", "status", "--format=json").stdout)
        assert (status["status"], status["errors"]) == ("done", [])
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        assert machine.started() >= (units if user.kind == "haproxy" else units | {"bird.service", "announce.service"})


def test_open_ports_are_those_of_the_page(user: BalancedUser, load_balancers: list[Machine]) -> None:
    """All TCP ports of each load balancer, from the controller, from a host that is no machine of the cluster, and from one that is."""
    page = (REPOSITORY / "docs/networks.md").read_text(encoding="utf-8")
    row = re.search(r"^\| load balancer device \| ([^|]+) \| [^|]+ \| TCP ([^|;]+) \|$", page, re.MULTILINE)
    assert row is not None
    public, closed = ports_of(row[1]), ports_of(row[2])
    if user.kind == "haproxy":
        public.remove(BGP)
    worker = Machine(user, "worker-0")
    with outsider() as other:
        sources: list[Machine | str] = ["", other, worker]
        scans = [(source, scan_from(source, machine.address)) for machine in load_balancers for source in sources]
        results = [(source, result_of(scan)) for source, scan in scans]
    for source, result in results:
        assert result == {
            "open": sorted([*public, *([CONFIG_SERVER] if source is worker else [])]),
            "dropped": [] if source is worker else closed,
        }


def secrets(user: User) -> set[str]:
    """Return the secrets of the cluster that a machine config server gives to its clients, and the API's token of the user."""
    pull_secret = json.loads(user.environment["OPENSHIFT_PULL_SECRET"])["auths"].values()
    token = yaml.safe_load((Machine(user, "worker-0").disk / "etc/kubernetes/kubeconfig").read_text())["users"][0]["user"]["token"]
    return {
        token,
        user.environment["METAL_AUTH_TOKEN"],
        user.environment["OPENSHIFT_DNS_KEY_SECRET"],
        *(entry["auth"] for entry in pull_secret),
    }


def test_a_load_balancer_has_no_secret_of_the_cluster(user: BalancedUser, load_balancers: list[Machine]) -> None:
    """Neither on its disk nor in its journal, which is there too, nor on its console."""
    known = {secret.encode() for secret in secrets(user)}
    for machine in load_balancers:
        files = [path for path in machine.disk.rglob("*") if path.is_file() and not path.is_symlink()]
        assert machine.disk / "etc/haproxy/haproxy.cfg" in files
        assert [path for path in [*files, machine.folder / "screen.log"] if any(secret in path.read_bytes() for secret in known)] == []
        assert not any(secret.decode() in "\n".join(machine.journal()) for secret in known)


def test_no_request_fails_when_a_control_plane_machine_is_dead_for_longer_than_the_checks(user: BalancedUser) -> None:
    carries_on_without(user, "master-1", FAILS_WITHIN[user.kind])
    until(lambda: "master-1" in user.nodes(), within=180, what="master-1 is Ready again")


def test_round_robin_leads_to_a_dead_machine(user: BalancedUser) -> None:
    """Also when its node is not Ready: a client that tries no other address fails there. Nodes do, and stay Ready."""
    if user.kind != "dns":
        pytest.skip("a health check takes the machine out")
    dead, addresses = Machine(user, "master-1").address, user.names.addresses(f"api.{NAME}")
    assert len(addresses) == len(MASTERS)
    user.switch("power_off", "master-1")
    until(lambda: len(user.nodes()) < len(NODES), within=180, what="master-1 is not Ready")
    assert user.nodes() == [name for name in NODES if name != "master-1"]
    assert [address for address in user.names.addresses(f"api.{NAME}") if is_silent(address)] == [dead]
    user.switch("power_on", "master-1")
    until(lambda: user.nodes() == NODES, within=180, what="master-1 is Ready again")
    until(lambda: readiness(Machine(user, "master-1")) == "200", within=180, what="its API server is ready again")
    assert_served(user)


def announcing(user: BalancedUser) -> list[str]:
    """Return the names of the devices that both routers lead the elastic address to, sorted."""
    routes = [
        subprocess.run(["ip", "route", "show", "table", str(table)], capture_output=True, text=True, check=True).stdout
        for table in namespace.ROUTERS.values()
    ]
    private = {device["hostname"].partition(".")[0]: address_of(device, public=False) for device in user.devices()}
    return sorted(name for name, address in private.items() if all(f"via {address} " in text for text in routes))


def test_the_nodes_announce_the_address(user: BalancedUser) -> None:
    """By the MachineConfig as it is written. What is not for every client is not at this address either."""
    if user.kind != "kube_vip":
        pytest.skip("the nodes announce no address")
    (address,) = user.names.addresses(f"api.{NAME}")
    until(lambda: announcing(user) == MASTERS, what="the address is announced by all")
    for name in MASTERS:
        machine = Machine(user, name)
        assert machine.started() >= {"kube-vip.service", "kube-vip.timer", "kube-vip-address.service"}
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        pod = machine.disk / "etc/kubernetes/manifests/kube-vip.json"
        assert pod.stat().st_mode & 0o777 == 0o600
        (container,) = json.loads(pod.read_text(encoding="utf-8"))["spec"]["containers"]
        assert container["image"].rpartition(":")[2] == entry_points().name.partition("@")[2]
        written = pod.stat().st_mtime_ns
        assert machine.inside("/usr/bin/systemctl", "start", "--wait", "kube-vip.service").returncode == 0
        assert pod.stat().st_mtime_ns == written
    with outsider() as other:
        assert result_of(scan_from(other, address, API, CONFIG_SERVER)) == {"open": [API], "dropped": [CONFIG_SERVER]}
        assert result_of(scan_from(Machine(user, "worker-0"), address, API, CONFIG_SERVER))["open"] == [API, CONFIG_SERVER]


def test_the_script_waits_for_the_bgp_session(user: BalancedUser, tmp_path: Path) -> None:
    """The service creates sessions after the devices: on one that has none, with the settings of a control plane node."""
    if user.kind != "kube_vip":
        pytest.skip("the nodes announce no address")
    settings = (Machine(user, "master-0").disk / "etc/kube-vip.conf").read_text(encoding="utf-8").replace('"', "").split()
    words = ["nsenter", f"--net=/run/netns/{Machine(user, 'worker-0').network}", "timeout", "3", "env", *settings, f"MANIFESTS={tmp_path}"]
    waiting = subprocess.run([*words, "bash", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert "has no BGP neighbors of this device yet" in waiting.stdout
    assert (waiting.returncode, list(tmp_path.iterdir())) == (124, [])


@pytest.mark.parametrize("pod", ["etcd", "kube-apiserver"])
def test_the_address_is_withdrawn_while_the_api_server_of_a_node_is_not_ready(user: BalancedUser, pod: str) -> None:
    """The kubelet of the node reaches another one by the routers, also where its own still listens: without etcd, as at a rollout."""
    if user.kind != "kube_vip":
        pytest.skip("the nodes announce no address")
    # The kubeconfig of the user leads to the first machine.
    *others, last = MASTERS
    machine, name = Machine(user, last), f"api-int.{NAME}"
    (address,) = user.names.addresses(name)
    # Until the bootstrap is complete the name leads to the machines, and connections stay open.
    assert machine.inside("/usr/bin/ss", "--kill", "--tcp", "dport", "=", f":{API}").returncode == 0
    of_api = ("/usr/bin/ss", "--no-header", "--tcp", "--numeric", "--processes", "dst", f"{address}:{API}")
    until(lambda: "kubelet" in machine.inside(*of_api).stdout, what="the kubelet is connected to the address")
    here, elsewhere = f"/etc/kubernetes/manifests/{pod}-pod.yaml", f"/root/{pod}-pod.yaml"
    assert machine.inside("/usr/bin/mv", here, elsewhere).returncode == 0
    until(lambda: announcing(user) == others, what="two health checks have failed")
    withdrawn = datetime.now(UTC)
    until(lambda: readiness(machine, name) == "200", within=10, what="another API server answers on the node")
    assert readiness(machine) != "200"
    until(lambda: renewed(user, last) > withdrawn, within=30, what="the kubelet reports its node by another API server")
    assert_served(user)
    assert machine.inside("/usr/bin/mv", elsewhere, here).returncode == 0
    until(lambda: announcing(user) == MASTERS, what="the address is announced again")
    until(lambda: address in machine.inside("/usr/bin/ip", "address", "show", "lo").stdout, what="the node has the address again")


def renewed(user: BalancedUser, name: str) -> datetime:
    """Return when the kubelet of a node has renewed its lease."""
    spec = user.kube(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}.{NAME}")["spec"]
    return datetime.fromisoformat(spec["renewTime"])


def test_an_address_is_withdrawn_while_haproxy_does_not_answer(user: BalancedUser) -> None:
    if user.kind != "haproxy-pair":
        pytest.skip("the address of one load balancer is its own")
    machine = Machine(user, "balancer-0")
    assert announcing(user) == ["balancer-0", "balancer-1"]
    assert machine.inside("/usr/bin/systemctl", "stop", "haproxy").returncode == 0
    until(lambda: announcing(user) == ["balancer-1"], within=10, what="two health checks have failed")
    assert_served(user)
    assert machine.inside("/usr/bin/systemctl", "start", "haproxy").returncode == 0
    until(lambda: announcing(user) == ["balancer-0", "balancer-1"], what="the address is announced again")


def test_the_other_load_balancer_takes_over_from_one_that_is_dead(user: BalancedUser) -> None:
    if user.kind != "haproxy-pair":
        pytest.skip("there is no second load balancer device")
    carries_on_without(user, "balancer-1", HOLD_TIME)
    until(lambda: announcing(user) == ["balancer-0", "balancer-1"], what="balancer-1 announces the address again")
    assert_served(user)


def test_a_second_boot_starts_the_same_units(user: BalancedUser, load_balancers: list[Machine]) -> None:
    machine = load_balancers[0]
    user.switch("reboot", "balancer-0")
    until(lambda: machine.console().count("Reached target cloud-init.target") == 2, what="the system has booted again")
    assert machine.inside("/usr/bin/systemctl", "is-system-running", "--wait").stdout == "running\n"
    assert machine.inside("/usr/bin/systemctl", "is-active", "haproxy", "node-firewall.timer").stdout == "active\n" * 2
    with outsider() as other:
        assert result_of(scan_from(other, machine.address, CONFIG_SERVER))["dropped"] == [CONFIG_SERVER]
    user.play("install.yml").changed_nothing()


def test_destroy_leaves_nothing(user: BalancedUser) -> None:
    user.leaves_nothing()
    assert [path.name for path in Path("/run/netns").iterdir()] == ([OWN_BALANCER] if user.kind == "external" else [])
