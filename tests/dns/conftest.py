"""Fixtures: the zone of each provider in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .providers import PLACES, Place


@pytest.fixture(scope="module", params=[pytest.param(name, marks=[pytest.mark.debian("bind9")] * (name == "rfc2136")) for name in PLACES])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with PLACES[request.param](tmp_path_factory.mktemp(request.param) / "service") as found:
        yield found


@pytest.fixture
def place(served: Place) -> Place:
    """With an empty zone."""
    for key in served.records():
        served.write(*key.split(" "))
    assert served.records() == {}
    return served
