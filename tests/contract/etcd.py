"""The scenarios of the etcd modules: five control plane machines, two of them lost, and commands in their pods.

The API server runs commands through the kubelets of the pods' nodes. These are the sandbox's (its ``/exec``), each on a port of its own,
with the sandbox's etcd members and etcdctl behind them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal_api.listener import Listener
from sandbox.openshift import backup, etcdctl
from sandbox.openshift.api import APIError, ClusterAPI
from sandbox.openshift.etcd import Etcd
from sandbox.openshift.etcdctl import Completed
from sandbox.openshift.kubelet import Container, Execute, application
from tests.cluster.control_plane import ADDRESS, ControlPlane
from tests.contract.faults import LATE
from tests.contract.scenario import ClusterScenario

if TYPE_CHECKING:
    from tests.contract.subjects import Testbed

KUBELETS = "127.64.250.3"
MASTERS = tuple(f"master-{number}.contract.metal.test" for number in range(5))
LOST = MASTERS[3:]
"""Their machines and Nodes do not exist any more; their members and secrets do."""
UP = MASTERS[:3]
NAMESPACE = "openshift-etcd"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
ETCDS = "/apis/operator.openshift.io/v1/etcds"
KINDS_OF_SECRETS = ("etcd-peer", "etcd-serving", "etcd-serving-metrics")
REPLACING = "equinix-metal.openshift/replacing"
GUARD_OFF = "useUnsupportedUnsafeNonHANonProductionUnstableEtcd"
DIRECTORY = "/home/core/assets/backup"
DURATION = LATE + 0.3
"""Seconds that a backup takes: more than a late request. A real one takes longer than any timeout of a call."""
IMAGE = "quay.io/openshift-release-dev/ocp-v4.0-art-dev:4.20.33-etcd"


class Machines:
    """The control plane machines: their etcd members, their kubelets, and their disks, each a folder."""

    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.folder = folder
        self.ports: dict[str, int] = {}
        self._cluster = cluster
        self._loop = asyncio.new_event_loop()
        self._listeners: list[Listener] = []
        self._members = b""
        self._backups: set[asyncio.Task[None]] = set()
        self._made: list[str] = []
        self.renew()

    def renew(self) -> None:
        """Begin with the members of all machines, those of the lost ones not healthy, and without backups."""
        record = self.folder / "members.json"
        record.unlink(missing_ok=True)
        if self._members:
            record.write_bytes(self._members)
        self.etcd = Etcd(record, self._running)
        if not self._members:
            for number, name in enumerate(MASTERS):
                self.etcd.start(self.etcd.add(name, f"192.0.2.{number}"))
            self._members = record.read_bytes()
        self._made = []

    def _running(self) -> Collection[int]:
        return {member.id for member in self.etcd if member.name in UP}

    @contextmanager
    def serving(self) -> Iterator[Machines]:
        thread = threading.Thread(target=self._loop.run_forever, name="kubelets", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
            pods = asyncio.run_coroutine_threadsafe(self._run_backups(), self._loop)
            try:
                yield self
            finally:
                pods.cancel()
                asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    async def _open(self) -> None:
        trust = (self._cluster.directory / "ca.crt").read_bytes()
        for name in UP:
            listener = Listener(application(self._execute_on(name)), websockets=True)
            await listener.open(KUBELETS, 0, self._cluster.kubelet_pair(name, KUBELETS).server_context(trust))
            self.ports[name] = listener.port
            self._listeners.append(listener)

    async def _close(self) -> None:
        for listener in self._listeners:
            await listener.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    def _execute_on(self, node: str) -> Execute:
        def execute(target: Container, command: Sequence[str]) -> Completed:
            if (target.namespace, target.pod) != (NAMESPACE, f"etcd-{node}") or target.container not in ("etcd", "etcdctl"):
                raise LookupError(f"container not found ({target.container!r})")
            return etcdctl.run(self.etcd, next((member for member in self.etcd if member.name == node), None), command)

        return execute

    async def _run_backups(self) -> None:
        """Run the pods of backups, as their kubelets do."""
        trust = (self._cluster.directory / "ca.crt").read_bytes()
        async with ClusterAPI(self._cluster.url, server_name=ADDRESS, ca_pem=trust, cert=self._cluster.admin) as api:
            while True:
                _items, version = await api.list_at(PODS)
                async for kind, pod in api.watch(PODS, version):
                    if kind == "ADDED" and backup.is_backup(pod):
                        task = asyncio.create_task(self._back_up(api, pod))
                        self._backups.add(task)
                        task.add_done_callback(self._backups.discard)

    async def _back_up(self, api: ClusterAPI, pod: dict[str, Any]) -> None:
        path, node = f"{PODS}/{pod['metadata']['name']}", pod["spec"]["nodeName"]
        now = pod["metadata"]["creationTimestamp"]
        containers = [{**each, "imageID": IMAGE, "ready": True, "restartCount": 0} for each in _named(pod["spec"]["containers"])]
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        running = {"phase": "Running", "conditions": [condition], "containerStatuses": containers}
        made = self._made
        await asyncio.sleep(DURATION)
        try:
            names = backup.run(pod, self.folder / node, is_member=node in UP)
            made.append(node)
            ended = backup.ended(running, 0, f"snapshot db and kube resources are successfully saved: {', '.join(names)}")
        except backup.BackupError as error:
            ended = backup.ended(running, 1, str(error))
        for status in (running, ended):
            try:
                await api.patch(f"{path}/status", {"status": status})
            except APIError as error:
                if error.status != 404:
                    raise

    def backups(self) -> int:
        """How many backups were made."""
        return len(self._made)


def _named(containers: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": each["name"], "image": each["image"]} for each in containers]


def lay_etcd(testbed: Testbed) -> None:
    """Three control plane nodes with etcd pods, and two whose machines are lost."""
    cluster, machines = testbed.cluster, testbed.machines
    cluster.clear()
    machines.renew()
    cluster.ensure_namespace(NAMESPACE)
    cluster.define("operator.openshift.io", "etcds", "Etcd")
    body = {"apiVersion": "operator.openshift.io/v1", "kind": "Etcd", "metadata": {"name": "cluster"}}
    available = {"type": "EtcdMembersAvailable", "status": "True", "message": "5 members are available"}
    cluster.create_object(ETCDS, {**body, "spec": {"managementState": "Managed"}, "status": {"conditions": [available]}})
    for name in UP:
        endpoint = {"kubeletEndpoint": {"Port": machines.ports[name]}}
        status = {"addresses": [{"type": "InternalIP", "address": KUBELETS}], "daemonEndpoints": endpoint}
        cluster.register(name, labels={"node-role.kubernetes.io/master": ""}, status=status)
        containers = [{"name": container, "image": IMAGE} for container in ("etcdctl", "etcd")]
        cluster.run_pod(f"etcd-{name}", name, namespace=NAMESPACE, spec={"containers": containers}, labels={"app": "etcd"})
    certificate = base64.b64encode(b"certificate").decode()
    for name in MASTERS:
        for kind in KINDS_OF_SECRETS:
            cluster.create_object(SECRETS, {"metadata": {"name": f"{kind}-{name}"}, "data": {"tls.crt": certificate}})


def members_left(testbed: Testbed) -> Any:
    """Return whose members there are, and of whom there are secrets."""
    found = {each["metadata"]["name"] for each in testbed.cluster.call("GET", SECRETS).json()["items"]}
    return {
        "members": sorted(member.name for member in testbed.machines.etcd),
        "secrets": sorted(name for name in MASTERS if any(f"{kind}-{name}" in found for kind in KINDS_OF_SECRETS)),
    }


def backups_left(testbed: Testbed) -> Any:
    """Return how many backups there are, and how many of their pods."""
    pods = [each for each in testbed.cluster.call("GET", PODS).json()["items"] if backup.is_backup(each)]
    return {"backups": testbed.machines.backups(), "pods": len(pods)}


def replacement_recorded(testbed: Testbed) -> Any:
    """Return the record with the name of the member instead of its id."""
    found = replacement(testbed.cluster.call("GET", f"{ETCDS}/cluster").json())
    member = (found["replacing"] or {}).get("member")
    name = next((each.name for each in testbed.machines.etcd if each.hex_id == member), "")
    return {**found, "replacing": found["replacing"] and {**found["replacing"], "member": name}}


def replacement(etcd: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the Etcd resource records, as the module's diff has it."""
    recorded = (etcd["metadata"].get("annotations") or {}).get(REPLACING)
    overrides = etcd["spec"].get("unsupportedConfigOverrides") or {}
    return {"replacing": json.loads(recorded) if recorded else None, "quorum_guard": overrides.get(GUARD_OFF) is not True}


