"""An Ironic that refuses what is requested of it: requests are repeated a few times, and then the operation ends with an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from metal_api.core.machines import Machines
from metal_api.ironic import machines
from metal_api.ironic.client import IronicError
from metal_api.ironic.machines import REFUSALS, IronicMachines
from metal_api.ironic.mapping import metro_trait
from tests.metal_api.conftest import Sandbox

NODE = "5f6e9a00-0000-4000-8097-000000000001"
PLAN, METRO = "c3.small.x86", "da"


class RefusingIronic:
    """The calls of one node. ``refused``: status of the answer by the name of a call."""

    def __init__(self) -> None:
        self.refused: dict[str, int] = {}
        self.calls: Counter[str] = Counter()
        self.node: dict[str, Any] = {
            **dict.fromkeys(("last_error", "instance_uuid", "maintenance_reason", "fault", "clean_step", "reservation"), None),
            "uuid": NODE,
            "name": "r1-u1",
            "resource_class": PLAN,
            "traits": [metro_trait(METRO)],
            "boot_interface": "fake",
            "provision_state": "available",
            "power_state": "power off",
            "maintenance": False,
            "extra": {},
            "properties": {},
        }

    def _call(self, name: str) -> None:
        self.calls[name] += 1
        if name in self.refused:
            raise IronicError(f"{name} is refused (HTTP {self.refused[name]})", self.refused[name])

    async def nodes(self) -> list[dict[str, Any]]:
        return [dict(self.node)]

    async def ports(self) -> dict[str, list[str]]:
        return {}

    async def allocate(self, id_: str, _node: object) -> None:
        self._call("allocate")
        self.node["instance_uuid"] = id_

    async def allocation(self, _id: str) -> dict[str, Any]:
        return {"state": "active"}

    async def release(self, _id: str) -> None:
        self._call("release")
        self.node["instance_uuid"] = None

    async def change(self, _node_id: str, _patches: object) -> None:
        self._call("change")

    async def provision(self, _node_id: str, target: str) -> None:
        self._call(target)
        self.node["provision_state"] = {"active": "active", "deleted": "available"}[target]

    async def power(self, _node_id: str, target: str) -> None:
        self._call(target)
        self.node["power_state"] = target

    async def boot_once(self, _node_id: str, _device: str) -> None:
        self._call("boot device")

    def close(self) -> None:
        pass


@pytest.fixture
async def ironic(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RefusingIronic]:
    """The Ironic of the sandbox's only server, whose machine never boots."""
    monkeypatch.setattr(machines, "_LONGEST_PAUSE", 0.02)
    client = RefusingIronic()
    backend = IronicMachines(client, boot_url=sandbox.boot_url, idle=0.05, busy=0.01)  # type: ignore[arg-type] # what the backend calls
    await backend.start(sandbox.world)
    used: Machines = backend
    monkeypatch.setattr(sandbox.world, "machines", used)
    yield client
    await backend.close()


@pytest.mark.parametrize("status", [409, 500])
@pytest.mark.parametrize("call", ["active", "change", "allocate"])
async def test_a_refusal_of_ironic_is_repeated_a_few_times_and_then_an_event(
    sandbox: Sandbox, ironic: RefusingIronic, call: str, status: int
) -> None:
    """It was repeated without end and without a word, 582 times in 15 s, and the device could not be deleted."""
    ironic.refused = {call: status}
    device = await sandbox.create(hostname="one", plan=PLAN, metro=METRO)
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    text = f"provisioning.failed: Ironic has refused a request {REFUSALS} times: {call} is refused (HTTP {status})"
    assert text in await sandbox.events(device["id"])
    assert ironic.calls[call] == REFUSALS

    # Nor can it be deleted as long as Ironic refuses that; then it can.
    ironic.refused = {"release": status}
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    assert any("release is refused" in each for each in await sandbox.events(device["id"]) if each.startswith("deprovisioning.failed"))
    ironic.refused = {}
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")


@pytest.mark.parametrize("status", [0, 503])
async def test_an_ironic_that_does_not_answer_is_waited_for(sandbox: Sandbox, ironic: RefusingIronic, status: int) -> None:
    ironic.refused = {"active": status}
    device = await sandbox.create(hostname="one", plan=PLAN, metro=METRO)
    await sandbox.until(lambda: ironic.calls["active"] > 3 * REFUSALS)
    assert sandbox.state(device["id"]) == "provisioning"
    ironic.refused = {}
    await sandbox.until(lambda: ironic.node["provision_state"] == "active")
