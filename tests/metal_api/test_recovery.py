"""Operations while the database fails: none that a refused change was to begin, and all others go on afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from metal_api import recovery
from metal_api.core.database import NOT_STORED, DatabaseError, SqliteDatabase
from metal_api.devices.record import Device
from metal_api.recovery import Recovery
from tests.metal_api.conftest import Sandbox, machine_client


class Failing:
    """Has changes of devices fail, and counts them."""

    def __init__(self, sandbox: Sandbox) -> None:
        store = sandbox.world.store
        assert isinstance(store.database, SqliteDatabase)
        assert store.failed is not None
        self._database, self._failed, self.count = store.database, store.failed, 0
        store.failed = self._counted

    def _counted(self) -> None:
        self.count += 1
        self._failed()

    def begin(self) -> None:
        self._database.connection.execute("ALTER TABLE devices RENAME TO hidden")

    def end(self) -> None:
        self._database.connection.execute("ALTER TABLE hidden RENAME TO devices")


@pytest.fixture
async def failing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Failing]:
    """Of a server that recovers."""
    monkeypatch.setattr(recovery, "CHECK_EVERY", 0.05)
    running = asyncio.create_task(Recovery(sandbox.world).run())
    yield Failing(sandbox)
    assert not running.done()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_change_that_is_refused_begins_nothing(sandbox: Sandbox, failing: Failing) -> None:
    store, tasks = sandbox.world.store, sandbox.world.tasks
    device = await sandbox.active()
    sandbox.machines.calls.clear()
    failing.begin()
    assert await sandbox.errors("DELETE", f"/devices/{device['id']}", 503) == [NOT_STORED]
    with pytest.raises(DatabaseError), store.transaction():
        store.drop(store[Device][device["id"]])
        tasks.spawn(device["id"], sandbox.machines.remove(device["id"]))
    # Tasks begin in the next step of the loop.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ("remove", device["id"]) not in sandbox.machines.calls
    assert sandbox.state(device["id"]) == "active"
    failing.end()
    await sandbox.until(lambda: store.database.is_up)
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")
    assert sandbox.machines.calls.count(("remove", device["id"])) == 1


async def test_an_operation_goes_on_when_the_database_answers_again(
    sandbox: Sandbox, failing: Failing, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox.world.change_settings({"durations": {"queued": 0.2 * sandbox.world.clock.speed}})
    device = await sandbox.create()
    failing.begin()
    await sandbox.until(lambda: failing.count > 1)
    assert sandbox.state(device["id"]) == "queued"
    failing.end()
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")
    # The loss is reported by the database, not by each operation.
    assert {each.name for each in caplog.records if each.levelname == "ERROR"} == {"metal_api.core.database"}


async def test_a_machine_is_answered_that_it_has_to_try_again(sandbox: Sandbox, failing: Failing) -> None:
    sandbox.machines.boots = False
    device = await sandbox.create()
    await sandbox.until(lambda: ("install", device["id"]) in sandbox.machines.calls)
    failing.begin()
    async with machine_client(sandbox.boot_url, sandbox.machines.hardware[device["id"]].address) as client:
        assert (await client.post("/phone-home")).status_code == 503
        assert sandbox.state(device["id"]) == "provisioning"
        failing.end()
        assert (await client.post("/phone-home")).status_code == 200
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")
