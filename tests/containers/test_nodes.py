"""A cluster whose nodes have a real userland, in the order of its life: what the collection writes on machines is run by machines."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import namespace
from sandbox.containers.tree import PROGRAMS
from sandbox.demo import processes_of
from tests.e2e.harness import NAME, User, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.skipif(not os.environ.get("SANDBOX_NAMESPACE"), reason="python -m tests.containers runs these, as root"),
]

NODES = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
MASTERS = NODES[:3]
KUBELET, CONFIG_SERVER, API = 10250, 22623, 6443
PROMPT = 5.0
"""Seconds in which a port that is open answers, and one that is dropped does not."""


class Machine:
    """A node's container, as one sees it from its rack."""

    def __init__(self, user: User, name: str) -> None:
        (device,) = [device for device in user.devices() if device["hostname"] == f"{name}.{NAME}"]
        self.id = str(device["id"])
        self.address = next(entry["address"] for entry in device["ip_addresses"] if entry["public"] and entry["address_family"] == 4)
        self.folder = user.folder / "sandbox" / "machines" / self.id

    @property
    def disk(self) -> Path:
        return self.folder / "system/container/upper"

    def console(self) -> str:
        # Without colours.
        return re.sub(r"\x1b\[[0-9;]*m", "", (self.folder / "screen.log").read_text(encoding="utf-8", errors="replace"))

    def first_boots(self) -> int:
        """Return how often Ignition has written the disk."""
        return self.console().count("ignition: Ignition finished successfully")

    def journal(self) -> list[str]:
        """Return the messages of all boots."""
        (folder,) = (self.disk / "var/log/journal").iterdir()
        command = ["journalctl", f"--directory={folder}", "--output=json", "--no-pager"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return [str(json.loads(line).get("MESSAGE")) for line in shown.stdout.splitlines()]

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of this computer in the machine's network, or one of the machine's (with a path) in all of its namespaces."""
        words = ["nsenter", f"--target={self._init()}", "--all", f"--root=/proc/{self._init()}/root", *command]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def reaches(self, address: str, port: int) -> str:
        """Return what a connection from the machine meets: open, refused or dropped."""
        command = f"exec 3<>/dev/tcp/{address}/{port}"
        done = self.inside("/usr/bin/timeout", f"{PROMPT:g}", "/usr/bin/bash", "-c", command)
        return {0: "open", 124: "dropped"}.get(done.returncode, "refused" if "refused" in done.stderr else done.stderr)

    def _init(self) -> int:
        """The process id of the machine's systemd."""
        network = Path(f"/run/netns/m{self.id.replace('-', '')[:13]}").stat().st_ino
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and (process / "comm").exists():
                name = (process / "comm").read_text().strip()
                if name == "systemd" and (process / "ns/net").stat().st_ino == network:
                    return int(process.name)
        raise LookupError(f"no systemd runs in the network of {self.id}")


def answers(address: str, port: int) -> str:
    """Return what a connection of the controller meets: open, refused or dropped."""
    try:
        with socket.create_connection((address, port), PROMPT):
            return "open"
    except ConnectionRefusedError:
        return "refused"
    except TimeoutError:
        return "dropped"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("containers"), speed=240, machines="container")
    with user.at_work():
        namespace.use_name_server(user.folder)
        yield user


def test_install(user: User) -> None:
    user.play("install.yml").ended_well()
    assert user.nodes() == NODES
    user.play("install.yml").changed_nothing()


def test_every_unit_of_a_node_has_started(user: User) -> None:
    for name in NODES:
        machine = Machine(user, name)
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        assert [message for message in machine.journal() if "ordering cycle" in message or "deleted to break" in message] == []
        for unit in ("node-firewall.service", "report-first-boot.service", "nodeip-configuration.service", "kubelet.service"):
            assert re.search(rf"(Finished|Started) {unit[:14]}", machine.console()), unit
        events = [event["body"] for event in user.ask("GET", f"devices/{machine.id}/events", params={"per_page": 250})["events"]]
        assert "[first boot] Ignition status: finished successfully" in events


def members(user: User) -> list[str]:
    """Return the short names of the etcd members, read in the pod of one as the collection does."""
    command = f"exec --namespace=openshift-etcd etcd-master-0.{NAME} --container=etcdctl -- etcdctl member list -w json"
    kubectl = [str(user.folder / "sandbox/bin/kubectl"), f"--kubeconfig={user.cluster / 'kubeconfig'}", *command.split()]
    done = subprocess.run(kubectl, capture_output=True, text=True, check=True)
    return sorted(member["name"].removesuffix(f".{NAME}") for member in json.loads(done.stdout)["members"])


def readiness(machine: Machine) -> str:
    """Return what the API server of a machine answers for its readiness, which includes that of etcd."""
    curl = ["/usr/bin/curl", "--insecure", "--silent", "--max-time", f"{PROMPT:g}", "--write-out", "%{http_code}", "--output", "/dev/null"]
    return machine.inside(*curl, f"https://127.0.0.1:{API}/readyz").stdout


def test_each_control_plane_machine_has_a_member_and_an_api_server(user: User) -> None:
    assert members(user) == MASTERS
    assert [readiness(Machine(user, name)) for name in MASTERS] == ["200"] * 3
    assert all((Machine(user, name).disk / "var/lib/etcd/member/wal").is_dir() for name in MASTERS)
    assert not list((user.folder / "sandbox/clusters").rglob("wal"))


