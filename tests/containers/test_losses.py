"""A cluster that loses certificates while all machines are off, the data of one etcd member, and that of most, in the order of its life."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import httpx
import pytest
import yaml

from sandbox.testing.observer import REQUESTS
from tests.containers.machines import MACHINE_CONFIGS, MARKS, MASTERS, Machine, members, readiness, user_of_containers
from tests.e2e.harness import NAME, Run, User, until

pytestmark = MARKS

WORKERS = ["infra-0", "worker-0"]
NODES = sorted([*WORKERS, *MASTERS])
UNIT = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"
POOL = {"openshift_pool_machine_config": True, "openshift_kernel_arguments": ["hugepages=16"]}
EXPIRED = "part of the existing bootstrap client certificate in /var/lib/kubelet/kubeconfig is expired"
DESTROYED = "dataDir has been destroyed and must be removed from the cluster"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    pool = {"children": {"infra": {"hosts": {"infra-0": None}, "vars": POOL}}}
    with user_of_containers(tmp_path_factory.mktemp("losses"), {}, workers=pool) as user:
        user.edit_workers(0)
        yield user


def test_a_pool_with_kernel_arguments_of_its_own_costs_no_boot_beside_those_of_ignition_and_the_node_image(user: User) -> None:
    user.play("install.yml").ended_well()
    assert user.nodes() == NODES
    assert {name: Machine(user, name).boots() for name in NODES} == dict.fromkeys(NODES, 2)
    node = user.kube(f"/api/v1/nodes/infra-0.{NAME}")["metadata"]
    assert {"node-role.kubernetes.io/infra", "node-role.kubernetes.io/worker"} <= set(node["labels"])
    assert node["annotations"]["machineconfiguration.openshift.io/currentConfig"].startswith("rendered-infra-")


def test_a_later_machine_config_and_its_removal_cost_one_boot_of_each_worker(user: User) -> None:
    name, path = "99-worker-own", "/etc/own.conf"
    unit = {"name": "own.service", "enabled": True, "contents": UNIT}
    storage = {"files": [{"path": path, "contents": {"source": "data:,own%0A"}}]}
    config = {"ignition": {"version": "3.4.0"}, "storage": storage, "systemd": {"units": [unit]}}
    metadata = {"name": name, "labels": {"machineconfiguration.openshift.io/role": "worker"}}
    body = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": metadata}
    spec = {"config": config, "kernelArguments": ["hugepages=8"]}
    user.kube(MACHINE_CONFIGS, "POST", body | {"spec": spec})
    until(lambda: len(cordoned(user)) == 1, what="one worker is cordoned")
    until(partial(have_booted, user, 3), within=240, what="workers have rebooted into the config")
    assert cordoned(user) == []
    for worker in map(partial(Machine, user), WORKERS):
        assert worker.inside("/usr/bin/cat", path).stdout == "own\n"
        assert "own.service" in worker.started()
    user.kube(f"{MACHINE_CONFIGS}/{name}", "DELETE")
    until(partial(have_booted, user, 4), within=240, what="workers have rebooted into the config before")
    assert not any((Machine(user, worker).disk / path[1:]).exists() for worker in WORKERS)
    assert {master: Machine(user, master).boots() for master in MASTERS} == dict.fromkeys(MASTERS, 2)


def cordoned(user: User) -> list[str]:
    return [node["metadata"]["name"] for node in user.kube("/api/v1/nodes")["items"] if node["spec"].get("unschedulable")]


def have_booted(user: User, boots: int) -> bool:
    """Whether the workers have booted so often, and all pools report the newest config."""
    pools = [pool["status"] for pool in user.kube("/apis/machineconfiguration.openshift.io/v1/machineconfigpools")["items"]]
    updated = all(pool["updatedMachineCount"] == pool["readyMachineCount"] == pool["machineCount"] for pool in pools)
    return updated and [Machine(user, name).boots() for name in WORKERS] == [boots] * len(WORKERS)


def test_certificates_end_while_all_machines_are_off(user: User) -> None:
    requests = {item["metadata"]["name"] for item in user.kube(REQUESTS)["items"]}
    user.switch("power_off")
    assert len(user.sandbox.call("POST", "days", json={"days": 31})["certificates"]) >= 2 * len(NODES)
    # The machines boot within the 40 s for which the Nodes are Ready by their last reports.
    user.play("playbooks/start.yml").ended_well()
    assert user.nodes() == NODES
    assert requests.isdisjoint(item["metadata"]["name"] for item in user.kube(REQUESTS)["items"])
    for machine in (Machine(user, name) for name in NODES):
        assert any(EXPIRED in message for message in machine.journal())
        assert machine.first_boots() == 1


def asked_by_kubeconfig(user: User) -> str:
    """Return the control plane machine whose API server the tests ask."""
    server = yaml.safe_load((user.cluster / "kubeconfig").read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    return next(name for name in MASTERS if f"//{Machine(user, name).address}:" in server)


def lose_data(user: User, *names: str) -> None:
    """Destroy what etcd has on the disks of machines, which are on afterwards."""
    user.switch("power_off", *names)
    for name in names:
        shutil.rmtree(Machine(user, name).disk / "var/lib/etcd")
    user.switch("power_on", *names)
    for name in names:
        until(partial(refuses_to_start, Machine(user, name)), what=f"etcd of {name} refuses to start")


def refuses_to_start(machine: Machine) -> bool:
    return any(DESTROYED in log.read_text(encoding="utf-8") for log in (machine.disk / "var/log/pods").rglob("etcd/*.log"))


@contextlib.contextmanager
def answers(user: User) -> Iterator[list[float]]:
    """Yield when the API has answered a read of etcd, twice a second."""
    times, over = [time.monotonic()], threading.Event()

    def ask() -> None:
        while not over.wait(0.5):
            with contextlib.suppress(httpx.HTTPError):
                user.kube("/api/v1/namespaces/kube-system")
                times.append(time.monotonic())

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield times
    finally:
        over.set()
        thread.join()


def replace(user: User, *names: str) -> Run:
    return user.play("replace.yml", "-e", f"openshift_replace={','.join(names)}")


def is_refused(run: Run, text: str) -> bool:
    return run.code != 0 and text in run.flat and "nothing was changed" in run.flat and run.changes == []


def test_the_data_of_one_etcd_member_is_lost(user: User) -> None:
    lost = next(name for name in MASTERS if name != asked_by_kubeconfig(user))
    lose_data(user, lost)
    until(lambda: f"2 of 3 members are available, {lost}.{NAME} is unhealthy" in user.play("status.yml").flat, what="status names it")
    assert is_refused(replace(user, asked_by_kubeconfig(user)), "etcd would lose its quorum: 1 of 3 voting members")
    with answers(user) as times:
        replace(user, lost).ended_well()
    gap = max(after - before for before, after in pairwise(times))
    print(f"{len(times)} reads, longest gap {gap:.1f} s")
    assert gap < 10, "more than a new leader of etcd takes"
    assert (members(user), user.nodes()) == (MASTERS, NODES)


def test_the_data_of_most_etcd_members_is_lost(user: User) -> None:
    left = asked_by_kubeconfig(user)
    lost = [name for name in MASTERS if name != left]
    lose_data(user, *lost)
    until(lambda: readiness(Machine(user, left)) != "200", what="the API server has no quorum")
    assert "docs/recovery.md" in user.play("status.yml").flat
    restored = Machine(user, left).inside("/usr/bin/bash", "/usr/local/bin/quorum-restore.sh")
    assert restored.returncode == 0, restored.stderr
    until(lambda: readiness(Machine(user, left)) == "200", what="the API server has a quorum again")

    # Its Node is Ready, so that etcd may get a member there at any time.
    until(lambda: set(lost) <= set(user.nodes()), what="the kubelets report again")
    assert is_refused(replace(user, *lost), f"{lost[0]}.{NAME} is Ready and has no etcd member")
    user.switch("power_off", *lost)
    until(lambda: user.nodes("Unknown") == lost, within=240, what="the cluster has noticed it")
    replace(user, *lost).ended_well()
    assert (members(user), user.nodes()) == (MASTERS, NODES)
    user.play("install.yml").changed_nothing()


def test_destroy(user: User) -> None:
    user.leaves_nothing()
