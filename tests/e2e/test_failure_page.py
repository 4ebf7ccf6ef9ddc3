"""The failure report shown in docs/troubleshooting.md is what such a run prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.harness import User
from tests.failure import page

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_the_example_is_the_output_of_a_failed_run(tmp_path: Path) -> None:
    user = User(tmp_path, speed=page.SPEED)
    with user.at_work():
        lines = page.example(user)
        user.destroy().ended_well()
    assert page.structure(lines) == page.structure(page.written())
