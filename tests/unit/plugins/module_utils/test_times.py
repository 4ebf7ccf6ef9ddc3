"""Times of both APIs: one reader, one writer."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.times import time_of, timestamp

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MALFORMED: tuple[Any, ...] = (None, "", "soon", 0, [], {}, "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59")
PLUGINS = Path(__file__).resolve().parents[4] / "plugins"


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T13:00:00+01:00", NOON),
        ("2026-03-01T12:00:00", NOON),
        ("2026-03-01T12:00:00.250000Z", NOON + timedelta(milliseconds=250)),
        (datetime(2026, 3, 1, 12), NOON),
        (datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2))), NOON),
        *((malformed, None) for malformed in MALFORMED),
    ],
)
def test_a_time_is_read_in_utc_or_not_at_all(value: Any, moment: datetime | None) -> None:
    found = time_of(value)
    assert found == moment
    assert found is None or found.tzinfo is UTC


def test_a_time_is_written_to_the_second() -> None:
    assert timestamp(datetime(2026, 3, 1, 13, 0, 0, 999999, tzinfo=timezone(timedelta(hours=1)))) == "2026-03-01T12:00:00Z"


def test_no_other_file_reads_times() -> None:
    readers = {path for path in PLUGINS.rglob("*.py") if re.search(r"\b(fromisoformat|strptime)\b", path.read_text(encoding="utf-8"))}
    assert readers == {PLUGINS / "module_utils" / "base" / "times.py"}
