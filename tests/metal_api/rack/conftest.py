# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Ironic for the tests of enrolment, and a folder with a rack file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metal_api.ironic.embedded import ensure_ironic
from tests.metal_api.ironic.fake_rack import FakeRack


@pytest.fixture(scope="module")
def the_ironic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeRack]:
    rack = FakeRack(tmp_path_factory.mktemp("ironic"), ensure_ironic())
    yield rack
    rack.close()


@pytest.fixture
def ironic(the_ironic: FakeRack) -> Iterator[FakeRack]:
    """An Ironic without nodes."""
    yield the_ironic
    bare = the_ironic.connection.baremetal
    for node in bare.get("/nodes", microversion="1.80").json()["nodes"]:
        if node["provision_state"].endswith("failed"):
            the_ironic.change(node["uuid"], maintenance=True)
    the_ironic.empty()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file ``password`` of the BMCs."""
    path = tmp_path / "password"
    path.write_text("secret\n", encoding="utf-8")
    path.chmod(0o600)
    return tmp_path
