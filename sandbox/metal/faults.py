# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on purpose: what the next matching requests meet instead of, or besides, their answer."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbox.metal.errors import unprocessable

# Words of "cut": before anything happens, after the effect but before the answer, or in the middle of the answer.
CUTS = ("before", "after", "body")


def _with_more(value: Any) -> Any:
    """Every object with a field nobody knows."""
    if isinstance(value, dict):
        return {**{name: _with_more(item) for name, item in value.items()}, "field_of_tomorrow": {"id": 7, "href": None, "list": [None]}}
    return [_with_more(item) for item in value] if isinstance(value, list) else value


def _no_lists(value: Any) -> Any:
    """Every list inside an object of the API as null.

    The tags of what is no device stay: null is how services write that there are none, and nothing else tells blocks and networks apart.
    """
    if isinstance(value, dict):
        kept = () if "hostname" in value else ("tags",)
        return {name: None if isinstance(item, list) and name not in kept else _no_lists(item) for name, item in value.items()}
    return value


def _null_lists(answer: dict[str, Any]) -> Any:
    """The lists inside; the list that was asked for stays."""
    if not answer.get("id"):
        return {name: [_no_lists(each) for each in item] if isinstance(item, list) else item for name, item in answer.items()}
    return _no_lists(answer)


def _null_list(answer: dict[str, Any]) -> Any:
    """The list that was asked for as null, though its ``meta`` counts what is in it."""
    meta = answer.get("meta")
    if isinstance(meta, dict) and meta.get("total"):
        return {name: None if isinstance(item, list) else item for name, item in answer.items()}
    return answer


def _moved_page(answer: dict[str, Any]) -> Any:
    """A later page as it is after something of an earlier one was deleted: all moved up by one, and its first object is seen nowhere."""
    meta = answer.get("meta")
    if isinstance(meta, dict) and meta.get("current_page", 1) > 1:
        shorter = {name: item[1:] if isinstance(item, list) else item for name, item in answer.items()}
        return {**shorter, "meta": {**meta, "total": meta["total"] - 1}}
    return answer


# Words of "odd": what becomes of an answer after its effect.
ODD: dict[str, Callable[[dict[str, Any]], Any]] = {
    "more": _with_more,
    "null-lists": _null_lists,
    "null-list": _null_list,
    "moved-page": _moved_page,
}


def _without(value: Any, name: str) -> Any:
    """Every object, and the answer itself, without one field."""
    if isinstance(value, dict):
        return {key: _without(item, name) for key, item in value.items() if key != name}
    return [_without(item, name) for item in value] if isinstance(value, list) else value


@dataclass
class Fault:
    """Matches requests by method and path: regular expressions, the path's looked for in the path with and without its query.

    Used ``times`` times (None: always), after the first ``skip`` matches.

    ``status``, ``body``, ``headers``: answered without any effect. ``delay``: real seconds before anything else. ``cut``: see :data:`CUTS`.
    ``drip``: real seconds between the bytes of the answer.
    ``odd``: see :data:`ODD`; ``without``: the name of a field that is left out everywhere. Both meet only answers they can change.
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
    drip: float
    cut: str | None
    hostname: str | None
    odd: str | None = None
    without: str | None = None
    hits: int = field(default=0)

    @property
    def rewrites(self) -> bool:
        return self.odd is not None or self.without is not None

    def rewritten(self, answer: Any) -> Any:
        """What is answered instead of this JSON value: the value itself when there is nothing in it to change."""
        if isinstance(answer, dict) and self.odd is not None:
            answer = ODD[self.odd](answer)
        return answer if self.without is None else _without(answer, self.without)

    def shown(self) -> dict[str, Any]:
        return dict(vars(self))


class Faults:
    """In memory only: a restart ends all faults."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}

    def add(self, data: dict[str, Any]) -> Fault:
        """Raises 422 for what cannot be."""
        known = {"method", "path", "times", "skip", "status", "body", "headers", "delay", "drip", "cut", "hostname", "odd", "without"}
        problems = [f"{each} is not a field of a fault ({', '.join(sorted(known))})" for each in sorted(set(data) - known)]
        for name in ("path", "hostname", "method"):
            try:
                re.compile(data.get(name) or "")
            except (re.error, TypeError):
                problems.append(f"{name} is not a regular expression")
        for name, kinds in (
            ("times", int),
            ("skip", int),
            ("status", int),
            ("delay", (int, float)),
            ("drip", (int, float)),
            ("headers", dict),
            ("cut", str),
            ("without", str),
        ):
            if data.get(name) is not None and not isinstance(data[name], kinds):
                problems.append(f"{name} cannot be {data[name]!r}")
        if data.get("cut") not in (None, *CUTS):
            problems.append(f"cut is not one of {', '.join(CUTS)}")
        if data.get("odd") not in (None, *ODD):
            problems.append(f"odd is not one of {', '.join(ODD)}")
        if not any(data.get(each) for each in ("status", "delay", "drip", "cut", "hostname", "odd", "without")):
            problems.append("a fault needs one of status, delay, drip, cut, hostname, odd, without")
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
            drip=float(data.get("drip") or 0),
            cut=data.get("cut"),
            hostname=data.get("hostname"),
            odd=data.get("odd"),
            without=data.get("without"),
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
        return next((each for each in self._matching(method, path, with_query) if not each.rewrites and self._use(each)), None)

    def for_answer(self, method: str, path: str, with_query: str, answer: Any) -> tuple[Fault | None, Any]:
        """The first fault that changes this answer (a JSON value), counted as used, and what is answered then."""
        for fault in self._matching(method, path, with_query):
            changed = fault.rewritten(answer)
            if fault.rewrites and changed != answer and self._use(fault):
                return fault, changed
        return None, answer

    def _matching(self, method: str, path: str, with_query: str) -> list[Fault]:
        return [
            each
            for each in self._faults.values()
            if each.hostname is None
            and (each.method is None or re.fullmatch(each.method, method, re.IGNORECASE))
            and (re.search(each.path, path) or re.search(each.path, with_query))
        ]

    def for_provisioning(self, hostname: str) -> Fault | None:
        for fault in self._faults.values():
            if fault.hostname is not None and re.search(fault.hostname, hostname) and self._use(fault):
                return fault
        return None

    @staticmethod
    def _use(fault: Fault) -> bool:
        if fault.times is not None and fault.hits >= fault.skip + fault.times:
            return False
        fault.hits += 1
        return fault.hits > fault.skip
