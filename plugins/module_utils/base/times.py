# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as both APIs write them (RFC 3339)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def timestamp(moment: datetime) -> str:
    """Return a time as both APIs write it, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def time_of(value: Any) -> datetime | None:
    """Return a time of either API in UTC; None for none and for a malformed one. Without a zone it is UTC (vendor's OpenAPI text)."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
