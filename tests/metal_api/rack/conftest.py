# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
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
