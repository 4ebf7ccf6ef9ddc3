# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The current state of a DNS record set, as the client of every provider returns it."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """Values of a record set, sorted, in the notation of a zone file, or what its name is an alias of (CNAME, or one of the provider)."""

    values: list[str]
    alias: str = ""