def test_the_firewall_is_felt(user: User) -> None:
    """A machine of the cluster reaches what only nodes use, and the controller does not: the install that ends needs none of it."""
    worker, master = Machine(user, "worker-0"), Machine(user, "master-0")
    assert {
        "worker, kubelet": worker.reaches(master.address, KUBELET),
        "worker, config server": worker.reaches(master.address, CONFIG_SERVER),
        "controller, API": answers(master.address, API),
        "controller, config server": answers(master.address, CONFIG_SERVER),
        "controller, kubelet of a worker": answers(worker.address, KUBELET),
        "controller, router": answers(worker.address, 443),
        "controller, no service": answers(worker.address, 22),
    } == {
        "worker, kubelet": "open",
        "worker, config server": "open",
        "controller, API": "open",
        "controller, config server": "dropped",
        "controller, kubelet of a worker": "dropped",
        "controller, router": "open",
        "controller, no service": "refused",
    }


def test_the_firewall_stays_without_dns(user: User) -> None:
    worker, master = Machine(user, "worker-0"), Machine(user, "master-0")
    chain = "add table inet silence; add chain inet silence output { type filter hook output priority 0; }"
    silenced = worker.inside("/usr/sbin/nft", f"{chain}; add rule inet silence output udp dport 53 drop")
    assert silenced.returncode == 0, silenced.stderr
    try:
        assert worker.inside("/usr/bin/systemctl", "start", "node-firewall.service").returncode == 0
        assert answers(worker.address, KUBELET) == "dropped"
        assert master.reaches(worker.address, KUBELET) == "open"
    finally:
        assert worker.inside("/usr/sbin/nft", "delete table inet silence").returncode == 0
    assert any("has no address: using those of" in message for message in worker.journal())


def test_the_tree_has_what_coreos_has_and_no_more(user: User) -> None:
    machine = Machine(user, "worker-0")
    assert machine.inside("/usr/bin/touch", "/usr/bin/new").returncode != 0
    for program in ("python3", "perl", "apt-get", "dpkg", "dig", "nc"):
        assert machine.inside("/usr/bin/bash", "-c", f"command -v {program}").returncode != 0, program
    for program in " ".join(PROGRAMS.values()).split():
        assert machine.inside("/usr/bin/bash", "-c", f"command -v {program}").returncode == 0, program


def test_secrets_are_read_by_root_alone(user: User) -> None:
    machine = Machine(user, "worker-0")
    for path in ("etc/kubernetes/kubeconfig", "var/lib/kubelet/config.json"):
        assert (machine.disk / path).stat().st_mode & 0o077 == 0, path
    assert not list(machine.folder.rglob("user.ign"))


def test_a_loss_of_power_and_a_second_boot(user: User) -> None:
    machine = Machine(user, "worker-0")
    user.switch("power_off", "worker-0")
    with pytest.raises(OSError, match=r"No route to host|timed out"):
        socket.create_connection((machine.address, 443), PROMPT)
    until(lambda: "worker-0" not in user.nodes(), what="the node is not Ready without power")
    user.switch("power_on", "worker-0")
    until(lambda: "worker-0" in user.nodes(), what="the node is Ready again")
    assert machine.first_boots() == 1
    user.play("install.yml").changed_nothing()


def test_the_api_needs_two_of_three_machines(user: User) -> None:
    user.switch("power_off", "master-1", "master-2")
    until(lambda: readiness(Machine(user, "master-0")) != "200", what="the API server has no quorum")
    user.switch("power_on", "master-1", "master-2")
    until(lambda: readiness(Machine(user, "master-0")) == "200", what="the API server has a quorum again")


def test_a_loss_of_power_of_all_machines(user: User) -> None:
    user.switch("power_off")
    user.play("playbooks/start.yml").ended_well()
    assert user.nodes() == NODES
    for name in NODES:
        assert Machine(user, name).first_boots() == 1, name
    user.play("install.yml").changed_nothing()


def test_no_container_outlives_the_sandbox(user: User) -> None:
    user.sandbox.kill()
    until(lambda: not [command for _number, command in processes_of(user.folder) if "systemd-nspawn" in command], what="containers end")
    user.sandbox.start()
    until(lambda: user.nodes() == NODES, what="all nodes are Ready again")
    user.play("install.yml").changed_nothing()


def test_replace_a_control_plane_machine(user: User) -> None:
    lost = Machine(user, "master-1")
    user.switch("power_off", "master-1")
    user.play("replace.yml", "-e", "openshift_replace=master-1").ended_well()
    assert (members(user), Machine(user, "master-1").id == lost.id) == (MASTERS, False)


def test_scale_up_and_down(user: User) -> None:
    user.edit_workers(2)
    user.play("scale.yml").ended_well()
    assert user.nodes()[-1] == "worker-2"
    assert Machine(user, "worker-2").inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
    user.edit_workers(1)
    user.play("scale.yml").ended_well()
    assert user.nodes()[-1] == "worker-1"
    user.play("scale.yml").changed_nothing()


def test_destroy_leaves_nothing(user: User) -> None:
    user.leaves_nothing()
    assert subprocess.run(["ip", "-oneline", "link", "show", "type", "veth"], capture_output=True, text=True, check=True).stdout == ""
    assert list(Path("/run/netns").iterdir()) == []
    assert str(user.folder) not in Path("/proc/self/mounts").read_text(encoding="utf-8").replace(str(user.folder / "resolv.conf"), "")
