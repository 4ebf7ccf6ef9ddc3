"""A cluster whose nodes have a real userland, in the order of its life: what the collection writes on machines is run by machines."""

import contextlib
import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sandbox.containers.tree import PROGRAMS
from sandbox.demo import processes_of
from sandbox.testing.observer import REQUESTS
from tests.containers.machines import (
    KUBELET,
    MACHINE_CONFIGS,
    MARKS,
    MASTERS,
    NODES,
    Machine,
    check_open_ports,
    is_silent,
    listed_ports,
    members,
    readiness,
    result_of,
    scan_from,
    user_of_containers,
)
from tests.e2e.harness import NAME, Moment, User, until
from tests.e2e.test_failure_bundle import bundles, refused, unpacked
from tests.unit.test_programs_on_machines import UNITS

pytestmark = MARKS
TIME_SERVER = "192.0.2.123"
OWN_SETTINGS: dict[str, Any] = {
    "openshift_node_labels": {"example.com/zone": "a"},
    "openshift_node_taints": [{"key": "own", "effect": "PreferNoSchedule"}],
}
"""Of worker-1."""
SCHEDULER_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
NOT_RUN = {
    **dict.fromkeys(("choose-disk.service", "set-clock.service", "wipe-disks.service"), "of the live system, which is simulated"),
    **dict.fromkeys(("kube-vip.service", "kube-vip.timer", "kube-vip-address.service"), "test_load_balancers.py has the announced address"),
    "node-network.service": "test_dual_stack.py has bonds",
}
"""Units that no machine of these tests runs as they are, and why."""
BOOTSTRAPS = "TASK [Wait for bootstrap to complete]"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    own = {"children": {"worker": {"hosts": {"worker-1": OWN_SETTINGS}}}}
    with user_of_containers(tmp_path_factory.mktemp("containers"), {"openshift_time_servers": [TIME_SERVER]}, workers=own) as user:
        yield user


def control_plane_processes(network: Path) -> set[str]:
    """Return the programs of a control plane that run in a network namespace."""
    names = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "ns/net").stat().st_ino == network.stat().st_ino:
                names.add((process / "comm").read_text().strip())
    # The kernel cuts names after 15 characters.
    return names & {"etcd", "kube-apiserver", "kube-controller", "kube-scheduler"}


def test_the_bootstrap_machine_runs_the_first_control_plane(user: User) -> None:
    """Its ports are those of the page. A run that fails without a control plane machine, so before its end, has its journal."""

    def examine() -> None:
        machine = Machine(user, "bootstrap-0")
        until(lambda: readiness(machine) == "200", what="the API server of the bootstrap machine is ready")
        assert {path.is_relative_to(machine.folder) for path in (user.folder / "sandbox").rglob("wal")} == {True}
        assert len(control_plane_processes(Path("/run/netns") / machine.network)) == 4
        assert control_plane_processes(Path("/proc/self/ns/net")) == set()
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        public, closed, others = listed_ports("bootstrap device")
        # By its timer it follows DNS, which has the records of new devices after these have booted, within 30 s.
        assert machine.inside("/usr/bin/systemctl", "start", "node-firewall.service").returncode == 0
        scanned = result_of(scan_from("", machine.address))
        assert (scanned["open"], scanned["dropped"]) == (sorted([*public, *others]), closed)
        user.ask("DELETE", f"devices/{Machine(user, 'master-2').id}")

    run = user.play("install.yml", "-e", "openshift_gather_logs=true", seen={BOOTSTRAPS: examine})
    assert run.code != 0
    assert f"Giving up, since machines will not join: master-2.{NAME}" in run.flat
    journal = unpacked(bundles(user)[-1])[f"journals/bootstrap-0.{NAME}.log"]
    assert "Started kubelet.service" in journal
    assert "Rendering etcd-bootstrap of" in journal


def test_install(user: User) -> None:
    """The bootstrap machine loses power while it waits for the third control plane machine, and continues from its disk."""
    machine = Machine(user, "bootstrap-0")
    network = Path("/run/netns") / machine.network

    def lose_power() -> None:
        assert "bootkube.service complete" not in machine.console()
        user.switch("power_off", "bootstrap-0")
        user.switch("power_on", "bootstrap-0")

    def examine() -> None:
        assert machine.first_boots() == 1
        until(lambda: not control_plane_processes(network), what="the control plane of the bootstrap machine ends")
        until(lambda: "bootkube.service complete" in machine.journal(), what="its unit ends")

    user.play("install.yml", seen={BOOTSTRAPS: lose_power, "TASK [Remove bootstrap from DNS]": examine}).ended_well()
    assert not (machine.folder.exists() or network.exists())
    assert user.nodes() == NODES
    user.play("install.yml").changed_nothing()


