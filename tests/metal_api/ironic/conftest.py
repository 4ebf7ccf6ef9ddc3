"""One Ironic for all tests of this folder: its start takes seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from metal_api.ironic.embedded import ensure_ironic
from tests.metal_api.conftest import Sandbox
from tests.metal_api.ironic.fake_rack import FakeRack, RackApi, rack_api


@pytest.fixture(scope="session")
def ironic_programs() -> Path:
    return ensure_ironic()


@pytest.fixture(scope="session")
def the_rack(tmp_path_factory: pytest.TempPathFactory, ironic_programs: Path) -> Iterator[FakeRack]:
    rack = FakeRack(tmp_path_factory.mktemp("ironic"), ironic_programs)
    yield rack
    rack.close()


@pytest.fixture
def rack(the_rack: FakeRack) -> Iterator[FakeRack]:
    """An Ironic without nodes."""
    yield the_rack
    the_rack.empty()


@pytest.fixture
async def api(tmp_path: Path, rack: FakeRack) -> AsyncIterator[RackApi]:
    """A Metal API on it."""
    async with rack_api(tmp_path / "state", rack) as running:
        yield running


@pytest.fixture(scope="module")
def pool(the_rack: FakeRack) -> Iterator[FakeRack]:
    """An Ironic with enough nodes for any test of the API."""
    the_rack.enrol(12)
    yield the_rack
    the_rack.empty()


@pytest.fixture
async def sandbox(tmp_path: Path, pool: FakeRack) -> AsyncIterator[Sandbox]:
    """The sandbox of the API's tests, with the pool's nodes for their usual plan."""
    async with rack_api(tmp_path / "state", pool, strict=True, has_only_servers=False) as running:
        await running.until(lambda: running.free() == 12)
        yield running
    await asyncio.to_thread(pool.undeploy)
