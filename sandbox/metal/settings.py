# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be set while the sandbox runs (PUT /_sandbox/settings), kept over a restart. The speed is the clock's own."""

from __future__ import annotations

import copy
from typing import Any

from sandbox.metal.errors import unprocessable

DEFAULTS: dict[str, Any] = {
    # Per project; null is without limit. VLANs and addresses: the docs' first figures; devices: no figure is known.
    "quotas": {"devices": None, "virtual_networks": 12, "public_ipv4": 256, "global_ipv4": 4},
    # Servers of each plan in each metro, used ones counted in. `metros`: {code: {slug: number}} goes before `default`.
    "capacity": {"default": 12_000, "metros": {}},
    # `requests` per `seconds` (real ones) and token; null: no limit. The real figures are not known. `retry_after`: send that header.
    "rate_limit": {"requests": None, "seconds": 60, "retry_after": True},
    # Real seconds before an answer.
    "latency": {"read": 0, "write": 0},
    # Simulated seconds. network and configuration are of a recorded provisioning; ports took 13 to 17 s (public issue threads);
    # the others are ours.
    "durations": {
        "queued": 5,
        "network": 86,
        "configuration": 11,
        "power_off": 10,
        "power_on": 10,
        "reboot": 10,
        "deprovision": 60,
        "vlan_batch": 15,
        "failed_visible": 60,
        "failed_forbidden": 600,
    },
}

# Whose keys are the user's to choose: codes of metros and slugs of plans.
_FREE = ("capacity", "metros")
# Groups in which null means "no limit".
_NULLABLE = ("quotas", "rate_limit")


def merged(settings: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """``settings`` with ``change`` laid over it, group by group. Raises 422 naming what is not a setting or has no fitting value."""
    result = copy.deepcopy(settings)
    problems: list[str] = []
    for group, values in change.items():
        if group not in DEFAULTS or not isinstance(values, dict):
            problems.append(f"{group} is not a group of settings ({', '.join(DEFAULTS)}) with an object as its value")
            continue
        for name, value in values.items():
            if name not in DEFAULTS[group]:
                problems.append(f"{group}.{name} is not a setting ({', '.join(DEFAULTS[group])})")
            elif (group, name) == _FREE:
                problems += _overlay(result[group][name], value)
            elif not _fits(DEFAULTS[group][name], value, nullable=(group in _NULLABLE)):
                problems.append(f"{group}.{name} cannot be {value!r}")
            else:
                result[group][name] = value
    if problems:
        raise unprocessable(*problems)
    return result


def _overlay(metros: dict[str, Any], change: object) -> list[str]:
    """A metro or plan set to null goes back to the default."""
    if not isinstance(change, dict):
        return [f"capacity.metros cannot be {change!r}"]
    problems = []
    for code, plans in change.items():
        if plans is None:
            metros.pop(code, None)
            continue
        if not isinstance(plans, dict) or not all(each is None or _fits(0, each) for each in plans.values()):
            problems.append(f"capacity.metros.{code} is not an object of plan slugs and numbers")
            continue
        stock = metros.setdefault(code, {})
        stock.update(plans)
        metros[code] = {slug: number for slug, number in stock.items() if number is not None}
    return problems


def _fits(default: object, value: object, *, nullable: bool = False) -> bool:
    if value is None:
        return nullable
    if isinstance(default, bool):
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