def test_every_unit_of_a_node_has_started(user: User) -> None:
    for name in NODES:
        machine = Machine(user, name)
        assert machine.inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
        assert (machine.disk / "etc/hostname").read_text() == f"{name}.{NAME}\n"
        # The journal does not have what systemd finds before its start.
        assert "ordering cycle" not in machine.console()
        assert {"report-first-boot.service", "nodeip-configuration.service", "kubelet.service"} <= machine.started()
        events = [event["body"] for event in user.ask("GET", f"devices/{machine.id}/events", params={"per_page": 250})["events"]]
        assert "[first boot] Ignition status: finished successfully" in events


def test_each_control_plane_machine_has_a_member_and_an_api_server(user: User) -> None:
    assert members(user) == MASTERS
    assert [readiness(Machine(user, name)) for name in MASTERS] == ["200"] * 3
    assert all((Machine(user, name).disk / "var/lib/etcd/member/wal").is_dir() for name in MASTERS)
    assert not list((user.folder / "sandbox/clusters").rglob("wal"))
    assert user.kube(SCHEDULER_LEASE)["spec"]["holderIdentity"].startswith("master-")


def test_the_firewall_stays_without_dns(user: User) -> None:
    worker, master = Machine(user, "worker-0"), Machine(user, "master-0")
    chain = "add table inet silence; add chain inet silence output { type filter hook output priority 0; }"
    silenced = worker.inside("/usr/sbin/nft", f"{chain}; add rule inet silence output udp dport 53 drop")
    assert silenced.returncode == 0, silenced.stderr
    try:
        assert worker.inside("/usr/bin/systemctl", "start", "node-firewall.service").returncode == 0
        assert result_of(scan_from("", worker.address, KUBELET))["dropped"] == [KUBELET]
        assert result_of(scan_from(master, worker.address, KUBELET))["open"] == [KUBELET]
    finally:
        assert worker.inside("/usr/sbin/nft", "delete table inet silence").returncode == 0
    assert any("has no address: using those of" in message for message in worker.journal())


def test_open_ports_are_those_of_the_page(user: User) -> None:
    machines = {name: Machine(user, name) for name in NODES}
    check_open_ports(machines)
    # The service routes an IPv6 address to each node, and DHCP configures none.
    assert all(is_silent(machine.address6) for machine in machines.values())


def test_what_the_collection_writes_is_there_and_has_run(user: User) -> None:
    """Each MachineConfig of the collection, on each node of its pool; and what none of these machines has run is named."""
    run: set[str] = set()
    for name in NODES:
        machine = Machine(user, name)
        started = machine.started()
        run |= started
        pool = "master" if name.startswith("master") else "worker"
        configs = [item for item in user.kube(MACHINE_CONFIGS)["items"] if item["metadata"]["name"].startswith(f"98-{pool}-")]
        assert {item["metadata"]["name"] for item in configs} == {f"98-{pool}-chrony", f"98-{pool}-node-firewall"}
        for config in (item["spec"]["config"] for item in configs):
            for file in config["storage"]["files"]:
                content = b64decode(file["contents"]["source"].partition("base64,")[2]).decode()
                assert machine.inside("/usr/bin/cat", file["path"]).stdout == content, file["path"]
            assert {unit["name"] for unit in config.get("systemd", {}).get("units", [])} <= started
    assert set(UNITS) - run == set(NOT_RUN)


def test_a_node_has_its_time_server(user: User) -> None:
    for name in NODES:
        listed = Machine(user, name).inside("/usr/bin/chronyc", "-n", "-c", "sources").stdout
        assert [line.split(",")[2] for line in listed.splitlines()] == [TIME_SERVER], name


