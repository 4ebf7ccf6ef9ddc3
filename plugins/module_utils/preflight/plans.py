# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the plans that missing machines may be of.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.catalogue import architecture_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    UnreadableError,
    either,
    failed,
    listed,
    not_checkable,
    passed,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation


class Needs(NamedTuple):
    """Least size of a machine (OpenShift's documentation for user-provisioned infrastructure); memory and disk in GB."""

    cores: int
    memory: int
    disk: int


SIZES = {"bootstrap": Needs(4, 16, 100), "control_plane": Needs(4, 16, 100), "workers": Needs(2, 8, 100)}

GIGABYTES = {"GB": 1, "GIB": 1, "G": 1, "TB": 1000, "TIB": 1000, "T": 1000, "MB": 0.001}


def known(situation: Situation) -> Finding:
    unknown = [plan for plan in situation.by_plan() if plan not in situation.plans]
    return either(
        not unknown,
        f"unknown: {listed(unknown)}" if unknown else listed(situation.by_plan()),
        f"metal_plan has to be one of {listed(sorted(situation.plans), 30)}",
    )


def big_enough(situation: Situation) -> Finding:
    if not situation.by_plan():
        raise UnreadableError(situation.why_not_asked("plans"))
    small, untold = [], []
    for plan, groups in situation.by_plan().items():
        for group in groups:
            if plan not in situation.plans or group not in SIZES:
                continue
            for what, is_, needed in zip(Needs._fields, size(situation.plans[plan]), SIZES[group], strict=True):
                if is_ is None:
                    untold.append(f"{what} of {plan}")
                elif is_ < needed:
                    small.append(f"{plan} for {group}: {what} {is_:g} of {needed}")
    if small:
        return failed("; ".join(small))
    if untold:
        return not_checkable(f"the service does not tell {listed(dict.fromkeys(untold))}")
    return passed(f"{len(situation.by_plan())} plans")


def size(plan: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Cores, memory and the biggest disk (GB) of a plan, None for what its specs do not tell."""
    specs = plan.get("specs")
    specs = specs if isinstance(specs, Mapping) else {}
    cores = 0
    for cpu in mappings(specs.get("cpus")):
        # The number of cores stands in the processor's name only ("EPYC 7402P 24-Core Processor").
        told = re.search(r"(?<!\d)(\d{1,4})[- ]?core\b", str(cpu.get("type")), re.IGNORECASE)
        count = cpu.get("count")
        cores += int(told[1]) * (count if isinstance(count, int) else 1) if told else 0
    memory = specs.get("memory")
    disks = [found for drive in mappings(specs.get("drives")) if (found := gigabytes(drive.get("size"))) is not None]
    return cores or None, gigabytes(memory.get("total")) if isinstance(memory, Mapping) else None, max(disks, default=None)


def gigabytes(text: Any) -> float | None:
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Z]+)\s*", str(text).upper())
    return float(match[1]) * GIGABYTES[match[2]] if match and match[2] in GIGABYTES else None


def architecture(situation: Situation) -> Finding:
    nodes = [machine for machine in situation.missing if machine.get("role") != "load-balancer"]
    pairs = dict.fromkeys((place.plan, machine.get("architecture")) for machine in nodes for place in situation.places(machine))
    if not pairs:
        raise UnreadableError(situation.why_not_asked("plans"))
    wrong = [
        f"{plan} is {architecture_of(plan)}, wanted is {wanted}" for plan, wanted in pairs if architecture_of(plan) not in (None, wanted)
    ]
    if wrong:
        return failed(listed(wrong))
    untold = [plan for plan, _wanted in pairs if architecture_of(plan) is None]
    return not_checkable(f"the names of {listed(untold)} do not tell") if untold else passed(listed(sorted(situation.architectures)))


def operating_systems(situation: Situation) -> Finding:
    systems = {system["slug"]: system for system in situation.read("operating_systems", "operating_systems")}
    problems = []
    for machine in situation.missing:
        slug = (
            situation.text("load_balancer_operating_system") if machine.get("role") == "load-balancer" else machine.get("operating_system")
        )
        slug = slug or "custom_ipxe"
        if slug not in systems:
            problems.append(f"there is no {slug}")
        elif on := systems[slug].get("provisionable_on"):
            problems += [
                f"{slug} is not offered on {place.plan}"
                for place in situation.places(machine)
                if place.plan in situation.plans and place.plan not in on
            ]
    return either(not problems, listed(dict.fromkeys(problems)) or "offered on all plans")
