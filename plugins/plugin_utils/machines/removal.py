# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decision which workers outside the inventory are removed.

A host can be absent from an inventory for other reasons than its removal: AWX leaves out disabled hosts and the hosts of other slices,
and a source of the inventory may have failed. So in a job only named workers are removed, and elsewhere a limited number of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.base.tags import POOL_TAG, ROLE_TAG, tag_values
from .pools import DEFAULT_POOL, NUMBERED, parse_names, parse_sizes

Device = Mapping[str, Any]
Machine = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """The removals that the user requested. ``at_most``: None for any number. ``in_job``: nobody at a terminal has seen the inventory."""

    names: Sequence[str] = ()
    sizes: Mapping[str, int | tuple[str, ...]] = field(default_factory=dict)
    at_most: int | None = None
    in_job: bool = False


@dataclass
class Choice:
    """The workers outside the inventory. ``removed`` and ``kept``: the reason by host name. ``blockers``: why the run has to fail."""

    removed: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    blockers: list[str] = field(default_factory=list)


def removal_request(options: Mapping[str, Any]) -> Request:
    """Return the request in these options. Raises CollectionError for a malformed one.

    ``names`` is the variable openshift_remove, ``sizes`` openshift_pool_sizes, ``at_most`` openshift_remove_at_most; ``in_job``: a bool.
    """
    return Request(
        names=parse_names(options.get("names"), "openshift_remove"),
        sizes=parse_sizes(options.get("sizes")),
        at_most=None if options.get("at_most") is None else int(options["at_most"]),
        in_job=bool(options.get("in_job")),
    )


def choose_removals(devices: Iterable[Device], machines: Mapping[str, Iterable[Machine]], cluster: str, request: Request) -> Choice:
    """Return which of the workers outside the inventory are removed, and which are kept.

    ``machines``: those of the inventory, ``control_plane`` and ``workers``. A device is a worker by its tag.
    """
    end = f".{cluster}".lower()
    masters = {str(machine["hostname"]): machine for machine in machines["control_plane"]}
    workers = {str(machine["hostname"]): machine for machine in machines["workers"]}
    excess = {
        str(device["hostname"]): device
        for device in sorted(devices, key=lambda device: str(device["hostname"]))
        if str(device["hostname"]).lower() not in {*masters, *workers} and f"{ROLE_TAG}worker" in device["tags"]
    }
    named = {name.lower().removesuffix(end) for name in request.names}
    choice = Choice(blockers=_named_but_desired(named, masters, workers, end))
    unnamed: dict[str, list[str]] = {}
    for hostname, device in excess.items():
        pool = (tag_values(device["tags"], POOL_TAG) or [DEFAULT_POOL])[0]
        if hostname.lower().removesuffix(end) in named:
            choice.removed[hostname] = "named in openshift_remove"
        elif isinstance(size := request.sizes.get(pool), tuple):
            choice.removed[hostname] = f"pool {pool} has the hosts {', '.join(size) or 'none'} (openshift_pool_sizes)"
        elif size is not None:
            members = [name.removesuffix(end) for name, machine in workers.items() if (machine.get("pool") or DEFAULT_POOL) == pool]
            if _is_above(hostname.lower().removesuffix(end), members, size, pool):
                choice.removed[hostname] = f"pool {pool} has {size} machines (openshift_pool_sizes)"
            else:
                choice.blockers.append(
                    f"{hostname} of pool {pool} exists, but the hosts of this pool are {', '.join(members) or 'none'}: "
                    "a number in openshift_pool_sizes removes the hosts with the highest numbers only. Put "
                    f"{hostname} back into the inventory (in AWX: enable it), or remove it with "
                    f"openshift_remove={hostname.removesuffix(end)}."
                )
        else:
            unnamed.setdefault(pool, []).append(hostname)
    if request.names:
        choice.kept |= {name: "not in the inventory, and not named in openshift_remove" for names in unnamed.values() for name in names}
    elif request.in_job:
        choice.kept |= {name: "not in the inventory of this job, and not named" for names in unnamed.values() for name in names}
    else:
        _limit(choice, unnamed, {machine.get("pool") or DEFAULT_POOL for machine in workers.values()}, request.at_most, end)
    return choice


def _named_but_desired(names: Collection[str], masters: Mapping[str, Machine], workers: Mapping[str, Machine], end: str) -> list[str]:
    problems = []
    for name in sorted(names):
        if name + end in masters or name in masters:
            problems.append(f"openshift_remove names {name}, which is of the control plane. scale.yml removes workers only.")
        elif machine := workers.get(name + end) or workers.get(name):
            pool = str(machine.get("pool") or DEFAULT_POOL)
            staying = [
                other.removesuffix(end)
                for other, worker in workers.items()
                if (worker.get("pool") or DEFAULT_POOL) == pool and other.removesuffix(end) not in names
            ]
            problems.append(
                f"openshift_remove names {name}, which is in the inventory, so that the next run would create it again. Remove the host "
                "from the inventory (in AWX: disable it), or list the hosts of its pool that stay: "
                f"openshift_pool_sizes='{json.dumps({pool: staying})}'."
            )
    return problems


def _is_above(name: str, members: Sequence[str], size: int, pool: str) -> bool:
    """Return whether the host's number is above those of the pool's hosts, and its name of the same form."""
    match = NUMBERED.fullmatch(name)
    if match is None:
        return False
    if not members:
        # Only the pool's usual names say that nothing of another series is deleted.
        return size == 0 and (match["before"], match["after"]) == (f"{pool}-".lower(), "")
    others = [other for member in members if (other := NUMBERED.fullmatch(member))]
    forms = {(other["before"], other["after"]) for other in others}
    return forms == {(match["before"], match["after"])} and int(match["number"]) > max(int(other["number"]) for other in others)


def _limit(choice: Choice, unnamed: Mapping[str, Sequence[str]], pools: Iterable[str], at_most: int | None, end: str) -> None:
    """Add the unnamed workers to the choice: removed, or blocked if a whole pool is missing or they are too many."""
    present = set(pools)
    for pool, names in unnamed.items():
        if pool not in present:
            short = ",".join(name.removesuffix(end) for name in names)
            choice.blockers.append(
                f"{', '.join(names)} would be removed, but the inventory has no host of pool {pool} at all. If a source of the inventory "
                f"failed, correct it. To remove the whole pool, run again with -e openshift_remove={short}."
            )
    removed = [name for pool, names in unnamed.items() if pool in present for name in names]
    if at_most is not None and len(removed) > at_most:
        choice.blockers.append(
            f"{len(removed)} workers are not in the inventory and would be removed: {', '.join(removed)}. One run removes {at_most} at "
            "most. If they are missing by mistake, put them back into the inventory. To remove them, run again with -e "
            f"openshift_remove_at_most={len(removed)}."
        )
    choice.removed |= dict.fromkeys(removed, "not in the inventory")
