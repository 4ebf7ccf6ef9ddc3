"""A small cluster in the sandbox, brought up once: real control plane, pretended nodes, machines without the machines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_firewall import (
    node_firewall,
    with_bootstrap_firewall,
)
from metal_api.core.machines import Drive, Hardware
from metal_api.listener import open_socket
from sandbox.clock import Clock
from sandbox.machines.network import BoundHTTP
from sandbox.machines.outside import Outside
from sandbox.metal.attachment import Attachment
from sandbox.openshift import kubelet
from sandbox.openshift.api import NODES, Object
from sandbox.openshift.assets import Assets
from sandbox.openshift.binaries import READY_FOLDER_VARIABLE, Binaries, BinariesError, cache_folder
from sandbox.openshift.cluster import Clusters, OneControlPlaneCluster
from sandbox.openshift.installer import cli
from sandbox.openshift.resources import ETCD, condition_of
from sandbox.openshift.systems import system_factory
from tests.eventually import eventually
from tests.registries import Registries

DOMAIN = "demo.metal.test"
IGNITION_ACCEPTS = "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1"
MASTERS = 3
NODES_RECORD = f"nodes.{DOMAIN}"
FIREWALL_FILES = Path(__file__).resolve().parents[3] / "roles/ignition/files"
FIREWALL = {
    "cluster": DOMAIN,
    "cluster_networks": [{"cidr": "10.128.0.0/14"}],
    "node_firewall": {
        "enabled": True,
        "sources": [],
        **{
            name: (FIREWALL_FILES / f"node-firewall.{kind}").read_text()
            for name, kind in (("script", "sh"), ("service", "service"), ("timer", "timer"))
        },
    },
}
"""What the manifests of the firewall of the nodes are made from."""


class PretendedMachine:
    """What `sandbox.machines.Machine` asks for, with the real network card and names from a table."""

    def __init__(
        self, hardware: Hardware, clock: Clock, directory: Path, names: Mapping[str, list[str]], outside: Outside | None = None
    ) -> None:
        self.hardware = hardware
        self.clock = clock
        self.directory = directory
        self._names = names
        self.http = BoundHTTP(hardware.address, self, outside=outside)  # type: ignore[arg-type]  # itself in place of the stub resolver
        self.lines: list[str] = []
        self.announced: dict[str, bool] = {}
        self.reports: list[tuple[str, str]] = []

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(address for address in (self.hardware.address, self.http.private_address) if address)

    def configure_private(self, address: str) -> None:
        self.http.private_address = address

    @property
    def address(self) -> str:
        return self.hardware.address

    def configure(self, address: str, is_connected: Callable[[], bool]) -> None:
        raise NotImplementedError("machines of these tests are in no VLAN")

    def is_connected(self) -> bool:
        return True

    userland = None

    async def listen(self, address: str, port: int) -> socket.socket:
        return open_socket(address, port)

    def attachment(self) -> Attachment:
        return Attachment()

    async def report(self, state: str, message: str) -> None:
        self.reports.append((state, message))

    async def announce(self, address: str, _metadata_url: str, is_healthy: Callable[[], Awaitable[bool]]) -> None:
        """Note whether the machine is healthy, once: what an announcement leads to is the data centre's part."""
        self.announced[address] = await is_healthy()

    def add_address(self, address: str, _own_address: str) -> None:
        self.announced[address] = True

    def remove_address(self, address: str) -> None:
        self.announced[address] = False

    async def resolve(self, name: str) -> list[str]:
        return list(self._names.get(name, []))

    def console(self, line: str) -> None:
        self.lines.append(line)


