"""The pages of status and run report in a headless Chromium: readable on a phone, in light and dark, and without errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.report.pages import run_page, status_page
from tests.status import browser
from tests.unit.plugins.plugin_utils.report.test_run_report import STATUS, report

pytestmark = pytest.mark.debian("chromium-headless-shell")

LEAST_CONTRAST = 4.5
"""WCAG 2, success criterion 1.4.3: of text and its background."""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1100])
@pytest.mark.parametrize("name", ["status", "run"])
def test_a_page_fits_its_window_and_is_readable(name: str, width: int, dark: bool, tmp_path: Path) -> None:
    page = tmp_path / f"{name}.html"
    page.write_text(status_page(STATUS) if name == "status" else run_page(report(failure=["worker-2 has failed"])), encoding="utf-8")
    found = browser.measured(page, tmp_path, width=width, dark=dark)
    assert found["width"] <= width
    assert found["texts"] > 20
    assert found["contrast"] >= LEAST_CONTRAST
    assert found["console"] == []
