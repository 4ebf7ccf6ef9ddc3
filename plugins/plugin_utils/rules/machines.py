# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the machines of an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..machines.pools import pool_hosts

__all__ = ["pool_hosts", "with_default_plans"]


def with_default_plans(machines: Iterable[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the machines with their default plans, as the lookup ``default_plans`` returns them."""
    return [{**machine, **plans.get(machine["hostname"], {})} for machine in machines]
