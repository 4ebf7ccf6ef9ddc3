# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on purpose: what the next matching requests meet instead of, or besides, their answer."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from sandbox.metal.errors import unprocessable

# Words of "cut": before anything happens, after the effect but before the answer, or in the middle of the answer.
CUTS = ("before", "after", "body")


@dataclass
class Fault:
    """Matches requests by method and path: regular expressions, the path's looked for in the path with and without its query.

    Used ``times`` times (None: always), after the first ``skip`` matches.

    ``status``, ``body``, ``headers``: answered without any effect. ``delay``: real seconds before anything else. ``cut``: see :data:`CUTS`.
    ``hostname``: instead of requests, provisionings of devices whose name matches fail.
    """

    id: str
    method: str | None
    path: str
    times: int | None
    skip: int
    status: int | None
    body: Any
    headers: dict[str, str]
    delay: float
    cut: str | None
    hostname: str | None
    hits: int = field(default=0)

    def shown(self) -> dict[str, Any]:
        return dict(vars(self))


class Faults:
    """In memory only: a restart ends all faults."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}

    def add(self, data: dict[str, Any]) -> Fault:
        """Raises 422 for what cannot be."""
        known = {"method", "path", "times", "skip", "status", "body", "headers", "delay", "cut", "hostname"}
        problems = [f"{each} is not a field of a fault ({', '.join(sorted(known))})" for each in sorted(set(data) - known)]
        for name in ("path", "hostname", "method"):
            try:
                re.compile(data.get(name) or "")
            except (re.error, TypeError):
                problems.append(f"{name} is not a regular expression")
        for name, kinds in (("times", int), ("skip", int), ("status", int), ("delay", (int, float)), ("headers", dict), ("cut", str)):
            if data.get(name) is not None and not isinstance(data[name], kinds):
                problems.append(f"{name} cannot be {data[name]!r}")
        if data.get("cut") not in (None, *CUTS):
            problems.append(f"cut is not one of {', '.join(CUTS)}")
        if not any(data.get(each) for each in ("status", "delay", "cut", "hostname")):
            problems.append("a fault needs one of status, delay, cut, hostname")
        if problems:
            raise unprocessable(*problems)
        fault = Fault(
            id=str(uuid.uuid4()),
            method=data.get("method"),
            path=data.get("path") or "",
            times=data.get("times"),
            skip=data.get("skip") or 0,
            status=data.get("status"),
            body=data.get("body"),
            headers={str(name): str(value) for name, value in (data.get("headers") or {}).items()},
            delay=float(data.get("delay") or 0),
            cut=data.get("cut"),
            hostname=data.get("hostname"),
        )
        self._faults[fault.id] = fault
        return fault

    def all(self) -> list[Fault]:
        return list(self._faults.values())

    def remove(self, id_: str | None = None) -> None:
        """One, or all."""
        if id_ is None:
            self._faults.clear()
        else:
            self._faults.pop(id_, None)

    def for_request(self, method: str, path: str, with_query: str) -> Fault | None:
        """The first fault that meets this request, counted as used."""
        for fault in self._faults.values():
            if fault.hostname is not None or not self._meets(fault.method, method):
                continue
            if (re.search(fault.path, path) or re.search(fault.path, with_query)) and self._use(fault):
                return fault
        return None

    def for_provisioning(self, hostname: str) -> Fault | None:
        for fault in self._faults.values():
            if fault.hostname is not None and re.search(fault.hostname, hostname) and self._use(fault):
                return fault
        return None

    @staticmethod
    def _meets(wanted: str | None, method: str) -> bool:
        return wanted is None or re.fullmatch(wanted, method, re.IGNORECASE) is not None

    @staticmethod
    def _use(fault: Fault) -> bool:
        if fault.times is not None and fault.hits >= fault.skip + fault.times:
            return False
        fault.hits += 1
        return fault.hits > fault.skip
