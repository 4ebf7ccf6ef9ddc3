"""An Ironic for the tests of enrolment, and a folder with a rack file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.metal_api.ironic.conftest import ironic_programs, the_rack
from tests.metal_api.ironic.conftest import rack as ironic

__all__ = ["ironic", "ironic_programs", "the_rack"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file ``password`` of the BMCs."""
    path = tmp_path / "password"
    path.write_text("secret\n", encoding="utf-8")
    path.chmod(0o600)
    return tmp_path
