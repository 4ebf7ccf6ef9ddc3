"""An Ironic with nodes of its fake hardware, and a Metal API on it: a node that is powered on boots as a machine does."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from metal_api.core.machines import Hardware, Machines
from metal_api.ironic.client import IronicClient
from metal_api.ironic.embedded import EmbeddedIronic, Site
from metal_api.ironic.machines import IronicMachines
from metal_api.ironic.mapping import metro_trait
from metal_api.servers import Servers
from metal_api.world import MetalWorld
from sandbox.machines.with_servers import WithServers
from tests.metal_api.conftest import Sandbox, ScriptedMachines, machine_client, sandbox_in
from tests.ports import free_ports

R = TypeVar("R")
PLAN = "c3.small.x86"
METRO = "da"


class Background:
    """An event loop in a thread, for what outlives the loop of one test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class FakeRack:
    """The Ironic of the tests. Its process is kept running by :class:`Background`."""

    def __init__(self, folder: Path, programs: Path, power_sync: int = 5) -> None:
        self._background = Background()
        (port,) = free_ports(1)
        self.ironic = EmbeddedIronic(folder, programs, port, Site("http://127.0.0.1:9", fake_hardware=True, power_sync=power_sync))
        self._background.run(self.ironic.start())
        self._database = folder / "ironic.sqlite"
        self.connection = self.ironic.access.connect()
        self._created = 0

    def client(self) -> IronicClient:
        return IronicClient(self.ironic.access.connect())

    def enrol(self, count: int, *, plan: str = PLAN, metro: str = METRO, **fields: Any) -> list[str]:
        """Make nodes available, and return their UUIDs."""
        bare = self.connection.baremetal
        ids = []
        for _unused in range(count):
            self._created += 1
            node = bare.create_node(
                **{
                    "name": f"r1-u{self._created:03d}",
                    "driver": "fake-hardware",
                    "boot_interface": "fake",
                    "deploy_interface": "fake",
                    "management_interface": "fake",
                    "power_interface": "fake",
                    "resource_class": plan,
                    "properties": {"cpu_arch": "x86_64"},
                    "provision_state": "enroll",
                    **fields,
                }
            )
            for number in range(2):
                bare.create_port(node_uuid=node.id, address=f"52:54:00:{number:02x}:{self._created >> 8:02x}:{self._created & 255:02x}")
            bare.put(f"/nodes/{node.id}/traits", json={"traits": [metro_trait(metro)]}, microversion="1.80")
            ids.append(node.id)
        for target, expected in (("manage", "manageable"), ("provide", "available")):
            for id_ in ids:
                bare.set_node_provision_state(id_, target)
            bare.wait_for_nodes_provision_state(ids, expected, timeout=120)
        for id_ in ids:
            # Fake hardware has no power state before it gets one.
            bare.set_node_power_state(id_, "power off")
        return ids

    def node(self, id_: str) -> dict[str, Any]:
        answer = self.connection.baremetal.get(f"/nodes/{id_}", microversion="1.80")
        found: dict[str, Any] = answer.json()
        return found

    def set_in_database(self, id_: str, **columns: Any) -> None:
        """Make a node as Ironic leaves it in rare moments.

        Waits until no task of Ironic holds the node: a task writes the values that it read at its beginning.
        """
        names = ", ".join(f"{name} = ?" for name in columns)
        statement = f"UPDATE nodes SET {names} WHERE uuid = ? AND reservation IS NULL"  # noqa: S608 - names of a test
        deadline = time.monotonic() + 30
        with closing(sqlite3.connect(self._database, timeout=30)) as database:
            while database.execute(statement, [*columns.values(), id_]).rowcount != 1:
                database.commit()
                assert time.monotonic() < deadline, f"a task of Ironic holds node {id_}, or there is none"
                time.sleep(0.1)
            database.commit()

    def forget_instance(self, id_: str, *, allocation: str | None = None) -> None:
        """Take the device off a node. ``allocation``: state that its allocation gets, None to delete it."""
        with closing(sqlite3.connect(self._database, timeout=30)) as database:
            [(instance,)] = database.execute("SELECT instance_uuid FROM nodes WHERE uuid = ?", [id_])
            database.execute("UPDATE nodes SET instance_uuid = NULL, allocation_id = NULL WHERE uuid = ?", [id_])
            if allocation is None:
                done = database.execute("DELETE FROM allocations WHERE uuid = ?", [instance])
            else:
                done = database.execute("UPDATE allocations SET state = ?, node_id = NULL WHERE uuid = ?", [allocation, instance])
            assert done.rowcount == 1
            database.commit()

    def change(self, id_: str, **fields: Any) -> None:
        patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in fields.items()]
        answer = self.connection.baremetal.patch(f"/nodes/{id_}", json=patch, microversion="1.80")
        assert answer.status_code == 200, answer.text

    def empty(self) -> None:
        """Delete all nodes and allocations, whatever their state."""
        bare = self.connection.baremetal
        for allocation in list(bare.allocations()):
            bare.patch(f"/nodes/{allocation.node_id}", json=[{"op": "add", "path": "/maintenance", "value": True}], microversion="1.80")
        for node in list(bare.nodes(details=True)):
            if node.provision_state not in {"available", "manageable", "enroll"} or node.instance_id:
                bare.set_node_maintenance(node)
            bare.wait_for_node_reservation(node, timeout=60)
            bare.delete_node(node)
        for allocation in list(bare.allocations()):
            bare.delete_allocation(allocation)

    def undeploy(self) -> None:
        """Make all nodes available again, whoever has them."""
        bare = self.connection.baremetal
        used = [each for each in bare.nodes(details=True) if each.instance_id or each.provision_state != "available"]
        for node in used:
            bare.wait_for_node_reservation(node, timeout=60)
            if bare.get_node(node.id).provision_state != "available":
                bare.set_node_provision_state(node, "deleted")
        bare.wait_for_nodes_provision_state([each.id for each in used], "available", timeout=60)
        for allocation in list(bare.allocations()):
            bare.delete_allocation(allocation)

    def close(self) -> None:
        self._background.run(self.ironic.stop())
        self._background.close()


