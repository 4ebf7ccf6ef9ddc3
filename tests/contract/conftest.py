"""Fixtures of the contract tests: the session's sandbox, and a real API server for the cluster modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox.testing.process import RunningSandbox
from tests.cluster.conftest import started
from tests.conftest import user_environment
from tests.contract.environment import Metal
from tests.contract.subjects import Life, Subject, Testbed

__all__ = ["Lives", "lives", "started", "testbed"]


@pytest.fixture(scope="session")
def testbed(sandbox_process: RunningSandbox, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    environment = user_environment(sandbox_process)
    found = Testbed(sandbox_process, environment, lambda: request.getfixturevalue("started"), tmp_path_factory.mktemp("contract"))
    try:
        yield found
    finally:
        found.clear()


@pytest.fixture
def metal(sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> Metal:
    return Metal(sandbox, sandbox_environment)


class Lives:
    """Keeps the prerequisites of the tested subject until another subject is tested."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self._stack = ExitStack()
        self._subject: Subject | None = None
        self._life: Life | None = None

    def of(self, subject: Subject) -> Life:
        if self._life is None or subject is not self._subject:
            self.end()
            self._life = self._stack.enter_context(subject.alive(self._testbed))
            self._subject = subject
        return self._life

    def end(self) -> None:
        self._life = self._subject = None
        self._stack.close()


@pytest.fixture(scope="session")
def lives(testbed: Testbed) -> Iterator[Lives]:
    found = Lives(testbed)
    yield found
    found.end()


@pytest.fixture(autouse=True)
def cleared(request: pytest.FixtureRequest, testbed: Testbed) -> None:
    """Remove the prerequisites before other tests use the sandbox, in whatever order they run."""
    if "lives" not in request.fixturenames:
        found: Lives = request.getfixturevalue("lives")
        found.end()
        testbed.clear()
