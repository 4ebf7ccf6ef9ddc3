# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a running sandbox (PATCH /_sandbox/settings), which survive a restart. The speed belongs to the clock."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, NamedTuple

from metal_api.core.errors import unprocessable
from sandbox.control import LARGEST, shown


class Stock(NamedTuple):
    """Codes of metros and slugs of plans that settings may name."""

    metros: Collection[str]
    plans: Collection[str]


DEFAULTS: dict[str, Any] = {
    # Per project; null is without limit. VLANs and addresses: the docs' first figures; devices: no figure is known.
    # `plans`: {slug: number}, devices of a plan, which the project has as max_devices.
    "quotas": {"devices": None, "plans": {}, "virtual_networks": 12, "public_ipv4": 256, "global_ipv4": 4},
    # Servers of each plan in each metro, including used ones. `metros`: {code: {slug: number}} overrides `default`.
    # `taken_after_check`: number of servers that another customer orders right after a check that found enough.
    "capacity": {"default": 12_000, "metros": {}, "taken_after_check": 0},
    # Requests for addresses over the quota, or for more than `addresses_at_once` (the docs' figure of 2020; in clients' tests with a new
    # project, 16 are granted and 256 are not), wait for a decision: `seconds` (simulated) until it is made, null: the control API makes it;
    # `granted`: the decision.
    "approval": {"addresses_at_once": 16, "seconds": None, "granted": True},
    # Spot prices: `share_of_price` of the price per hour; `metros`: {code: {slug: USD per hour}} overrides it.
    "spot": {"share_of_price": 0.3, "metros": {}},
    "bgp": {"sessions_come_up": True},
    # Simulated seconds: every GET returns the state of that time: without new objects, with the old version of changed ones, with deleted
    # ones.
    "stale_reads": {"seconds": 0},
    # `requests` per `seconds` (real ones) and token; null: no limit. The real figures are not known. `retry_after`: send that header.
    "rate_limit": {"requests": None, "seconds": 60, "retry_after": True},
    # Real seconds that the service's clock is ahead of this computer's, or behind it when negative: the header Date of every answer.
    "clock": {"ahead": 0},
    # Real seconds before an answer.
    "latency": {"read": 0, "write": 0},
    # `open`: machines reach the vendors' registries without the proxy. `proxy_login`: the proxy requires user and password.
    "outside": {"open": True, "proxy_login": False},
    # Simulated seconds. Sources: network and configuration: a recorded provisioning; ports: 13 to 17 s (public issue threads); a
    # reservation was free about 4 minutes after the deletion of its device (60 + 180); the notice of an eviction: docs. The others are
    # ours.
    "durations": {
        "queued": 5,
        "network": 86,
        "configuration": 11,
        "power_off": 10,
        "power_on": 10,
        "reboot": 10,
        "deprovision": 60,
        "vlan_batch": 15,
        "reservation_wipe": 180,
        "device_batch": 10,
        "gateway": 15,
        "gateway_delete": 15,
        "vrf_route": 15,
        "bgp_session": 30,
        "spot_notice": 120,
        "failed_visible": 60,
        "failed_forbidden": 600,
    },
}

HELP: dict[str, str] = {
    "speed": "simulated seconds per second, until the sandbox is started again",
    "quotas": "how many devices, VLANs and addresses a project may have, null without limit; plans: {slug: number} of devices of a plan",
    "capacity": "servers of each plan in each metro: default, metros {code: {slug: number}}; taken_after_check: gone right after a check",
    "approval": "which requests for addresses wait, and whether time decides: seconds (null: the control API decides), granted",
    "spot": "spot prices: share_of_price of the price per hour, metros {code: {slug: USD per hour}}; raising one evicts who bid less",
    "bgp": "sessions_come_up: false leaves them down",
    "stale_reads": "seconds (simulated): every GET shows the world as it was that long ago, without fresh objects and with deleted ones",
    "rate_limit": "requests per seconds (real) and token, null without limit; retry_after: send that header",
    "clock": "ahead: real seconds that the header Date is ahead of this computer's clock, negative behind it",
    "latency": "real seconds before an answer: read, write",
    "outside": "open: whether machines reach quay.io and the like without the proxy; proxy_login: the proxy wants user and password",
    "durations": "simulated seconds of everything that takes time",
}
"""Description of each group of settings, and of the speed."""

