# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Injected faults: they replace or change the answers to the next matching requests."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metal_api.core.errors import unprocessable
from sandbox.control import Field, problems, shown

# Values of "cut": before the request has an effect, after the effect but before the answer, or in the middle of the answer.
CUTS = ("before", "after", "body")


def _with_more(value: Any) -> Any:
    """Add an unknown field to every object."""
    if isinstance(value, dict):
        return {**{name: _with_more(item) for name, item in value.items()}, "field_of_tomorrow": {"id": 7, "href": None, "list": [None]}}
    return [_with_more(item) for item in value] if isinstance(value, list) else value


def _no_lists(value: Any) -> Any:
    """Replace every list inside an object of the API by null.

    The tags of objects other than devices are kept: services write null for no tags, and blocks and networks differ by their tags only.
    """
    if isinstance(value, dict):
        kept = () if "hostname" in value else ("tags",)
        return {name: None if isinstance(item, list) and name not in kept else _no_lists(item) for name, item in value.items()}
    return value


def _null_lists(answer: dict[str, Any]) -> Any:
    """Replace the lists inside the objects by null; the requested list itself is kept."""
    if not answer.get("id"):
        return {name: [_no_lists(entry) for entry in item] if isinstance(item, list) else item for name, item in answer.items()}
    return _no_lists(answer)


def _null_list(answer: dict[str, Any]) -> Any:
    """Replace the requested list by null, though its ``meta`` counts its objects."""
    meta = answer.get("meta")
    if isinstance(meta, dict) and meta.get("total"):
        return {name: None if isinstance(item, list) else item for name, item in answer.items()}
    return answer


def _moved_page(answer: dict[str, Any]) -> Any:
    """Return a later page as it is after an object of an earlier page was deleted: shifted by one, its first object is on no page."""
    meta = answer.get("meta")
    if isinstance(meta, dict) and meta.get("current_page", 1) > 1:
        shorter = {name: item[1:] if isinstance(item, list) else item for name, item in answer.items()}
        return {**shorter, "meta": {**meta, "total": meta["total"] - 1}}
    return answer


# Values of "odd": how the answer is rewritten.
REWRITES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "more": _with_more,
    "null-lists": _null_lists,
    "null-list": _null_list,
    "moved-page": _moved_page,
}


def _without(value: Any, name: str) -> Any:
    """Remove one field from every object, and from the answer itself."""
    if isinstance(value, dict):
        return {key: _without(item, name) for key, item in value.items() if key != name}
    return [_without(item, name) for item in value] if isinstance(value, list) else value


FIELDS: Mapping[str, Field] = {
    "method": Field("only requests with this method, any case, the whole of it: POST, or POST|PUT", "pattern"),
    "path": Field("only requests in whose path, with or without its query, this is found: /devices$", "pattern"),
    "hostname": Field("instead of requests: provisionings and reinstallations of devices in whose hostname this is found fail", "pattern"),
    "times": Field("how many requests meet it; without it all of them", "whole number"),
    "skip": Field("how many matching requests pass before the first that meets it", "whole number"),
    "status": Field("answered without any effect", "whole number", least=200, most=599),
    "body": Field("the answer's body beside status: sent as JSON, a text as it is", "JSON value"),
    "headers": Field("the answer's headers beside status, such as Retry-After", "object"),
    "delay": Field("real seconds before the request is processed", "number", most=3600),
    "drip": Field("real seconds between the bytes of the answer", "number", most=3600),
    "cut": Field("the connection ends: before the effect, after the effect, or in the middle of the answer's body", choices=CUTS),
    "odd": Field(
        "the answer is changed: an unknown field in every object (more), null for the lists inside (null-lists) or for the list "
        "itself (null-list), or a later page that is shifted by one object (moved-page)",
        choices=tuple(REWRITES),
    ),
    "without": Field("the name of a field that is left out of every object of the answer", "text"),
}
"""The fields of a fault. One of ``EFFECTS`` is required."""

