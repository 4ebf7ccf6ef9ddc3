# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this collection writes into objects of the Kubernetes API: the name of its field manager, and times.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from datetime import UTC, datetime

FIELD_OWNER = "equinix_metal.openshift"
"""The field manager of all writes of this collection."""


def timestamp(moment: datetime) -> str:
    """Return a time as the Kubernetes API writes it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
