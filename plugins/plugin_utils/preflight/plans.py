# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the plans of the machines to order."""

from __future__ import annotations

from collections.abc import Sequence

from ...module_utils.metal.catalogue import architecture_of
from ..machines.default_plans import IPXE, SIZES, Needs, size_of
from .context import Context, Machine
from .findings import Finding, UnreadableError, counted, failed, listed, not_checkable, passed, passed_if


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


ROLE_NAMES = {"bootstrap": "bootstrap machine", "control-plane": "control plane machine", "load-balancer": "load balancer"}


def defaults(context: Context) -> Finding:
    """Report the default plans, with the price of the machines to order."""
    by_plan: dict[tuple[str, str], list[Machine]] = {}
    for machine in context.machines:
        if machine.get("has_default_plan"):
            role = str(machine.get("role"))
            name = ROLE_NAMES.get(role) or f"worker of pool {machine.get('pool')}"
            by_plan.setdefault((str(machine["plan"]), name), []).append(machine)
    if not by_plan:
        return passed("not needed: every host has a plan of its own")
    to_order = {machine["hostname"] for machine in context.machines_to_order}
    texts = [_default(context, plan, name, machines, to_order) for (plan, name), machines in by_plan.items()]
    is_ordered = any(machine["hostname"] in to_order for machines in by_plan.values() for machine in machines)
    return passed("; ".join(texts), is_notable=is_ordered)


def _default(context: Context, plan: str, name: str, machines: Sequence[Machine], to_order: set[str]) -> str:
    count = len([machine for machine in machines if machine["hostname"] in to_order])
    word, of, pool = name.partition(" of ")
    text = f"default plan {plan} for {counted(len(machines), word)}{of}{pool}"
    if not count:
        return f"{text}, none to order"
    if count < len(machines):
        text += f", {count} to order"
    try:
        price = context.plans[plan].get("price_per_hour") if plan in context.plans else None
    except UnreadableError:
        price = None
    return f"{text}, {count * float(price):.2f} US dollars per hour" if isinstance(price, (int, float)) else f"{text}, price unknown"


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
        slug = slug or IPXE
        if slug not in systems:
            problems.append(f"the Metal API has no {slug}")
        elif on := systems[slug].get("provisionable_on"):
            problems += [
                f"{slug} is not available on {place.plan}"
                for place in context.places_of(machine)
                if place.plan in context.plans and place.plan not in on
            ]
    return passed_if(not problems, listed(dict.fromkeys(problems)) or "available on all plans")
