"""What several files of end-to-end tests share."""

from __future__ import annotations

from typing import Any

import pytest

Worlds = dict[int | None, dict[str, Any]]
"""What exists undisturbed (``chaos.world``), by the number of workers; None: when there is no cluster."""


@pytest.fixture(scope="session")
def undisturbed() -> Worlds:
    """The worlds that test_install.py has met, for test_resume.py. Both files run in one process (``xdist_group``)."""
    return {}
