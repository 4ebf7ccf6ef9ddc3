# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of what the inventory says of the devices: options with which a device is delivered, but the install cannot be completed.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    either,
    failed,
    listed,
    passed,
    warning,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation

NODE_SYSTEM = "custom_ipxe"
"""The operating system with which a device runs the iPXE script that boots CoreOS."""


def addresses(situation: Situation) -> Finding:
    problems = [
        f"{machine['hostname']} {problem}" for machine in situation.missing if (problem := _address_problem(machine.get("ip_addresses")))
    ]
    return either(not problems, listed(problems) or "a public and a private IPv4 address each")


def _address_problem(asked: Any) -> str:
    """Return why these addresses are not enough. Without any the service gives public and private ones."""
    if not asked:
        return ""
    if isinstance(asked, (str, Mapping)) or not isinstance(asked, Sequence) or not all(isinstance(each, Mapping) for each in asked):
        return "has metal_ip_addresses that are no list of address_family and public"
    kinds = {(str(each.get("address_family")), _is_true(each.get("public", True))) for each in asked}
    missing = [name for name, kind in (("public", ("4", True)), ("private", ("4", False))) if kind not in kinds]
    return f"gets no {' and no '.join(missing)} IPv4 address" if missing else ""


def _is_true(value: Any) -> bool:
    """Return what the module makes of an option that is true or false."""
    return str(value).lower() in ("true", "yes", "on", "1", "y", "t", "1.0")


def options(situation: Situation) -> Finding:
    problems, ends = [], []
    for machine in situation.missing:
        name, role = machine["hostname"], machine.get("role")
        system = machine.get("operating_system") or NODE_SYSTEM
        if role != "load-balancer" and system != NODE_SYSTEM:
            problems.append(f"{name} would get {system} by metal_operating_system, and never boot CoreOS")
        if role == "bootstrap" and _is_true(machine.get("locked")) and not situation.text("bootstrap_becomes"):
            problems.append(f"{name} is locked by metal_locked, so it cannot be deleted when bootstrap is complete")
        end = _time(machine.get("termination_time"))
        if end is not None and _is_during_the_run(situation, end):
            problems.append(
                f"{name} is deleted by the service at {end:%Y-%m-%dT%H:%M:%SZ} (metal_termination_time), before the install is complete"
            )
        elif end is not None and role != "bootstrap":
            ends.append(f"{name} is deleted by the service at {end:%Y-%m-%dT%H:%M:%SZ} (metal_termination_time)")
    if problems:
        return failed("; ".join(problems))
    return warning("; ".join(ends)) if ends else passed("nothing keeps the install from its end")


def _time(value: Any) -> datetime | None:
    """Return a time of the Metal API; nothing when there is none, or when it is for the service to refuse."""
    try:
        found = datetime.fromisoformat(str(value or ""))
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)


def _is_during_the_run(situation: Situation, end: datetime) -> bool:
    now = (situation.world.get("clock") or {}).get("now")
    hours = situation.text("run_hours")
    return now is not None and hours.replace(".", "", 1).isdigit() and end.timestamp() <= float(now) + float(hours) * 3600
