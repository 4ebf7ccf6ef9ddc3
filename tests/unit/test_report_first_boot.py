"""The script that reports the first boot of an installed system, where there is nothing to report to. Its event is in tests/containers."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.metadata_service import MetadataService
from tests.ports import free_port

FILES = Path(__file__).resolve().parents[2] / "roles" / "boot_files" / "files"
LIMIT = 90
"""Seconds that the unit allows, TimeoutStartSec."""


def run(root: Path, url: str) -> subprocess.CompletedProcess[str]:
    (root / "etc").mkdir()
    (root / "etc" / "report-first-boot.url").write_text(f"{url}\n", encoding="utf-8")
    return subprocess.run(
        ["bash", str(FILES / "report-first-boot.sh")],
        env={**os.environ, "REPORT_ROOT": str(root)},
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


@pytest.mark.debian("jq", "curl")
@pytest.mark.parametrize("path", ["/metadata", "/missing", ""])
def test_without_an_address_or_a_service_it_ends_at_once_and_well(tmp_path: Path, metadata_service: MetadataService, path: str) -> None:
    metadata_service.metadata = {"phone_home_url": None}
    url = f"{metadata_service.url}{path}" if path else f"http://127.0.0.1:{free_port()}/metadata"
    begun = time.monotonic()
    assert run(tmp_path, url).returncode == 0
    assert time.monotonic() - begun < LIMIT / 2
    assert metadata_service.events == []


def test_nothing_of_the_boot_waits_for_the_unit() -> None:
    unit = (FILES / "report-first-boot.service").read_text(encoding="utf-8")
    assert f"TimeoutStartSec={LIMIT}\n" in unit
    assert "Before=" not in unit
    assert "RequiredBy=" not in unit
    assert "ExecStart=-/" in unit, "its failure is no failure of the unit"
