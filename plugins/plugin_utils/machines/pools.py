# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of machine pools whose sizes are given, as numbers or as the names of their hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils.base.errors import CollectionError, together

DEFAULT_POOL = "worker"
"""The pool of workers that are in no group below ``workers``."""

NO_POOLS = frozenset({"all", "ungrouped", "bootstrap", "control_plane", "load_balancer", "workers", "openshift", "localhost"})
"""Groups whose sizes cannot be given."""

NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]+)(?P<after>[^0-9]*)")
"""A host name with a number. The last number counts."""

FORMS = "{worker: 3} or {worker: [worker-0, worker-2]}, as JSON text, or as worker=3 or worker=worker-0 worker-2"
"""How sizes are written, for messages."""


def parse_sizes(sizes_value: Any) -> dict[str, int | tuple[str, ...]]:
    """Return the sizes by pool: of a mapping, of its JSON text, or of ``worker=3, storage=storage-0 storage-2``.

    Raises CollectionError with all problems.
    """
    problems: list[str] = []
    sizes: dict[str, int | tuple[str, ...]] = {}
    for pool, value in _mapping(sizes_value).items():
        text = str(value).strip()
        if isinstance(value, list | tuple):
            sizes[str(pool)] = names = tuple(str(name).strip() for name in value)
            if problem := _names_problem(names):
                problems.append(f"pool {pool}: {problem}")
        elif isinstance(value, bool) or not re.fullmatch("[0-9]+", text, re.ASCII):
            problems.append(f"pool {pool}: {value!r} is not a number of machines")
        else:
            sizes[str(pool)] = int(text)
    if problems:
        raise CollectionError(together("openshift_pool_sizes cannot be used", [*problems, f"write it as {FORMS}"]))
    return sizes


def _names_problem(names: Sequence[str]) -> str:
    malformed = [name for name in names if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name, re.ASCII)]
    if malformed:
        return f"{malformed[0]!r} is no name of a host"
    repeated = sorted({name for name in names if names.count(name) > 1})
    return f"{repeated[0]} is listed twice" if repeated else ""


def _mapping(value: Any) -> Mapping[Any, Any]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    text = str(value).strip()
    if not text:
        return {}
    parsed = _pairs(text)
    if parsed is None:
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = None
    if isinstance(parsed, Mapping):
        return parsed
    raise CollectionError(f"openshift_pool_sizes is {text!r}, which is not a number for each pool, nor its hosts: write it as {FORMS}")


def _pairs(text: str) -> dict[str, Any] | None:
    """Return ``pool=size`` pairs with commas or spaces between them; None for another text. Of a pool's hosts each is a word of its own."""
    words: dict[str, list[str]] = {}
    pool = ""
    for word in re.split(r"[\s,]+", re.sub(r"\s*=\s*", "=", text)):
        name, equals, value = word.rpartition("=")
        if equals and (not name or name in words):
            return None
        pool = name or pool
        if not pool or not re.fullmatch(r"[^=:{}\[\]\"']+", value):
            return None
        words.setdefault(pool, []).append(value)
    return {pool: names[0] if len(names) == 1 and re.fullmatch("[0-9]+", names[0], re.ASCII) else names for pool, names in words.items()}


def parse_names(value: Any, variable: str) -> list[str]:
    """Return the host names of a list, of its JSON text, or of a text with commas or spaces. Raises CollectionError for other values."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except ValueError as problem:
                raise CollectionError(f"{variable} is no JSON list: {problem}. Write it as [worker-2] or as worker-2,worker-3") from problem
        else:
            value = re.split(r"[\s,]+", text)
    if value is None or isinstance(value, Mapping) or not isinstance(value, Iterable):
        if value is None:
            return []
        raise CollectionError(f"{variable} is {value!r}, which is no list of host names. Write it as [worker-2] or as worker-2,worker-3")
    return [str(name).strip() for name in value if str(name).strip()]


@dataclass(frozen=True)
class _Series:
    """The names of a pool's hosts: ``before``, a number of ``width`` digits with leading zeros, ``after``; from ``first`` on."""

    before: str
    after: str
    width: int
    first: int

    def name(self, number: int) -> str:
        return f"{self.before}{number:0{self.width}d}{self.after}"

    def names(self, size: int) -> list[str]:
        return [self.name(number) for number in range(self.first, self.first + size)]

    def contains(self, name: str) -> bool:
        """Return whether the name is of the series, with any number."""
        match = NUMBERED.fullmatch(name)
        return match is not None and name == self.name(int(match["number"]))


