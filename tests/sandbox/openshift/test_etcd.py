"""A control plane machine is lost and replaced, in the order of its life: each test goes on from where the one before left it.

The members are read and changed by the collection's modules, so that commands in pods pass a real API server.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import websocket

from sandbox.openshift import kube_vip
from sandbox.openshift.api import NODES
from sandbox.openshift.etcd import Etcd, EtcdMember, MembershipError
from sandbox.openshift.node_network import NodeNetwork
from sandbox.openshift.resources import CLUSTER_OPERATORS, ETCD, ETCD_PODS, ETCD_SECRETS, condition_of, is_ready
from tests.contract.environment import run
from tests.kubeconfigs import write_kubeconfig

if TYPE_CHECKING:
    from tests.sandbox.openshift.conftest import Lab

ordered = pytest.mark.asyncio(loop_scope="session")

Eventually = Callable[..., Awaitable[Any]]
Module = Callable[..., Awaitable[dict[str, Any]]]
LOST = "master-1.demo.metal.test"
ANNOUNCED = "192.0.2.5"


# --- the rules of etcd -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def running() -> set[int]:
    return set()


@pytest.fixture
def etcd(tmp_path: Path, running: set[int]) -> Iterator[Etcd]:
    made = Etcd(tmp_path / "members.json", lambda: running)
    for number in range(3):
        made.start(made.add(f"master-{number}", f"192.0.2.{number}"))
    running |= {member.id for member in made}
    yield made


def _member(etcd: Etcd, name: str) -> EtcdMember:
    return next(member for member in etcd if member.name == name)


def test_etcd_refuses_removals_that_endanger_the_quorum(etcd: Etcd, running: set[int]) -> None:
    lost, healthy = _member(etcd, "master-1"), _member(etcd, "master-0")
    running.discard(lost.id)
    with pytest.raises(MembershipError, match="unhealthy cluster"):
        etcd.remove(healthy.id)
    etcd.remove(lost.id)
    with pytest.raises(MembershipError, match="member not found"):
        etcd.remove(lost.id)
    etcd.remove(healthy.id)
    with pytest.raises(MembershipError, match="not enough started members"):
        etcd.remove(_member(etcd, "master-2").id)


# --- in a cluster ------------------------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session", name="lab")
async def _lab(second_lab: Lab) -> Lab:
    return second_lab


@pytest.fixture
def module(lab: Lab, tmp_path: Path) -> Module:
    """Run a module as the cluster's administrator, at the addresses of the masters."""

    def text(name: str) -> str:
        return base64.b64encode((lab.cluster.directory / "control-plane" / "pki" / name).read_bytes()).decode()

    authority = base64.b64encode(lab.assets.certificate("kube-apiserver-lb-signer")).decode()
    cluster = {"server": "https://api.demo.metal.test:6443", "certificate-authority-data": authority}
    user = {"client-certificate-data": text("internal-admin.crt"), "client-key-data": text("internal-admin.key")}
    path = write_kubeconfig(tmp_path / "kubeconfig", cluster, user)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    async def run_module(name: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        addresses = [lab.machines[master].hardware.address for master in ("master-1", "master-0", "master-2")]
        given = {"kubeconfig": str(path), "api_addresses": addresses, "wait_timeout": 60, "wait_interval": 0.5, **options}
        return await asyncio.to_thread(run, name, {**given, "_ansible_check_mode": check}, environment)

    return run_module


async def _conditions(lab: Lab) -> dict[str, str]:
    operator = await lab.cluster.api.get(ETCD)
    return {each["type"]: f"{each['status']} {each.get('message', '')}" for each in (operator or {})["status"]["conditions"]}


@ordered
async def test_each_master_is_a_healthy_member(lab: Lab, module: Module, eventually: Eventually) -> None:
    result = await module("etcd_info", removal_of=LOST)
    names = [f"master-{number}.demo.metal.test" for number in range(3)]
    assert [(each["name"], each["healthy"], each["learner"]) for each in result["members"]] == [(name, True, False) for name in names]
    assert (result["quorum_guard"], result["replacing"], result["blockers"], result["changed"]) == (True, None, [], False)

    async def shown() -> bool:
        return (await _conditions(lab))["EtcdMembersAvailable"] == "True 3 members are available"

    await eventually(shown)
    secrets = {item["metadata"]["name"] for item in await lab.cluster.api.items(ETCD_SECRETS)}
    assert {f"etcd-peer-{LOST}", f"etcd-serving-{LOST}", f"etcd-serving-metrics-{LOST}"} <= secrets


@ordered
async def test_only_the_api_server_runs_commands_in_containers(lab: Lab) -> None:
    address, other = (lab.machines[name].hardware.address for name in ("master-0", "master-1"))
    url = f"wss://{address}:10250/exec/openshift-etcd/etcd-master-0.demo.metal.test/etcdctl?command=etcdctl&output=1"

    def connect() -> None:
        # A machine of the cluster, but not the API server; the kubelet's certificate is of no matter here.
        plain = socket.create_connection((address, 10250), timeout=5, source_address=(other, 0))
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        with plain, unverified.wrap_socket(plain) as connection:
            websocket.create_connection(url, socket=connection, subprotocols=["v4.channel.k8s.io"], timeout=5)

    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        await asyncio.to_thread(connect)
    assert refused.value.status_code == 401


@ordered
async def test_a_backup_is_made_on_another_machine(lab: Lab, module: Module) -> None:
    others = [f"master-{number}.demo.metal.test" for number in (0, 1)]
    predicted = await module("etcd_backup", check=True, not_on=others)
    assert (predicted["changed"], predicted["node"]) == (True, "master-2.demo.metal.test")
    result = await module("etcd_backup", not_on=others, directory="/var/backup")
    assert (result["changed"], result["node"], result["directory"]) == (True, "master-2.demo.metal.test", "/var/backup")
    names = sorted(path.name for path in (lab.machines["master-2"].directory / "var" / "backup").iterdir())
    assert [name.partition("_")[0] for name in names] == ["snapshot", "static"]
    pods = await lab.cluster.api.items(ETCD_PODS)
    assert not [item for item in pods if item["metadata"]["name"].startswith("etcd-backup-")]
    nowhere = await module("etcd_backup", not_on=[*others, "master-2.demo.metal.test"])
    assert nowhere["failed"]
    assert "no control plane node besides" in nowhere["msg"]


@ordered
async def test_an_address_needs_a_lease_that_the_cluster_renews(lab: Lab, eventually: Eventually) -> None:
    """kube-vip by ARP. A node without power keeps the lease for its duration; without a quorum no node has the address."""
    network, names = NodeNetwork("192.0.2.10", subnet="192.0.2.0/24"), ("master-0", "master-1")

    async def lease() -> tuple[str, int]:
        spec = (await lab.cluster.api.get(f"{kube_vip.LEASES}/{kube_vip.LEASE}") or {})["spec"]
        return spec["holderIdentity"], spec["leaseTransitions"]

    async def until_at(*expected: str, within: float) -> None:
        async def at() -> bool:
            return [name for name in names if lab.machines[name].announced.get(ANNOUNCED)] == list(expected)

        await eventually(at, within=within, what=f"the address at {expected}")

    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as nodes:

        async def start(name: str) -> asyncio.Task[None]:
            machine = lab.machines[name]
            api = await stack.enter_async_context(lab.cluster.keys.client(machine.address, 6443))
            return nodes.create_task(kube_vip.run(machine, ANNOUNCED, {}, network, api))

        first = await start("master-0")
        await until_at("master-0", within=10)
        second = await start("master-1")
        await asyncio.sleep(kube_vip.LONGEST_RETRY)
        assert await lease() == ("master-0.demo.metal.test", 0)
        first.cancel()
        await until_at("master-1", within=kube_vip.LEASE_DURATION + 2 * kube_vip.LONGEST_RETRY + 5)
        assert await lease() == (LOST, 1)
        lab.cluster.control_plane.set_quorum(present=False)
        await until_at(within=kube_vip.RETRY_PERIOD + kube_vip.RENEW_DEADLINE + 5)
        lab.cluster.control_plane.set_quorum(present=True)
        await until_at("master-1", within=20)
        second.cancel()


@ordered
async def test_a_lost_machine_is_an_unhealthy_member(lab: Lab, module: Module, eventually: Eventually) -> None:
    await lab.power_off("master-1")

    async def reported() -> bool:
        return (await _conditions(lab))["EtcdMembersDegraded"] == f"True 2 of 3 members are available, {LOST} is unhealthy"

    await eventually(reported)
    result = await module("etcd_info", removal_of=LOST)
    assert [each["healthy"] for each in result["members"]] == [True, False, True]
    assert result["blockers"] == []
    assert "unhealthy" in result["problem"]
    other = await module("etcd_info", removal_of="master-2.demo.metal.test")
    assert any("would lose its quorum" in each for each in other["blockers"])


@ordered
async def test_the_lost_member_is_removed_and_its_secrets_after_its_node(lab: Lab, module: Module) -> None:
    begun = await module("etcd_replacement", node=LOST, device="old-device")
    assert begun["changed"]
    (member,) = [each for each in lab.cluster.etcd if each.name == LOST]
    assert begun["replacing"] == {"node": LOST, "device": "old-device", "member": member.hex_id}
    assert not (await module("etcd_replacement", node=LOST, device="another"))["changed"]
    predicted = await module("etcd_member", check=True, node=LOST)
    assert (predicted["changed"], predicted["removed"], predicted["deleted_secrets"]) == (True, member.hex_id, [])
    assert len(list(lab.cluster.etcd)) == 3
    removed = await module("etcd_member", node=LOST, id=member.hex_id)
    assert (removed["removed"], removed["deleted_secrets"]) == (member.hex_id, [])
    shutil.rmtree(lab.machines["master-1"].directory)
    await lab.cluster.api.delete(f"{NODES}/{LOST}")
    deleted = await module("etcd_member", node=LOST, id=member.hex_id)
    assert deleted["removed"] == ""
    assert deleted["deleted_secrets"] == [f"etcd-peer-{LOST}", f"etcd-serving-{LOST}", f"etcd-serving-metrics-{LOST}"]
    assert not (await module("etcd_member", node=LOST, id=member.hex_id))["changed"]


@ordered
async def test_a_new_machine_is_added_without_the_guard_only(lab: Lab, module: Module, eventually: Eventually) -> None:
    # Left over from another address, as if it had not been deleted.
    kept = await lab.cluster.api.get(f"{ETCD_SECRETS}/etcd-peer-master-0.demo.metal.test")
    assert kept is not None
    metadata = {"name": f"etcd-peer-{LOST}", "namespace": "openshift-etcd"}
    await lab.cluster.api.create(ETCD_SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": kept["data"]})
    assert (await module("etcd_replacement", node=LOST, state="suspended"))["quorum_guard"]
    machine = lab.machine("master-1")
    lab.power_on("master-1", "master")

    async def joined() -> bool:
        await lab.cluster.approve_pending()
        node = await lab.node("master-1")
        return node is not None and is_ready(node)

    async def blocked_by(text: str) -> bool:
        return text in (await _conditions(lab)).get("ClusterMemberControllerDegraded", "")

    await eventually(joined, within=180)
    await eventually(lambda: blocked_by(f"secret etcd-peer-{LOST} is not valid for {machine.hardware.address}"), within=120)
    await lab.cluster.api.delete(f"{ETCD_SECRETS}/etcd-peer-{LOST}")
    await eventually(lambda: blocked_by("3 nodes are required, but only 2 are available"), within=120)
    assert len(list(lab.cluster.etcd)) == 2
    assert (await module("etcd_replacement", node=LOST))["changed"]
    names = [f"master-{number}.demo.metal.test" for number in range(3)]
    result = await module("etcd_info", members=names)
    assert not result.get("failed"), result
    assert [each["healthy"] for each in result["members"]] == [True, True, True]
    finished = await module("etcd_replacement", node=LOST, state="finished")
    assert (finished["replacing"], finished["quorum_guard"]) == (None, True)

    async def pods() -> bool:
        items = await lab.cluster.api.items(ETCD_PODS)
        ready = [item["metadata"]["name"] for item in items if (condition_of(item, "Ready") or {}).get("status") == "True"]
        return sorted(ready) == [f"etcd-{name}" for name in names]

    await eventually(pods, within=180)

    async def operator_is_well() -> bool:
        item = await lab.cluster.api.get(f"{CLUSTER_OPERATORS}/etcd")
        return item is not None and (condition_of(item, "Degraded") or {}).get("status") == "False"

    await eventually(operator_is_well)
