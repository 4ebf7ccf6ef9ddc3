"""One Ironic for all tests of this folder: its start takes seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from metal_api.ironic.embedded import ensure_ironic
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