class Lab:
    """Machines, names and clusters of a test."""

    def __init__(self, state: Path, binaries: Binaries, ignition: dict[str, Any], speed: float) -> None:
        self.state = state
        self.clock = Clock(speed)
        self.ignition = ignition
        self.assets = Assets.from_ignition(ignition)
        self.names: dict[str, list[str]] = {}
        self.binaries = binaries
        self.clusters = Clusters(state, self.clock, binaries)
        self.running: dict[str, asyncio.Task[None]] = {}
        self.machines: dict[str, PretendedMachine] = {}
        self.refusals: list[int] = []
        self.outside: Outside | None = None
        # A network of its own, so that test runs side by side do not meet.
        self._network = f"127.{secrets.choice(range(66, 121))}.{secrets.choice(range(256))}"

    @property
    def cluster(self) -> OneControlPlaneCluster:
        cluster = next(iter(self.clusters))
        assert isinstance(cluster, OneControlPlaneCluster)
        return cluster

    def machine(self, name: str) -> PretendedMachine:
        """Make a machine, known by name."""
        device_id = str(uuid.uuid4())
        directory = self.state / "machines" / device_id / "system"
        directory.mkdir(parents=True)
        hardware = Hardware(
            device_id=device_id,
            hostname=f"{name}.{DOMAIN}",
            address=f"{self._network}.{len(self.machines) + 1}",
            plan="c3.small.x86",
            architecture="x86_64",
            drives=(Drive("/dev/sda", 480),),
            macs=("0c:42:a1:00:00:01",),
            operating_system="custom_ipxe",
        )
        self.names[hardware.hostname] = [hardware.address]
        self.names.setdefault(NODES_RECORD, []).append(hardware.address)
        self.machines[name] = PretendedMachine(hardware, self.clock, directory, self.names, self.outside)
        return self.machines[name]

    def balance(self, *names: str) -> None:
        """Point api and api-int to these machines."""
        addresses = [self.machines[name].hardware.address for name in names]
        self.names |= {f"api.{DOMAIN}": addresses, f"api-int.{DOMAIN}": addresses}

    def power_on(self, name: str, pool: str) -> None:
        """Run a machine: the bootstrap with bootstrap.ign, others with what the machine config server gives them."""
        self.running[name] = asyncio.create_task(self._run(self.machines[name], pool), name=name)

    async def power_off(self, name: str) -> None:
        """Cut its power."""
        task = self.running.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _run(self, machine: PretendedMachine, pool: str) -> None:
        kept = machine.directory / "config.json"
        if pool == "bootstrap":
            config = self.ignition
        elif kept.exists():
            config = json.loads(kept.read_text())
        else:
            config = await self._fetch(machine, pool)
            kept.write_text(json.dumps(config))
        await system_factory(self.clusters)(machine, config).run()

    async def _fetch(self, machine: PretendedMachine, pool: str) -> dict[str, Any]:
        """Ask like Ignition: connection errors and 5xx again and again."""
        url = f"https://api-int.{DOMAIN}:22623/config/{pool}"
        while True:
            with contextlib.suppress(httpx.ConnectError):
                answer = await machine.http.request(
                    "GET", url, headers={"accept": IGNITION_ACCEPTS}, ca_pem=self.assets.certificate("root-ca")
                )
                if answer.status_code == 200:
                    config: dict[str, Any] = answer.json()
                    return config
                self.refusals.append(answer.status_code)
            await asyncio.sleep(0.2)

    async def node(self, name: str) -> Object | None:
        return await self.cluster.api.get(f"{NODES}/{name}.{DOMAIN}")

    async def close(self) -> None:
        for name in list(self.running):
            await self.power_off(name)
        await self.clusters.close()
        for machine in self.machines.values():
            await machine.http.close()