EFFECTS = ("status", "delay", "drip", "cut", "hostname", "odd", "without")


@dataclass
class Fault:
    """A fault that applies to ``times`` requests (None: all) of ``method`` and ``path``, after the first ``skip`` matches.

    ``odd`` and ``without`` apply only to answers that they can change. ``FIELDS`` describes each field.
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
        """Return the JSON value that replaces ``answer``, the same value if there is nothing to change."""
        if isinstance(answer, dict) and self.odd is not None:
            answer = REWRITES[self.odd](answer)
        return answer if self.without is None else _without(answer, self.without)

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def _can_be_sent(name: str, value: Any) -> bool:
    """Return whether a fault may set this header. Not those of the body's length: ``cut`` is for answers that are too short."""
    text = str(value)
    good = (
        isinstance(value, str | int | float)
        and text.isprintable()
        and text.isascii()
        and re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII)
    )
    return bool(good) and name.lower() not in {"content-length", "transfer-encoding", "connection"}


class Faults:
    """All faults. In memory only: a restart removes them."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}

    def add(self, data: dict[str, Any]) -> Fault:
        """Add a fault. Raises 422 for invalid fields."""
        texts = problems(data, FIELDS)
        values = {name: value for name, value in data.items() if value is not None}
        headers = values.get("headers")
        if isinstance(headers, dict):
            texts += [f"headers: {shown({name: value})} cannot be sent" for name, value in headers.items() if not _can_be_sent(name, value)]
        if not any(values.get(name) for name in EFFECTS):
            texts.append(f"a fault needs one of {', '.join(EFFECTS)}")
        if texts:
            raise unprocessable(*texts)
        fault = Fault(
            id=str(uuid.uuid4()),
            method=values.get("method"),
            path=values.get("path", ""),
            times=values.get("times"),
            skip=values.get("skip", 0),
            status=values.get("status"),
            body=values.get("body"),
            headers={name: str(value) for name, value in values.get("headers", {}).items()},
            delay=float(values.get("delay", 0)),
            drip=float(values.get("drip", 0)),
            cut=values.get("cut"),
            hostname=values.get("hostname"),
            odd=values.get("odd"),
            without=values.get("without"),
        )
        self._faults[fault.id] = fault
        return fault

    def all(self) -> list[Fault]:
        return list(self._faults.values())

    def remove(self, id_: str | None = None) -> None:
        """Remove one fault, or all."""
        if id_ is None:
            self._faults.clear()
        else:
            self._faults.pop(id_, None)

    def for_request(self, method: str, path: str, with_query: str) -> Fault | None:
        """Return the first fault for this request, and count it as used."""
        return next((fault for fault in self._matching(method, path, with_query) if not fault.rewrites and self._count(fault)), None)

    def for_answer(self, method: str, path: str, with_query: str, answer: Any) -> tuple[Fault | None, Any]:
        """Return the first fault that changes this answer (a JSON value), counted as used, and the changed answer."""
        for fault in self._matching(method, path, with_query):
            changed = fault.rewritten(answer)
            if fault.rewrites and changed != answer and self._count(fault):
                return fault, changed
        return None, answer

    def _matching(self, method: str, path: str, with_query: str) -> list[Fault]:
        return [
            fault
            for fault in self._faults.values()
            if fault.hostname is None
            and (fault.method is None or re.fullmatch(fault.method, method, re.IGNORECASE))
            and (re.search(fault.path, path) or re.search(fault.path, with_query))
        ]

    def for_provisioning(self, hostname: str) -> Fault | None:
        for fault in self._faults.values():
            if fault.hostname is not None and re.search(fault.hostname, hostname) and self._count(fault):
                return fault
        return None

    @staticmethod
    def _count(fault: Fault) -> bool:
        if fault.times is not None and fault.hits >= fault.skip + fault.times:
            return False
        fault.hits += 1
        return fault.hits > fault.skip
