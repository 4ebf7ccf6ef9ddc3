# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plans of machines whose hosts do not set ``metal_plan``: the cheapest one that is large enough for their role.

Existing devices decide before prices and capacity do, so that a cluster keeps its plans.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...module_utils.base.json_objects import mappings
from ...module_utils.base.tags import POOL_TAG, ROLE_TAG, tag_values
from ...module_utils.machines.placement import Place, alternatives
from ...module_utils.metal.catalogue import architecture_of
from .pools import DEFAULT_POOL

Machine = Mapping[str, Any]
Ask = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Takes servers (plan, metro, quantity) and returns them with ``available``, as ``machines.capacity.ask_capacity`` does."""


class Needs(NamedTuple):
    """Minimum size of a machine; memory and disk in GB."""

    cores: int
    memory: int
    disk: int


SIZES = {"bootstrap": Needs(4, 16, 100), "control_plane": Needs(4, 16, 100), "workers": Needs(2, 8, 100)}
"""What a machine of each group has to have (OpenShift's documentation for user-provisioned infrastructure)."""
DEFAULT_SIZES = {**SIZES, "load_balancer": Needs(2, 4, 20)}
"""What a default plan has. A load balancer with less may be chosen, so no check requires it."""
GIGABYTES = {"GB": 1, "GIB": 1, "G": 1, "TB": 1000, "TIB": 1000, "T": 1000, "MB": 0.001}
SHARED = "control_plane"
"""The group whose default plan the bootstrap machine has, too."""
IPXE = "custom_ipxe"
"""The operating system of nodes: it runs the iPXE script that boots CoreOS."""


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
    disks = [size for drive in mappings(specs.get("drives")) if (size := gigabytes(drive.get("size"))) is not None]
    return cores or None, gigabytes(memory.get("total")) if isinstance(memory, Mapping) else None, max(disks, default=None)


def gigabytes(text: Any) -> float | None:
    """Return a size like ``480GB`` in GB; None for another text."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Z]+)\s*", str(text).upper())
    return float(match[1]) * GIGABYTES[match[2]] if match and match[2] in GIGABYTES else None


@dataclass(frozen=True)
class Offer:
    """What the Metal API offers. ``plans`` and ``operating_systems`` return what the modules of their names do, ``ask`` the capacity.

    They are called only if a plan has to be chosen, since the machines of a complete cluster have the plans of their devices.
    """

    plans: Callable[[], Sequence[Mapping[str, Any]]]
    operating_systems: Callable[[], Sequence[Mapping[str, Any]]]
    ask: Ask


@dataclass(frozen=True)
class _Pool:
    """Machines that get the same default plan, by all that the choice depends on."""

    group: str
    pool: str
    architecture: str
    metros: tuple[str, ...]
    operating_system: str


def needs_default(machine: Machine) -> bool:
    """Return whether a machine has no plan, and one of its places needs it."""
    return not machine.get("plan") and any(not place.plan for place in _places(machine))


def default_plans(
    machines: Mapping[str, Sequence[Machine]],
    devices: Sequence[Mapping[str, Any]],
    offer: Offer,
    *,
    load_balancer_operating_system: str = "",
    reused: str = "",
) -> dict[str, dict[str, Any]]:
    """Return ``plan`` and ``has_default_plan``, or ``plan_problem``, by the host name of each machine that needs a default plan.

    ``machines``: those of the filter ``machines`` by group. ``devices``: those of the cluster, as ``metal_device_info`` returns them.
    ``reused``: the worker that the bootstrap device becomes, by its host name or the name of its host. It has the plan of the bootstrap
    machine.
    """
    existing = {str(device.get("hostname")): device for device in devices}
    pools: dict[_Pool, list[Machine]] = {}
    plans: dict[str, dict[str, Any]] = {}
    ordered: Counter[Place] = Counter()
    set_by_host = {str(machine["hostname"]) for group in machines.values() for machine in group if machine.get("plan")}
    for group in DEFAULT_SIZES:
        for machine in machines.get(group) or []:
            name = str(machine["hostname"])
            if not needs_default(machine):
                if name not in existing and not machine.get("hardware_reservation_id"):
                    ordered.update(_places(machine)[:1])
            elif own := str(existing.get(name, {}).get("plan") or ""):
                plans[name] = _chosen(own)
            elif machine.get("hardware_reservation_id"):
                plans[name] = {"plan_problem": "a host with metal_hardware_reservation_id has no default plan"}
            else:
                as_control_plane = group == "bootstrap" or (reused and reused in (name, machine.get("inventory_hostname")))
                key = _pool_of(machine, SHARED if as_control_plane else group, load_balancer_operating_system)
                pools.setdefault(key, []).append(machine)
    # The control plane first, whichever host is named first.
    for pool in sorted(pools, key=lambda pool: (list(DEFAULT_SIZES).index(pool.group), pool)):
        names = [str(machine["hostname"]) for machine in pools[pool]]
        plan = _plan_of_devices(pool, devices, set_by_host) or _cheapest(pool, len(names), offer, ordered)
        plans |= {name: _chosen(plan) if plan else {"plan_problem": _lack(pool)} for name in names}
        if plan:
            ordered.update({Place(metro, plan): len(names) for metro in pool.metros[:1]})
    return plans


def _chosen(plan: str) -> dict[str, Any]:
    return {"plan": plan, "has_default_plan": True}


def _places(machine: Machine) -> tuple[Place, ...]:
    placement = None if machine.get("role") == "load-balancer" else machine.get("placement")
    if isinstance(placement, (str, Mapping)) or not isinstance(placement, Sequence):
        placement = None
    own = Place(str(machine.get("metro") or "").lower(), str(machine.get("plan") or ""))
    # A malformed entry is reported by a preflight check.
    return alternatives(own, [entry for entry in placement or [] if isinstance(entry, Mapping) and isinstance(entry.get("metro", ""), str)])


def _pool_of(machine: Machine, group: str, load_balancer_operating_system: str) -> _Pool:
    metros = dict.fromkeys(place.metro for place in _places(machine) if not place.plan and place.metro not in ("", "any"))
    is_load_balancer = group == "load_balancer"
    system = load_balancer_operating_system if is_load_balancer else machine.get("operating_system")
    return _Pool(
        group,
        str(machine.get("pool") or DEFAULT_POOL) if group == "workers" else "",
        str(machine.get("architecture") or "x86_64"),
        tuple(metros),
        str(system or IPXE),
    )


def _plan_of_devices(pool: _Pool, devices: Iterable[Mapping[str, Any]], set_by_host: set[str]) -> str | None:
    """Return the plan of most existing devices of a pool; those whose hosts set a plan, or of other metros, decide only without others."""
    roles = {"control_plane": ("control-plane", "bootstrap"), "workers": ("worker",), "load_balancer": ("load-balancer",)}[pool.group]
    members = [
        device
        for device in devices
        if {*tag_values(device.get("tags"), ROLE_TAG)} & {*roles}
        and (pool.group != "workers" or ([*tag_values(device.get("tags"), POOL_TAG), DEFAULT_POOL])[0] == pool.pool)
        and architecture_of(str(device.get("plan") or ".")) in (None, pool.architecture)
        and device.get("plan")
    ]
    of_default = [device for device in members if device.get("hostname") not in set_by_host]
    in_metro = [device for device in of_default if str(device.get("metro")).lower() in pool.metros]
    counts = Counter(str(device["plan"]) for device in in_metro or of_default or members)
    return min(counts, key=lambda plan: (-counts[plan], plan), default=None)


def _cheapest(pool: _Pool, quantity: int, offer: Offer, ordered: Mapping[Place, int]) -> str | None:
    """Return the cheapest plan that fits, with capacity in a metro of the pool if one has any."""
    system_of_pool = next((system for system in offer.operating_systems() if system.get("slug") == pool.operating_system), {})
    provisionable = system_of_pool.get("provisionable_on") or []
    fitting = sorted(
        (plan for plan in offer.plans() if _fits(plan, pool) and (not provisionable or plan["slug"] in provisionable)),
        key=lambda plan: (plan.get("price_per_hour") is None, plan.get("price_per_hour") or 0.0, str(plan["slug"])),
    )
    slugs = [str(plan["slug"]) for plan in fitting]
    questions = [
        {"plan": slug, "metro": metro, "quantity": quantity + ordered.get(Place(metro, slug), 0)} for slug in slugs for metro in pool.metros
    ]
    # An answer of None: the API does not report the capacity.
    answers = offer.ask(questions) if questions else []
    with_capacity = {answer["plan"] for answer in answers if answer["available"] is not False}
    return next((slug for slug in slugs if slug in with_capacity), next(iter(slugs), None))


def _fits(plan: Mapping[str, Any], pool: _Pool) -> bool:
    """Return whether a plan is offered, and is large enough. A field that the API leaves out excludes nothing but a size."""
    sizes = zip(size_of(plan), DEFAULT_SIZES[pool.group], strict=True)
    return (
        architecture_of(str(plan.get("slug"))) == pool.architecture
        and all(size is not None and size >= needed for size, needed in sizes)
        # The field legacy is false for all plans.
        and "legacy_gen" not in (plan.get("categories") or [])
        and plan.get("line") in (None, "baremetal")
        and "on_demand" in (plan.get("deployment_types") or ["on_demand"])
        and (not plan.get("metros") or not pool.metros or bool({*plan["metros"]} & {*pool.metros}))
    )


def _lack(pool: _Pool) -> str:
    needs = DEFAULT_SIZES[pool.group]
    where = f" in metro {' or '.join(pool.metros)}" if pool.metros else ""
    return (
        f"the Metal API offers no plan{where} for {pool.operating_system} with architecture {pool.architecture}, {needs.cores} cores,"
        f" {needs.memory} GB of memory and a disk of {needs.disk} GB"
    )
