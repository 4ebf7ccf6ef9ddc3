"""What the end-to-end tests lean on: they leave nothing running, however they end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.harness import TESTED_BY, end_orphans, process_name


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    ended = subprocess.Popen(["true"])
    name = process_name(ended.pid)
    ended.wait()
    testers = (name, process_name(os.getpid()), f"{os.getpid()}@1")
    found = [subprocess.Popen(["sleep", "600"], env={**os.environ, TESTED_BY: tester}) for tester in testers]
    yield found
    for each in found:
        each.kill()
        each.wait()


def test_only_processes_left_by_killed_tests_are_ended(sleepers: list[subprocess.Popen[bytes]]) -> None:
    of_ended, ours, of_one_with_our_number = sleepers
    end_orphans()  # or those of another process of these tests, which do the same
    assert of_ended.wait(10) == of_one_with_our_number.wait(10) == -9
    assert ours.poll() is None