# Settings with keys that the user chooses: codes of metros and slugs of plans.
_FREE = {("capacity", "metros"), ("spot", "metros")}
# Values that may be negative.
_SIGNED = {("clock", "ahead")}
# Values that may be null: no limit, or no automatic decision.
_NULLABLE = {("approval", "addresses_at_once"), ("approval", "seconds"), ("rate_limit", "requests")} | {
    ("quotas", name) for name in DEFAULTS["quotas"]
}


class Settings:
    """The settings that are in force. ``values``: of all groups; a change replaces them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = copy.deepcopy(DEFAULTS)

    def __getitem__(self, group: str) -> dict[str, Any]:
        values: dict[str, Any] = self.values[group]
        return values

    def duration(self, name: str) -> float:
        """Return a duration in simulated seconds."""
        return float(self["durations"][name])


def merged(settings: dict[str, Any], change: dict[str, Any], stock: Stock) -> dict[str, Any]:
    """Return ``settings`` with ``change`` applied, group by group. Raises 422 with the unknown settings and the invalid values."""
    result = copy.deepcopy(settings)
    problems: list[str] = []
    for group, values in change.items():
        if group not in DEFAULTS or not isinstance(values, dict):
            problems.append(f"{group} is not a group of settings ({', '.join(HELP)}) with an object as its value")
            continue
        for name, value in values.items():
            if name not in DEFAULTS[group]:
                problems.append(f"{group}.{name} is not a setting ({', '.join(DEFAULTS[group])})")
            elif (group, name) in _FREE:
                problems += _overlay(group, result[group][name], value, stock)
            elif not _fits(DEFAULTS[group][name], value, nullable=(group, name) in _NULLABLE, signed=(group, name) in _SIGNED):
                problems.append(f"{group}.{name} cannot be {shown(value)}, its default is {shown(DEFAULTS[group][name])}")
            else:
                result[group][name] = value
    if problems:
        raise unprocessable(*problems)
    return result


def _overlay(group: str, metros: dict[str, Any], change: object, known: Stock) -> list[str]:
    """Apply ``change`` to ``metros`` and return its problems. Null restores the default of a metro or plan."""
    if not isinstance(change, dict):
        return [f"{group}.metros cannot be {shown(change)}: give {{metro: {{plan: number}}}}"]
    problems = []
    for code, plans in change.items():
        if code not in known.metros:
            problems.append(f"{group}.metros: {code} is not a metro")
            continue
        if isinstance(plans, dict) and (unknown := [slug for slug in plans if slug not in known.plans]):
            problems += [f"{group}.metros.{code}: {slug} is not a plan" for slug in unknown]
            continue
        if plans is None:
            metros.pop(code, None)
            continue
        if not isinstance(plans, dict) or not all(number is None or _fits(0, number) for number in plans.values()):
            problems.append(f"{group}.metros.{code} is not an object of plan slugs and numbers")
            continue
        merged_plans = {**metros.get(code, {}), **plans}
        metros[code] = {slug: number for slug, number in merged_plans.items() if number is not None}
    return problems


def _fits(default: object, value: object, *, nullable: bool = False, signed: bool = False) -> bool:
    if value is None:
        return nullable
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, dict):
        return isinstance(value, dict) and all(_fits(0, number) for number in value.values())
    return isinstance(value, int | float) and not isinstance(value, bool) and (-LARGEST if signed else 0) <= value <= LARGEST