def nothing(_testbed: Testbed) -> Any:
    """The module only reads."""
    return None


def unchanged(answer: Mapping[str, Any]) -> Any:
    return answer


ETCD_SCENARIOS = [
    ClusterScenario(
        module="etcd_backup",
        create={"directory": DIRECTORY, "not_on": [UP[0]]},
        worlds={"nothing": {"backups": 0, "pods": 0}, "create": {"backups": 1, "pods": 0}},
        meetings=(("read", "create"), ("run", "create"), ("change", "create"), ("delete", "create")),
        lay=lay_etcd,
        read_state=backups_left,
        listing=PODS,
        view=unchanged,
        is_idempotent=False,
    ),
    ClusterScenario(
        module="etcd_info",
        create={"removal_of": LOST[0]},
        worlds={"nothing": None, "create": None},
        meetings=(("read", "create"), ("run", "create")),
        lay=lay_etcd,
        read_state=nothing,
        listing=PODS,
        view=unchanged,
        returned=("members", "quorum_guard", "replacing", "problem", "blockers"),
    ),
    ClusterScenario(
        module="etcd_member",
        create={"node": LOST[0]},
        change={"node": LOST[1]},
        worlds={
            "nothing": {"members": [*MASTERS], "secrets": [*MASTERS]},
            "create": {"members": [*UP, LOST[1]], "secrets": [*UP, LOST[1]]},
            "change": {"members": [*UP], "secrets": [*UP]},
        },
        meetings=(("read", "create"), ("run", "create"), ("remove", "create"), ("delete", "create"), ("remove", "change")),
        lay=lay_etcd,
        read_state=members_left,
        listing=SECRETS,
        view=unchanged,
    ),
    ClusterScenario(
        module="etcd_replacement",
        create={"node": LOST[0], "device": "old-device"},
        change={"node": LOST[0], "state": "finished"},
        worlds={
            "nothing": {"replacing": None, "quorum_guard": True},
            "create": {"replacing": {"node": LOST[0], "device": "old-device", "member": LOST[0]}, "quorum_guard": False},
            "change": {"replacing": None, "quorum_guard": True},
        },
        meetings=(("read", "create"), ("run", "create"), ("change", "create"), ("change", "change")),
        lay=lay_etcd,
        read_state=replacement_recorded,
        listing=f"{ETCDS}/cluster",
        view=replacement,
    ),
]