def test_a_node_registers_with_its_labels_and_taints(user: User) -> None:
    node = user.kube(f"/api/v1/nodes/worker-1.{NAME}")
    assert node["metadata"]["labels"].items() >= OWN_SETTINGS["openshift_node_labels"].items()
    assert OWN_SETTINGS["openshift_node_taints"][0] in node["spec"]["taints"]
    flags = Machine(user, "worker-1").inside("/usr/bin/ps", "-ww", "-eo", "args").stdout
    assert re.search(r"--node-labels=\S*example\.com/zone=a", flags)
    assert "--register-with-taints=own=:PreferNoSchedule" in flags


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
    token = yaml.safe_load((machine.disk / "etc/kubernetes/kubeconfig").read_text())["users"][0]["user"]["token"]
    registries = json.loads((machine.disk / "var/lib/kubelet/config.json").read_text())["auths"].values()
    printed = "\n".join([*machine.journal(), machine.console()])
    assert [secret for secret in (token, *(registry["auth"] for registry in registries)) if secret in printed] == []


def test_a_loss_of_power_and_a_second_boot(user: User) -> None:
    machine = Machine(user, "worker-0")
    user.switch("power_off", "worker-0")
    assert is_silent(machine.address)
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


def test_no_container_outlives_the_sandbox(user: User) -> None:
    user.sandbox.kill()
    until(lambda: not [command for _number, command in processes_of(user.folder) if "systemd-nspawn" in command], what="containers end")
    user.sandbox.start()
    until(lambda: user.nodes() == NODES, what="all nodes are Ready again")
    user.play("install.yml").changed_nothing()


def test_a_worker_is_replaced(user: User) -> None:
    replaced = Machine(user, "worker-1").id
    user.play("replace.yml", "-e", "openshift_replace=worker-1", "-e", "openshift_least_workers=1").ended_well()
    assert Machine(user, "worker-1").id != replaced
    assert user.nodes() == NODES
    user.play("install.yml").changed_nothing()


def test_scale_up_and_down(user: User) -> None:
    user.edit_workers(2)
    user.sandbox.call("POST", "faults", json=refused("POST", "/devices$"))
    assert user.play("scale.yml", "-e", "openshift_gather_logs=true").code != 0
    user.sandbox.call("DELETE", "faults")
    entries = unpacked(bundles(user)[-1])
    for name in NODES:
        assert "Started kubelet.service" in entries[f"journals/{name}.{NAME}.log"]
        assert "Ignition finished successfully" in entries[f"consoles/{name}.{NAME}.log"]

    # Nobody answers the first request, and a kubelet that is started again has forgotten its key.
    user.play("scale.yml", kill=Moment("csr_approval"))
    (first,) = until(lambda: pending(user, "worker-2"), what="worker-2 asks")
    user.switch("reboot", "worker-2")
    second = until(lambda: pending(user, "worker-2")[1:], what="worker-2 asks again")[0]
    assert key_of(first) != key_of(second)
    run = user.play("scale.yml").ended_well()
    assert user.nodes()[-1] == "worker-2"
    assert pending(user, "worker-2") == [first], "nobody has its key any more"
    # A rogue CSR would be the same, so the alarm is printed.
    alarm = run.output.partition("ALARM ")[2]
    assert [request["metadata"]["name"] in alarm for request in (first, second)] == [True, True]
    assert Machine(user, "worker-2").inside("/usr/bin/systemctl", "--failed", "--plain", "--no-legend").stdout == ""
    user.edit_workers(1)
    user.play("scale.yml").ended_well()
    assert user.nodes()[-1] == "worker-1"
    user.play("scale.yml").changed_nothing()


def pending(user: User, name: str) -> list[dict[str, Any]]:
    """The CSRs of a node that are not decided, oldest first."""
    requests = [
        request
        for request in user.kube(REQUESTS)["items"]
        if not request.get("status", {}).get("conditions") and f"CN=system:node:{name}.{NAME}," in csr_of(request).subject.rfc4514_string()
    ]
    return sorted(requests, key=lambda request: int(request["metadata"]["resourceVersion"]))


def csr_of(request: dict[str, Any]) -> x509.CertificateSigningRequest:
    return x509.load_pem_x509_csr(b64decode(request["spec"]["request"]))


def key_of(request: dict[str, Any]) -> bytes:
    return csr_of(request).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def test_destroy_leaves_nothing(user: User) -> None:
    user.leaves_nothing()
    assert subprocess.run(["ip", "-oneline", "link", "show", "type", "veth"], capture_output=True, text=True, check=True).stdout == ""
    assert list(Path("/run/netns").iterdir()) == []
    assert str(user.folder) not in Path("/proc/self/mounts").read_text(encoding="utf-8").replace(str(user.folder / "resolv.conf"), "")