class BootingMachines(ScriptedMachines):
    """The backend under test; each machine that it has powered on boots, unless the test says that it never does."""

    def __init__(self, ironic: IronicMachines) -> None:
        super().__init__()
        self._ironic = ironic
        self.backend: Machines = ironic

    async def start(self, world: MetalWorld) -> None:
        silent = ScriptedMachines()
        silent.boots = False
        self.backend = WithServers(silent, self._ironic, lambda id_: world.service(Servers).of_device(id_) is not None)
        await self._ironic.start(world)

    async def install(self, hw: Hardware) -> None:
        await self.backend.install(hw)
        await super().install(hw)

    async def power_off(self, device_id: str) -> None:
        await self.backend.power_off(device_id)
        await super().power_off(device_id)

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        await self.backend.power_on(device_id, hw=hw)
        await super().power_on(device_id, hw=hw)

    async def reboot(self, device_id: str) -> None:
        await self.backend.reboot(device_id)
        await super().reboot(device_id)

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        await self.backend.reinstall(hw, keep_disks=keep_disks)
        await super().reinstall(hw, keep_disks=keep_disks)

    async def rescue(self, hw: Hardware) -> None:
        await self.backend.rescue(hw)
        await super().rescue(hw)

    async def remove(self, device_id: str) -> None:
        await self.backend.remove(device_id)
        await super().remove(device_id)

    async def close(self) -> None:
        await super().close()
        await self.backend.close()


@dataclass
class RackApi(Sandbox):
    """A Metal API whose machines are nodes."""

    rack: FakeRack = field(kw_only=True)
    ironic: IronicMachines = field(kw_only=True)

    async def act(self, id_: str, action: str, expected: str = "", **options: Any) -> None:
        """Request an action, and wait for the state ``expected``, if any."""
        answer = await self.api.post(f"/devices/{id_}/actions", json={"type": action, **options})
        assert answer.status_code == 202, answer.text
        await self.until(lambda: not expected or self.state(id_) == expected)

    async def delete(self, id_: str, expected: str = "gone") -> None:
        answer = await self.api.delete(f"/devices/{id_}")
        assert answer.status_code == 204, answer.text
        await self.until(lambda: self.state(id_) == expected)

    def free(self, plan: str = PLAN, metro: str = METRO) -> int:
        """How many servers can be ordered."""
        return len(self.world.service(Servers).free(metro, plan))

    async def offered(self, count: int, *, expected: int | None = None, **fields: Any) -> list[str]:
        """Enrol so many nodes, and wait until they (or ``expected`` of them) are offered. Returns their UUIDs."""
        found = await asyncio.to_thread(self.rack.enrol, count, **fields)
        await self.until(lambda: self.free() == (count if expected is None else expected) and len(self.world.store["servers"]) == count)
        return found

    async def ask_boot(self, address: str, path: str) -> httpx.Response:
        """Ask the boot service as a machine with this address."""
        async with machine_client(self.boot_url, address) as client:
            return await client.get(path)

    async def node(self, id_: str) -> dict[str, Any]:
        return await asyncio.to_thread(self.rack.node, id_)


@asynccontextmanager
async def rack_api(
    state: Path, rack: FakeRack, *, strict: bool = False, busy: float = 0.1, patience: float = 60.0, **environment: Any
) -> AsyncIterator[RackApi]:
    """``strict``, ``environment``: as of :func:`tests.metal_api.conftest.sandbox_in`. ``busy``, ``patience``: seconds, of the backend."""
    ports = free_ports(3)
    client = await asyncio.to_thread(rack.client)
    ironic = IronicMachines(client, boot_url=f"http://127.0.0.1:{ports[1]}", idle=0.5, busy=busy, patience=patience)
    settings = {"has_only_servers": True, "boot_timeout": 60, **environment}
    machines = BootingMachines(ironic)
    async with sandbox_in(state, ports=(ports[0], ports[1], ports[2]), strict=strict, machines=machines, **settings) as running:
        yield RackApi(**vars(running), rack=rack, ironic=ironic)
