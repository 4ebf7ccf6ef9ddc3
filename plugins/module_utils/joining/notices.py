# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices about CSR approval for the operator, each shown once.

A module has no terminal: its action plugin displays them. A client with the bootstrap
token can file a CSR with any name each second, so lines are limited in number and length. The module's result has all CSRs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..base.printable import printable
from .csr import Alarm, Decision, Verdict

Level = Literal["info", "warning"]

LIMIT = 20
"""Warnings of each kind with a line of their own. Of more refused CSRs only the number is shown, each time it has doubled."""
LIMIT_OF_MACHINE = 5
"""Warnings about refused CSRs that name one machine, independent of the number of CSRs with other names."""

_TEXT_LIMIT = 600
_NAMED = 3


@dataclass(frozen=True)
class Notice:
    level: Level
    text: str

    def result(self) -> dict[str, str]:
        return {"level": self.level, "text": printable(self.text, _TEXT_LIMIT)}


class Notices:
    def __init__(self, machines: Collection[str], *, read_only: bool = False) -> None:
        self._machines = machines
        # By kind: "alarm", "problem", "refused", and "refused NAME" for the requests that name a machine.
        self._shown: dict[str, set[str]] = {}
        self._refused = LIMIT
        self._answered: set[str] = set()
        self._is_first = True
        self._read_only = read_only

    def fresh(
        self, verdicts: Sequence[Verdict], answered: Iterable[Verdict], alarms: Sequence[Alarm], problems: Mapping[str, str]
    ) -> list[Notice]:
        """Return the notices that were not shown yet. ``answered``: CSRs approved and denied here; ``problems``: errors by subject."""
        notices = [*self._approvals(answered), *self._refusals(verdicts), *self._alarms(alarms)]
        notices += [Notice("warning", text) for subject, text in problems.items() if self._is_new("problem", subject)]
        self._is_first = False
        return notices

    def _is_new(self, kind: str, subject: str, limit: int = LIMIT) -> bool:
        shown, key = self._shown.setdefault(kind, set()), hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if key in shown or len(shown) >= limit:
            return False
        shown.add(key)
        return True

    def _approvals(self, answered: Iterable[Verdict]) -> list[Notice]:
        word = "to be approved" if self._read_only else "approved"
        approved = [verdict for verdict in answered if verdict.decision == "approve" and verdict.request.uid not in self._answered]
        self._answered |= {verdict.request.uid for verdict in approved}
        return [
            Notice("info", f"{word}: {verdict.request.label} of {printable(verdict.request.node)}: {verdict.reason}")
            for verdict in approved
        ]

    def _refusals(self, verdicts: Sequence[Verdict]) -> list[Notice]:
        became: dict[Decision, str] = {"refuse": "stays pending", "deny": "is to be denied" if self._read_only else "is denied"}
        refused = [verdict for verdict in verdicts if verdict.decision in became]
        refusals = [
            Notice(
                "warning",
                f"certificate request {verdict.request.label} for node '{printable(verdict.request.node, _TEXT_LIMIT // 4)}'"
                f" {became[verdict.decision]}: {verdict.reason}",
            )
            for verdict in refused
            if self._is_new_refusal(verdict)
        ]
        if len(refused) > self._refused:
            refusals.append(Notice("warning", f"{len(refused)} certificate requests are refused by now, see refused in the result"))
            self._refused = 2 * len(refused)
        return refusals

    def _is_new_refusal(self, verdict: Verdict) -> bool:
        subject, node = f"{verdict.request.uid} {verdict.reason}", verdict.request.node
        if node in self._machines:
            return self._is_new(f"refused {node}", subject, LIMIT_OF_MACHINE)
        return self._is_new("refused", subject)

    def _alarms(self, alarms: Sequence[Alarm]) -> list[Notice]:
        fresh = [alarm for alarm in alarms if self._is_new("alarm", alarm.subject)]
        if not self._is_first or len(fresh) < 2:
            return [Notice("warning", alarm.message) for alarm in fresh]
        # These CSRs were filed before this run, by machines that were restarted while no run approved CSRs.
        names = ", ".join(alarm.node for alarm in alarms[:_NAMED])
        more = f" and {len(alarms) - _NAMED} more" if len(alarms) > _NAMED else ""
        text = f"CSRs with different keys were filed before this run for {len(alarms)} nodes: {names}{more}."
        return [Notice("warning", f"{text} Usual after an interrupted run; see alarms in the result")]
