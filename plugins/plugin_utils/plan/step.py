# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of a plan, and a plan as data and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from ...module_utils.base.printable import printable

Verb = Literal["create", "change", "replace", "remove", "write", "publish", "approve", "wait"]
MARKS: Mapping[Verb, str] = {
    "create": "+",
    "change": "~",
    "replace": "-/+",
    "remove": "-",
    "write": ">",
    "publish": ">",
    "approve": "?",
    "wait": ".",
}
"""The sign of a verb at the beginning of its line."""
COUNTED: Mapping[Verb, str] = {"create": "to create", "change": "to change", "replace": "to replace", "remove": "to remove"}
"""Verbs that the heading counts: what exists is another one afterwards."""
SHOWN = 12
"""Lines of one phase; the others are counted."""
LIMIT = 400


@dataclass(frozen=True)
class Step:
    """What a phase has to do with one object.

    ``phase``: title of the playbook's phase. ``kind``: ``device``, ``node``, ``vlan``, ``gateway``, ``addresses``, ``records``, ``config``,
    ``routers``, ``cluster``, ``files``, ``requests`` or ``project``. ``object``: its name, of machines the host name. ``detail``: what is
    ordered or how it is done. ``reason``: why. ``before`` and ``after``: values of what changes, None for an object that does not exist.
    ``price_per_hour``: what it adds to the price, in US dollars; None when the price is not known. ``known_after``: what is known only once
    an earlier step was applied.
    """

    phase: str
    verb: Verb
    kind: str
    object: str
    reason: str
    detail: str = ""
    before: Any = None
    after: Any = None
    price_per_hour: float | None = 0.0
    known_after: str = ""


@dataclass(frozen=True)
class Plan:
    """The steps of a playbook, in the order in which it applies them.

    ``price_per_hour``: today's, None when a price is not known. ``unknown``: why a source was not read, by its name: what it has is neither
    created, changed nor removed. ``kept``: machines that are left as they are although the inventory says otherwise, with the reason.
    ``notes``: more to know, a sentence each. ``is_long``: whether every step has its line, however many there are. ``also``: phases that
    run without a step, since they compare something that no source of the plan has read. ``replaceable``: so many devices are deleted and
    ordered again if they fail.
    """

    cluster: str
    playbook: str
    phases: Sequence[str]
    steps: Sequence[Step]
    price_per_hour: float | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    is_long: bool = False
    also: Collection[str] = ()
    replaceable: int = 0

    @property
    def due(self) -> list[str]:
        """The phases that have something to do. The playbook skips the others."""
        phases = {*self.also, *(step.phase for step in self.steps)}
        return [phase for phase in self.phases if phase in phases]

    def of_phase(self, phase: str) -> list[Step]:
        return [step for step in self.steps if step.phase == phase]

    def data(self) -> dict[str, Any]:
        """Return the plan as plain data, with its ``lines``: for ``openshift_plan_file``, the artifact of a job and the playbook."""
        counts = Counter(step.verb for step in self.steps)
        return {
            "cluster": self.cluster,
            "playbook": self.playbook,
            "counts": {verb: counts[verb] for verb in COUNTED},
            "price_per_hour": {"before": self.price_per_hour, "after": self._price_afterwards()},
            "unknown": dict(self.unknown),
            "kept": dict(self.kept),
            "notes": list(self.notes),
            "replaceable": self.replaceable,
            "due": self.due,
            "steps": [{field.name: _plain(getattr(step, field.name)) for field in fields(step)} for step in self.steps],
            "lines": self.lines(),
        }

    def lines(self) -> list[str]:
        """Return the plan for people: a heading, and one line for each step, by phase."""
        lines = [self._heading(), *(f"    unknown: {source}: {why}" for source, why in sorted(self.unknown.items()))]
        marks = max((len(MARKS[step.verb]) for step in self.steps), default=1)
        named = max((len(self._short(step.object)) for step in self.steps), default=0)
        titles = max((len(step.phase) for step in self.steps), default=0)
        for number, phase in enumerate(self.phases, start=1):
            title = f"{number:>3} {phase:<{titles}}"
            steps = self.of_phase(phase)
            shown = len(steps) if self.is_long else SHOWN
            for step in steps[:shown]:
                text = ": ".join(filter(None, [step.detail, step.reason]))
                after = f" ({step.known_after})" if step.known_after else ""
                lines.append(f"{title}  {MARKS[step.verb]:<{marks}} {self._short(step.object):<{named}}  {text}{after}".rstrip())
                title = " " * len(title)
            if len(steps) > shown:
                lines.append(f"{title}  and {len(steps) - shown} more")
        lines += [f"    {self._short(name)} is kept: {reason}" for name, reason in self.kept.items()]
        notes = [
            *self.notes,
            *([f"failed devices are replaced, {self.replaceable} at most: openshift_replace_failed"] if self.replaceable else []),
        ]
        return [printable(line, LIMIT) for line in [*lines, *(f"    {note}" for note in notes)]]

    def with_replacements(self, phases: Iterable[str], limit: int) -> Plan:
        """Return the plan with the devices that each of these phases, if it is due, may replace: ``limit`` of those that fail."""
        return replace(self, replaceable=limit * len({*phases} & {*self.due}))

    def _short(self, name: str) -> str:
        """Return the first label of a host name: all of one plan end with the cluster's name."""
        return name.removesuffix(f".{self.cluster}")

    def _heading(self) -> str:
        counts = Counter(step.verb for step in self.steps)
        counted = ", ".join(f"{counts[verb]} {words}" for verb, words in COUNTED.items() if counts[verb])
        nothing = "nothing is known to do" if self.unknown else "nothing to do"
        text = f"{self.cluster}, {self.playbook}: {counted or ('nothing to create or change' if self.steps else nothing)}"
        after = self._price_afterwards()
        if self.price_per_hour is None or after is None:
            return f"{text}; the price is not known"
        if round(after - self.price_per_hour, 4) == 0:
            return f"{text}; {after:.2f} USD an hour"
        return f"{text}; {self.price_per_hour:.2f} -> {after:.2f} USD an hour"

    def _price_afterwards(self) -> float | None:
        return total([self.price_per_hour, *(step.price_per_hour for step in self.steps)])


def _plain(value: Any) -> Any:
    """Return a value made of dictionaries and lists of Python: what Ansible has read from variables has types that cannot be copied."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def total(prices: Iterable[float | None]) -> float | None:
    """Return the sum of prices; None if one is not known."""
    amounts = list(prices)
    known = [price for price in amounts if price is not None]
    return round(sum(known), 4) if len(known) == len(amounts) else None
