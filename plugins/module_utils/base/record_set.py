# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The current state of a DNS record set, as the client of every provider returns it.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """Values of a record set, sorted, in the notation of a zone file, or what its name is an alias of (CNAME, or one of the provider)."""

    values: list[str]
    alias: str = ""
