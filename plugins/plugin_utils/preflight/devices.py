# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of device options with which the Metal API delivers a device, but the install cannot be completed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ...module_utils.base.json_objects import mappings
from ...module_utils.base.times import time_of, timestamp
from ...module_utils.metal.ip_reservation import unusable
from ..machines.default_plans import IPXE
from .context import Context, Machine
from .findings import Finding, UnreadableError, counted, failed, listed, not_checkable, passed, passed_if, warning


def is_true(value: Any) -> bool:
    """Return the value of a boolean option as modules parse it."""
    return str(value).lower() in ("true", "yes", "on", "1", "y", "t", "1.0")


def addresses(context: Context) -> Finding:
    problems = [
        f"{machine['hostname']} {problem}"
        for machine in context.machines_to_order
        if (problem := _address_problem(machine.get("ip_addresses")))
    ]
    try:
        problems += _block_problems(context)
    except UnreadableError:
        if not problems:
            raise
    return passed_if(not problems, listed(problems) or "a public and a private IPv4 address for every device")


def _address_problem(requested: Any) -> str:
    """Return why these addresses are not sufficient. Without any, the Metal API assigns public and private ones."""
    if not requested:
        return ""
    if isinstance(requested, str) or not isinstance(requested, Sequence) or not all(isinstance(entry, Mapping) for entry in requested):
        return "has malformed metal_ip_addresses: not a list of address_family and public"
    kinds = {(str(entry.get("address_family")), is_true(entry.get("public", True))) for entry in requested}
    missing = [name for name, kind in (("public", ("4", True)), ("private", ("4", False))) if kind not in kinds]
    return f"gets no {' and no '.join(missing)} IPv4 address" if missing else ""


def given_blocks(machine: Mapping[str, Any]) -> list[str]:
    """Return the ids of the IP reservations from which the device of a machine gets its addresses."""
    requested = [ip_address.get("ip_reservations") or [] for ip_address in mappings(machine.get("ip_addresses"))]
    # Modules accept a list as text, too.
    lists = [entry.split(",") if isinstance(entry, str) else entry for entry in requested]
    return list(dict.fromkeys(str(identity).strip() for entries in lists if isinstance(entries, Sequence) for identity in entries))


def _block_problems(context: Context) -> Iterator[str]:
    """Yield why a device cannot get its addresses from the given block. Raises :class:`UnreadableError` if the blocks were not read."""
    users: dict[str, list[Machine]] = {}
    for machine in context.machines_to_order:
        for identity in given_blocks(machine):
            users.setdefault(identity, []).append(machine)
    blocks = {block["id"]: block for block in context.read("device_blocks", "ip_reservations")} if users else {}
    for identity, machines in users.items():
        metros = sorted({place.metro for machine in machines for place in context.places_of(machine)})
        if problem := block_problem(identity, blocks.get(identity), metros):
            yield f"{problem} (metal_ip_addresses of {listed(machine['hostname'] for machine in machines)})"


def block_problem(identity: str, block: Mapping[str, Any] | None, metros: Iterable[str]) -> str:
    """Return why machines in these metros cannot use the IP reservation of this id, None if the project lacks it; empty if they can."""
    if block is None:
        return f"the project has no IP reservation {identity}"
    others = [metro for metro in metros if block.get("metro") and metro != block["metro"]]
    return unusable(block) or (
        f"the IP reservation {identity} is in {block['metro']}, and machines are in {listed(others)}" if others else ""
    )


def orders_all_keys(machine: Mapping[str, Any]) -> bool:
    """Return whether a device is ordered without options for SSH keys, so that it gets all keys of the project and its members."""
    return not is_true(machine.get("no_ssh_keys")) and not any(machine.get(f"{kind}ssh_keys") for kind in ("project_", "user_", ""))


def ssh_keys(context: Context) -> Finding:
    """Refuse an order that the Metal API would refuse, after the network was created: for a new account, which has no key."""
    machines = [str(machine["hostname"]) for machine in context.machines_to_order if orders_all_keys(machine)]
    if not machines:
        return passed("chosen by the options of the machines")
    keys = context.read("ssh_keys", "ssh_keys")
    if key_ids := keys["project"] + keys["user"]:
        return passed(f"{counted(key_ids, 'SSH key')} of the project and the token's user")
    if keys["members"] > 1:
        return not_checkable("neither the project nor the token's user has an SSH key; those of the project's other members cannot be read")
    return failed(f"neither the project nor the token's user has an SSH key: {listed(machines)}")


def options(context: Context) -> Finding:
    problems, terminations = [], []
    for machine in context.machines_to_order:
        name, role = machine["hostname"], machine.get("role")
        system = machine.get("operating_system") or IPXE
        if role != "load-balancer" and system != IPXE:
            problems.append(f"{name} has metal_operating_system {system}, which does not boot CoreOS")
        if role == "bootstrap" and is_true(machine.get("locked")) and not context.text("bootstrap_becomes"):
            problems.append(f"{name} has metal_locked, so it cannot be deleted when bootstrap is complete")
        end = time_of(machine.get("termination_time"))
        if end is not None and _is_during_the_run(context, end):
            problems.append(f"the Metal API deletes {name} at {timestamp(end)} (metal_termination_time), before the install is complete")
        elif end is not None and role != "bootstrap":
            terminations.append(f"the Metal API deletes {name} at {timestamp(end)} (metal_termination_time)")
    if problems:
        return failed("; ".join(problems))
    return warning("; ".join(terminations)) if terminations else passed("no option that blocks the install")


def _is_during_the_run(context: Context, end: datetime) -> bool:
    now = (context.readings.get("clock") or {}).get("now")
    hours = context.text("run_hours")
    return now is not None and hours.replace(".", "", 1).isdigit() and end.timestamp() <= float(now) + float(hours) * 3600