def _series(pool: str, members: Sequence[str]) -> _Series:
    """Return the series that the hosts belong to. Raises ValueError if they have no number, or names of several forms."""
    if not members:
        return _Series(f"{pool}-", "", 1, 0)
    numbered = [NUMBERED.fullmatch(name) for name in members]
    unnumbered = sorted(name for name, match in zip(members, numbered, strict=True) if match is None)
    matches = [match for match in numbered if match]
    if unnumbered:
        raise ValueError(f"{unnumbered[0]} has no number in its name, so it is not clear which hosts are added or removed")
    forms = sorted({(match["before"], match["after"]) for match in matches})
    if len(forms) > 1:
        examples = " and ".join(f"{before}0{after}" for before, after in forms[:2])
        raise ValueError(f"its hosts have names of several forms ({examples}), so it is not clear which hosts are added or removed")
    numbers = [match["number"] for match in matches]
    padded = [number for number in numbers if number.startswith("0") and len(number) > 1]
    # From 0, unless all numbers are higher: hosts at the beginning may be missing, which removal_plan refuses.
    first = 0 if any(int(number) == 0 for number in numbers) else min(int(number) for number in numbers)
    return _Series(*forms[0], width=max(map(len, padded), default=1), first=first)


def members_of(pool: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the hosts of a pool. Those of the pool ``worker`` are also the hosts of ``workers`` that are in no group below it."""
    workers = list(groups.get("workers") or ())
    if pool in groups:
        return list(groups[pool])
    below = {name for group, names in groups.items() if group not in NO_POOLS and set(names) <= set(workers) for name in names}
    return [name for name in workers if name not in below]


def pool_hosts(groups: Mapping[str, Sequence[str]], sizes: Any) -> dict[str, list[Any]]:
    """Return ``added``, the hosts to add with their groups, and ``workers``, all worker hosts with these pool sizes.

    Raises CollectionError with all problems. ``groups`` are the hosts by group. With the hosts added the result is the same.
    """
    requested = parse_sizes(sizes)
    workers = list(groups.get("workers") or ())
    problems: list[str] = []
    added: list[dict[str, str]] = []
    removed: set[str] = set()
    for pool, size in requested.items():
        members = members_of(pool, groups)
        if problem := _problem(pool, members, groups):
            problems.append(problem)
            continue
        try:
            names = _desired(pool, members, size)
        except ValueError as problem:
            problems.append(f"pool {pool}: {problem}; leave the pool out of openshift_pool_sizes and edit its hosts in the inventory")
            continue
        taken = sorted(
            set(names) & {name for group, hosts in groups.items() if group not in (pool, "all", "workers") for name in hosts} - set(members)
        )
        if taken:
            problems.append(f"pool {pool}: its host {taken[0]} would have the name of a host of another group")
            continue
        removed |= set(members) - set(names)
        added += [{"name": name, "group": pool if pool in groups else "workers"} for name in names if name not in members]
    if problems:
        raise CollectionError(together("openshift_pool_sizes cannot be used", problems))
    return {"added": added, "workers": [name for name in workers if name not in removed] + [host["name"] for host in added]}


def _desired(pool: str, members: Sequence[str], size: int | tuple[str, ...]) -> list[str]:
    """Return the hosts of a pool with this size. Raises ValueError if that is not clear."""
    if isinstance(size, int):
        if len(members) == size and members and not NUMBERED.fullmatch(members[0]):
            return list(members)
        return _series(pool, members).names(size)
    unknown = [name for name in size if name not in members]
    if unknown:
        # A typing error would order a machine. A host that the inventory does not have may be one that AWX has left out.
        series = _series(pool, members)
        if others := [name for name in unknown if not series.contains(name)]:
            raise ValueError(f"{others[0]} is none of its hosts ({', '.join(members) or 'none'}), and not of the form {series.name(0)}")
    return list(size)


def _problem(pool: str, members: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    workers = set(groups.get("workers") or ())
    # A group below workers without hosts cannot be distinguished from one elsewhere: the playbook checks it once it has hosts.
    pools = sorted(
        name for name, hosts in groups.items() if name not in NO_POOLS and hosts and set(hosts) <= workers and not name.startswith("metal")
    )
    known = f"the pools of the inventory are {', '.join(pools)}" if pools else "the inventory has no group with hosts below workers"
    if pool in ("control_plane", "bootstrap", "master"):
        return f"{pool} is no pool of workers: the number of control plane machines is that of the inventory's group control_plane"
    if pool in NO_POOLS or (pool not in groups and pool != DEFAULT_POOL):
        return f"pool {pool} is unknown: {known}"
    outside = sorted(set(members) - workers)
    if outside:
        return f"{pool} is no pool of workers: its host {outside[0]} is not in the group workers; {known}"
    return ""
