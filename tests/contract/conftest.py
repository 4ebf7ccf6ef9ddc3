"""Fixtures of the contract tests: the session's sandbox, and a real API server for those modules that speak to a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox.testing.process import RunningSandbox
from tests.cluster.conftest import started
from tests.conftest import user_environment
from tests.contract.subjects import Life, Place, Subject

__all__ = ["Lives", "lives", "place", "started"]


@pytest.fixture(scope="session")
def place(sandbox_process: RunningSandbox, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    environment = user_environment(sandbox_process)
    found = Place(sandbox_process, environment, lambda: request.getfixturevalue("started"), tmp_path_factory.mktemp("contract"))
    try:
        yield found
    finally:
        found.clear()


class Lives:
    """The subject that is being tried stands on its ground until another one's turn comes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._stack = ExitStack()
        self._subject: Subject | None = None
        self._life: Life | None = None

    def of(self, subject: Subject) -> Life:
        if self._life is None or subject is not self._subject:
            self.end()
            self._life = self._stack.enter_context(subject.alive(self._place))
            self._subject = subject
        return self._life

    def end(self) -> None:
        self._life = self._subject = None
        self._stack.close()


@pytest.fixture(scope="session")
def lives(place: Place) -> Iterator[Lives]:
    found = Lives(place)
    yield found
    found.end()


@pytest.fixture(autouse=True)
def cleared(request: pytest.FixtureRequest, place: Place) -> None:
    """Other tests find nobody's ground in the sandbox, in whatever order they come."""
    if "lives" not in request.fixturenames:
        found: Lives = request.getfixturevalue("lives")
        found.end()
        place.clear()
