# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the plans of the machines to order.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import architecture_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    UnreadableError,
    failed,
    listed,
    not_checkable,
    passed,
    passed_if,
)


class Needs(NamedTuple):
    """Minimum size of a machine (OpenShift's documentation for user-provisioned infrastructure); memory and disk in GB."""

    cores: int
    memory: int
    disk: int


SIZES = {"bootstrap": Needs(4, 16, 100), "control_plane": Needs(4, 16, 100), "workers": Needs(2, 8, 100)}

GIGABYTES = {"GB": 1, "GIB": 1, "G": 1, "TB": 1000, "TIB": 1000, "T": 1000, "MB": 0.001}


def known(context: Context) -> Finding:
    unknown = [plan for plan in context.groups_by_plan() if plan not in context.plans]
    return passed_if(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(context.groups_by_plan()),
        f"set metal_plan to one of {listed(sorted(context.plans), 30)}",
    )


def big_enough(context: Context) -> Finding:
    if not context.groups_by_plan():
        raise UnreadableError(context.why_unread("plans"))
    small, unknown = [], []
    for plan, groups in context.groups_by_plan().items():
        for group in groups:
            if plan not in context.plans or group not in SIZES:
                continue
            for what, size, needed in zip(Needs._fields, size_of(context.plans[plan]), SIZES[group], strict=True):
                if size is None:
                    unknown.append(f"{what} of {plan}")
                elif size < needed:
                    small.append(f"{plan} for {group}: {what} {size:g}, at least {needed} required")
    if small:
        return failed("; ".join(small))
    if unknown:
        return not_checkable(f"the Metal API does not report {listed(dict.fromkeys(unknown))}")
    return passed(f"large enough: {listed(context.groups_by_plan())}")


def size_of(plan: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Return cores, memory and the largest disk (GB) of a plan; None for what its specs do not have."""
    specs = plan.get("specs")
    specs = specs if isinstance(specs, Mapping) else {}
    cores = 0
    for cpu in mappings(specs.get("cpus")):
        # Only the name of the processor has the number of cores ("EPYC 7402P 24-Core Processor").
        match = re.search(r"(?<!\d)(\d{1,4})[- ]?core\b", str(cpu.get("type")), re.IGNORECASE)
        count = cpu.get("count")
        cores += int(match[1]) * (count if isinstance(count, int) else 1) if match else 0
    memory = specs.get("memory")
    disks = [found for drive in mappings(specs.get("drives")) if (found := gigabytes(drive.get("size"))) is not None]
    return cores or None, gigabytes(memory.get("total")) if isinstance(memory, Mapping) else None, max(disks, default=None)


def gigabytes(text: Any) -> float | None:
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Z]+)\s*", str(text).upper())
    return float(match[1]) * GIGABYTES[match[2]] if match and match[2] in GIGABYTES else None


def architecture(context: Context) -> Finding:
    nodes = [machine for machine in context.machines_to_order if machine.get("role") != "load-balancer"]
    pairs = dict.fromkeys((place.plan, machine.get("architecture")) for machine in nodes for place in context.places_of(machine))
    if not pairs:
        raise UnreadableError(context.why_unread("plans"))
    wrong = [
        f"{plan} is {architecture_of(plan)}, not {required}" for plan, required in pairs if architecture_of(plan) not in (None, required)
    ]
    if wrong:
        return failed(listed(wrong))
    unknown = [plan for plan, _required in pairs if architecture_of(plan) is None]
    return not_checkable(f"unknown architecture of {listed(unknown)}") if unknown else passed(listed(sorted(context.architectures)))


def operating_systems(context: Context) -> Finding:
    systems = {system["slug"]: system for system in context.read("operating_systems", "operating_systems")}
    problems = []
    for machine in context.machines_to_order:
        slug = context.text("load_balancer_operating_system") if machine.get("role") == "load-balancer" else machine.get("operating_system")
        slug = slug or "custom_ipxe"
        if slug not in systems:
            problems.append(f"the Metal API has no {slug}")
        elif on := systems[slug].get("provisionable_on"):
            problems += [
                f"{slug} is not available on {place.plan}"
                for place in context.places_of(machine)
                if place.plan in context.plans and place.plan not in on
            ]
    return passed_if(not problems, listed(dict.fromkeys(problems)) or "available on all plans")
