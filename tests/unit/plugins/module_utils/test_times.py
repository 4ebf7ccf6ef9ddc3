"""The reader of times of both APIs."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.times import time_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MALFORMED: tuple[Any, ...] = (None, "", "soon", 0, [], {}, "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59")


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
