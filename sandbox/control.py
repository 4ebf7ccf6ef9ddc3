# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control API under /_sandbox/, by which tests and demos control the sandbox. On loopback, without token, not in the journal.

Each part of the sandbox describes its calls (:class:`Call`) and answers them. The validation of bodies and queries, the index at
``/_sandbox/`` and the tables in docs/sandbox.md use these descriptions.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

PATH = "/_sandbox"

LARGEST = 1_000_000_000
"""The largest number in a request: up to here, times, counts and JSON work."""

Kind = Literal["text", "pattern", "time", "number", "whole number", "flag", "texts", "object", "JSON value"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and re.compile(value) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


_KINDS: Mapping[Kind, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a text", lambda value: isinstance(value, str) and bool(value)),
    "pattern": ("a regular expression", _is_pattern),
    "time": ("a time like 2030-01-01T00:00:00Z", _is_time),
    "number": ("a number", _is_number),
    "whole number": ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "texts": ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value)),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "JSON value": ("a JSON value", lambda _value: True),
}


@dataclass(frozen=True)
class Field:
    """``kind`` and, for numbers, bounds; or the ``choices`` of a text. Every field may be left out or null."""

    help: str
    kind: Kind = "text"
    least: float = 0
    most: float = LARGEST
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """A text for the values that the field accepts."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind in {"number", "whole number"}:
            return f"{_KINDS[self.kind][0]} between {self.least:,g} and {self.most:,g}".replace(",", "_")
        return _KINDS[self.kind][0]

    def fits(self, value: Any) -> bool:
        """Return whether the field accepts ``value``, which is not null."""
        if not _KINDS[self.kind][1](value) or (self.choices and value not in self.choices):
            return False
        return not _is_number(value) or self.kind not in {"number", "whole number"} or self.least <= value <= self.most


def problems(values: Mapping[str, Any], fields: Mapping[str, Field]) -> list[str]:
    """Return the problems of a body's or query's fields: unknown fields, and invalid values."""
    unknown = [f"{name} is not a field here ({', '.join(fields) or 'there are none'})" for name in values if name not in fields]
    return unknown + [
        f"{name} must be {fields[name].expected}, not {shown(value)}"
        for name, value in values.items()
        if name in fields and value is not None and not fields[name].fits(value)
    ]


class ControlError(Exception):
    """An answer other than success: ``status`` and one or more texts."""

    def __init__(self, status: int, *texts: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(", ".join(texts))
        self.status = status
        self.texts = texts
        self.headers = dict(headers or {})


def checked(values: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the fields that are not null. Raises :class:`ControlError` with all problems."""
    if texts := problems(values, fields):
        raise ControlError(422, *texts)
    return {name: value for name, value in values.items() if value is not None}


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


Values = dict[str, Any]
Endpoint = Callable[[Values, Mapping[str, str]], Awaitable[Response]]


@dataclass(frozen=True)
class Call:
    """A call of the control API. ``body`` and ``query``: its fields; ``example``: a valid body.

    ``checks_body``: the handler validates the fields of the body together with its own rules, so that one answer has all problems.
    """

    method: str
    path: str
    help: str
    body: Mapping[str, Field] = field(default_factory=dict)
    query: Mapping[str, Field] = field(default_factory=dict)
    example: Mapping[str, Any] | None = None
    checks_body: bool = False

    def described(self, root: str) -> dict[str, Any]:
        """Return what the index has of this call; ``root`` is the sandbox's address."""
        shown: dict[str, Any] = {"method": self.method, "path": f"{PATH}{self.path}", "help": self.help}
        for name, fields in (("body", self.body), ("query", self.query)):
            if fields:
                shown[name] = {key: f"{entry.expected}: {entry.help}" for key, entry in fields.items()}
        return {**shown, "example": self.command(root)}

    def command(self, root: str) -> str:
        """Return the call as a command line."""
        words = ["curl", "-s", *(["-X", self.method] if self.method != "GET" else []), f"{root}{PATH}{self.path}"]
        if self.example is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(self.example)]
        return shlex.join(words)


INDEX = Call("GET", "/", "list the calls of the control API, with their fields and an example of each")


class ControlApp:
    """Answers these calls, and lists them in its index."""

    def __init__(self, calls: Sequence[tuple[Call, Endpoint]]) -> None:
        self._calls = [INDEX, *(call for call, _endpoint in calls)]
        self._table = [(compile_path(f"{PATH}{call.path}")[0], call, endpoint) for call, endpoint in calls]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request.method, request)
        except ControlError as problem:
            answer = JSONResponse({"errors": list(problem.texts)}, problem.status, headers=problem.headers)
        await answer(scope, receive, send)

    async def _answer(self, method: str, request: Request) -> Response:
        path = request.scope["path"]
        requested = "GET" if method == "HEAD" else method
        if path.rstrip("/") == PATH:
            root = f"{request.url.scheme}://{request.url.netloc}"
            fitting: list[tuple[Call, Endpoint, dict[str, str]]] = [(INDEX, self._index(root), {})]
        else:
            fitting = [(call, endpoint, match.groupdict()) for pattern, call, endpoint in self._table if (match := pattern.match(path))]
        if not fitting:
            raise ControlError(404, f"There is no {shown(path)} in the control API: GET {PATH}/ lists its calls")
        for call, endpoint, params in fitting:
            if call.method == requested:
                query = checked(_numbered(request.query_params, call.query), call.query)
                body = _body(await request.body())
                return await endpoint({**query, **(body if call.checks_body else checked(body, call.body))}, params)
        methods = ", ".join(call.method for call, _endpoint, _params in fitting)
        raise ControlError(405, f"{path} takes {methods}", headers={"Allow": methods})

    def _index(self, root: str) -> Endpoint:
        async def index(_values: Values, _params: Mapping[str, str]) -> Response:
            return JSONResponse({"calls": [call.described(root) for call in self._calls]})

        return index


def _numbered(query: Mapping[str, str], fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the query with numbers for fields that are numbers, and without empty values."""
    values: dict[str, Any] = {}
    for name, text in query.items():
        kind = fields[name].kind if name in fields else "text"
        try:
            values[name] = (orjson.loads(text) if kind in {"number", "whole number"} else text) if text else None
        except ValueError:
            values[name] = text
    return values


def _body(text: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(text) if text.strip() else {}
    except ValueError as problem:
        raise ControlError(422, f"the body is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise ControlError(422, "the body is not a JSON object")
    return body