@pytest.fixture(scope="session", name="eventually")
def _eventually() -> Callable[..., Awaitable[Any]]:
    return eventually


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The real programs, if they are built already: a unit test is no place for a build of minutes."""
    try:
        return Binaries.in_folder(Path(os.environ.get(READY_FOLDER_VARIABLE) or cache_folder()))
    except BinariesError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no control plane programs (`make sandbox` builds them): {error}")


@pytest.fixture(scope="session")
def ignition(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Make bootstrap.ign as a user would, with a manifest of his; three masters that take no pods."""
    directory = tmp_path_factory.mktemp("installer")
    install_config = {
        "apiVersion": "v1",
        "baseDomain": "metal.test",
        "metadata": {"name": "demo"},
        "controlPlane": {"name": "master", "replicas": MASTERS},
        "compute": [{"name": "worker", "replicas": 0}],
        "platform": {"none": {}},
        "pullSecret": json.dumps({"auths": {"quay.io": {"auth": "aWQ6cGFzcw=="}}}),
        "sshKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0CnbLVNfmVTCkCl4pQb9b4YzqJmyXDJkkKtBNu2RgM core@demo",
    }
    (directory / "install-config.yaml").write_text(yaml.safe_dump(install_config))
    assert cli.main(["create", "manifests", "--dir", str(directory), "--log-level", "error"]) == 0
    scheduler = directory / "manifests" / "cluster-scheduler-02-config.yml"
    scheduler.write_text(scheduler.read_text().replace("mastersSchedulable: true", "mastersSchedulable: false"))
    (directory / "openshift" / "99-dated.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dated, namespace: default, annotations: {example.com/since: 2026-11-01}}\n"
    )
    for manifest in node_firewall(FIREWALL):
        (directory / "openshift" / f"{manifest['metadata']['name']}.yaml").write_text(yaml.safe_dump(manifest))
    assert cli.main(["create", "ignition-configs", "--dir", str(directory), "--log-level", "error"]) == 0
    config: dict[str, Any] = json.loads(with_bootstrap_firewall((directory / "bootstrap.ign").read_text(), FIREWALL))
    return config


@pytest.fixture(scope="session")
def state() -> Iterator[Path]:
    """A folder with a short path, as a sandbox's state folder has."""
    folder = Path(tempfile.mkdtemp(prefix="sb-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def _installed(state: Path, binaries: Binaries, ignition: dict[str, Any]) -> AsyncIterator[Lab]:
    patched = pytest.MonkeyPatch()
    patched.setattr(kubelet, "SHORTEST_WAIT", 3.0)
    made = Lab(state, binaries, ignition, speed=4000)
    masters = [f"master-{number}" for number in range(MASTERS)]
    registries = await Registries.serve(state)
    made.outside = registries.outside
    try:
        for name in ("bootstrap", *masters, "worker-0"):
            made.machine(name)
        made.balance("bootstrap", *masters)
        made.power_on("bootstrap", "bootstrap")
        for name in masters:
            made.power_on(name, "master")

        async def answers() -> bool:
            return made.refusals != []

        async def removed() -> bool:
            if not made.cluster.control_plane.running:
                return False
            etcd = await made.cluster.api.get(ETCD) or {}
            return (condition_of(etcd, "EtcdBootstrapMemberRemoved") or {}).get("status") == "True"

        made.power_on("worker-0", "worker")
        await eventually(answers, within=240, what="machine config server of the bootstrap refuses the worker")
        await eventually(removed, within=240, what="bootstrap complete and its etcd member removed")
        made.balance(*masters)
        await made.power_off("bootstrap")
        yield made
    finally:
        await made.close()
        await registries.close()
        patched.undo()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lab(state: Path, binaries: Binaries, ignition: dict[str, Any]) -> AsyncIterator[Lab]:
    """Install a cluster: bootstrap, masters; a worker that has to wait for the bootstrap's end; the bootstrap removed.

    The worker's requests are left to the tests.
    """
    async with _installed(state, binaries, ignition) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def second_lab(binaries: Binaries, ignition: dict[str, Any]) -> AsyncIterator[Lab]:
    """Install the same cluster again, for a file whose tests want one of their own."""
    with tempfile.TemporaryDirectory(prefix="sb-") as folder:
        async with _installed(Path(folder), binaries, ignition) as made:
            yield made
