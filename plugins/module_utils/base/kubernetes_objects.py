# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the Kubernetes API as plain JSON: reading them whatever they hold, and what this collection writes into them.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FIELD_OWNER = "equinix_metal.openshift"
"""The field manager of all writes of this collection."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, empty when it is none."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the JSON objects of a list, none when it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string, empty when it is none."""
    return value if isinstance(value, str) else ""


def timestamp(moment: datetime) -> str:
    """Return a time as the Kubernetes API writes it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
