"""A cluster behind load balancer devices that run their userdata: cloud-init, systemd, HAProxy, nftables and, with two devices, BIRD."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox import namespace
from sandbox.testing.process import REPOSITORY
from tests.containers.machines import CONFIG_SERVER, MARKS, Machine, address_of, outsider, ports_of, result_of, scan_from
from tests.e2e.harness import QUICK, User, until
from tests.e2e.ingress import assert_served
from tests.e2e.test_load_balancing import HOLD_TIME, BalancedUser, balanced, carries_on_without

pytestmark = MARKS

KINDS = {"haproxy": 1, "haproxy-pair": 2}
"""Devices of each kind."""
TAKEN_OUT = 20.0
"""Seconds in which health checks of HAProxy have found a machine dead whose packets are dropped: docs/load-balancing.md."""
BGP = 179


@pytest.fixture(scope="module", params=KINDS)
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedUser]:
    user = BalancedUser(tmp_path_factory.mktemp(request.param), speed=240, machines="container")
    with user.at_work():
        namespace.use_name_server(user.folder)
        (user.inventory / "02-quick.yml").write_text(QUICK, encoding="utf-8")
        balanced(user, request.param)
        user.kind = request.param
        project = f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}"
        user.ask("POST", f"{project}/bgp-configs", json={"deployment_type": "local", "asn": 65000, "md5": "Secret4Sessions"})
        yield user


def load_balancers(user: BalancedUser) -> list[Machine]:
    return [Machine(user, f"balancer-{number}") for number in range(KINDS[user.kind])]


def test_install(user: BalancedUser) -> None:
    user.play("install.yml").ended_well()
    assert len(user.nodes()) == 5
    user.play("install.yml").changed_nothing()
    assert_served(user)


def test_the_userdata_has_run_as_it_is_written(user: BalancedUser) -> None:
    units = {"haproxy.service", "node-firewall.service", "node-firewall.timer"}
    for machine in load_balancers(user):
        status = json.loads(machine.inside("/usr/bin/cloud-init", "status", "--format=json").stdout)
        assert (status["status"], status["errors"]) == ("done", [])
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        assert machine.started() >= (units if user.kind == "haproxy" else units | {"bird.service", "announce.service"})


def test_open_ports_are_those_of_the_page(user: BalancedUser) -> None:
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
        scans = [(source, scan_from(source, machine.address)) for machine in load_balancers(user) for source in sources]
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


def test_a_load_balancer_has_no_secret_of_the_cluster(user: BalancedUser) -> None:
    """Neither on its disk nor in its journal, which is there too, nor on its console."""
    known = {secret.encode() for secret in secrets(user)}
    for machine in load_balancers(user):
        files = [path for path in machine.disk.rglob("*") if path.is_file() and not path.is_symlink()]
        assert machine.disk / "etc/haproxy/haproxy.cfg" in files
        assert [path for path in [*files, machine.folder / "screen.log"] if any(secret in path.read_bytes() for secret in known)] == []
        assert not any(secret.decode() in "\n".join(machine.journal()) for secret in known)


def test_no_request_fails_when_a_control_plane_machine_is_dead_for_longer_than_the_checks(user: BalancedUser) -> None:
    carries_on_without(user, "master-1", TAKEN_OUT)
    until(lambda: "master-1" in user.nodes(), within=180, what="master-1 is Ready again")


def announcing(user: BalancedUser) -> list[str]:
    """Return the names of the load balancers that both routers lead the elastic address to, sorted."""
    routes = [
        subprocess.run(["ip", "route", "show", "table", str(table)], capture_output=True, text=True, check=True).stdout
        for table in namespace.ROUTERS.values()
    ]
    private = {device["hostname"].partition(".")[0]: address_of(device, public=False) for device in user.devices()}
    return sorted(name for name, address in private.items() if all(f"via {address} " in text for text in routes))


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


def test_a_second_boot_starts_the_same_units(user: BalancedUser) -> None:
    machine = load_balancers(user)[0]
    user.switch("reboot", "balancer-0")
    until(lambda: machine.console().count("Reached target cloud-init.target") == 2, what="the system has booted again")
    assert machine.inside("/usr/bin/systemctl", "is-system-running", "--wait").stdout == "running\n"
    assert machine.inside("/usr/bin/systemctl", "is-active", "haproxy", "node-firewall.timer").stdout == "active\n" * 2
    with outsider() as other:
        assert result_of(scan_from(other, machine.address, CONFIG_SERVER))["dropped"] == [CONFIG_SERVER]
    user.play("install.yml").changed_nothing()


def test_destroy_leaves_nothing(user: BalancedUser) -> None:
    user.leaves_nothing()
    assert list(Path("/run/netns").iterdir()) == []
