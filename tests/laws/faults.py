"""Everything that may come between a module and the API, and what has to become of it.

The table is what ``test_faults.py`` holds and what ``docs/reliability.md`` is made of (``python -m tests.laws.reliability``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["success", "error", "either"]
Kind = Literal["read", "create", "change", "delete"]

TIMEOUT = 0.6
"""The tests' ``metal_api_timeout``, in seconds."""
RETRIES = 2
"""The tests' ``metal_api_retries``."""
LATE = 1.2
"""Seconds after which a request that hangs arrives after all: when its caller has given up on it."""


@dataclass(frozen=True)
class Fault:
    """One kind of trouble.

    ``sandbox``: the fault as the sandbox takes it, it meets one request. ``rewrite``: what the client gets to read instead of the answer.
    ``read`` to ``delete``: what becomes of a module when a request of that kind meets the fault once; None: cannot be.
    ``always``: what becomes of it when the fault does not pass; None: not asked.
    """

    name: str
    told: str
    read: Verdict | None
    create: Verdict | None
    change: Verdict | None
    delete: Verdict | None
    always: Verdict | None = None
    why: str = ""
    sandbox: Mapping[str, Any] | None = None
    rewrite: Callable[[Any], Any] | None = None
    skip: Mapping[str, int] = field(default_factory=dict)

    def verdict(self, kind: Kind) -> Verdict | None:
        return {"read": self.read, "create": self.create, "change": self.change, "delete": self.delete}[kind]


def _status(status: int, text: str, **headers: str) -> dict[str, Any]:
    return {"status": status, "body": {"errors": [text]}, "headers": {name.replace("_", "-"): value for name, value in headers.items()}}


def _with_more(value: Any) -> Any:
    """Every object with a field nobody knows."""
    if isinstance(value, dict):
        return {**{name: _with_more(item) for name, item in value.items()}, "field_of_tomorrow": {"id": 7, "href": None, "list": [None]}}
    return [_with_more(item) for item in value] if isinstance(value, list) else value


def _null_lists(value: Any) -> Any:
    """Every list inside an object of the API as null; the list that was asked for stays.

    The tags of a block or a network stay as well: null is how services write that there are none, and nothing else tells them apart.
    """
    if isinstance(value, dict):
        kept = () if "hostname" in value else ("tags",)
        return {name: None if isinstance(item, list) and name not in kept else _null_lists(item) for name, item in value.items()}
    return value


def null_lists(answer: Any) -> Any:
    if isinstance(answer, dict) and not answer.get("id"):
        return {name: [_null_lists(each) for each in item] if isinstance(item, list) else item for name, item in answer.items()}
    return _null_lists(answer)


def null_list(answer: Any) -> Any:
    """The list that was asked for as null, though its ``meta`` counts what is in it."""
    if isinstance(answer, dict) and isinstance(answer.get("meta"), dict) and answer["meta"].get("total"):
        return {name: None if isinstance(item, list) else item for name, item in answer.items()}
    return answer


def without(name: str) -> Callable[[Any], Any]:
    """Every object, and the answer itself, without one field."""

    def rewrite(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rewrite(item) for key, item in value.items() if key != name}
        return [rewrite(item) for item in value] if isinstance(value, list) else value

    return rewrite


HTML = {"status": 200, "body": "<html><body>maintenance</body></html>", "headers": {"Content-Type": "text/html"}}
UNKNOWN_EFFECT = "what an order whose answer is late may still do is not known, so nothing is ordered again: the next run finds it"

FAULTS = [
    Fault(
        "401", "401, the token is not accepted", "error", "error", "error", "error",
        sandbox=_status(401, "Invalid authentication token"),
    ),
    Fault(
        "403", "403, the token may not do this", "error", "error", "error", "error",
        sandbox=_status(403, "Access denied for the current authentication token"),
    ),
    Fault(
        "404", "404 in the middle of a run", "either", "error", "error", "either",
        why="what is gone while it is looked at is an error, what is gone before it is deleted is as wanted; "
        "a fresh device may be missing from two looks",
        sandbox=_status(404, "Not found"), skip={"read": 1},
    ),
    Fault("422", "422, the service refuses", "error", "error", "error", "error", sandbox=_status(422, "Fault is not valid")),
    Fault(
        "429", "429 with Retry-After", "success", "success", "success", "success", "error",
        sandbox=_status(429, "Too many requests", Retry_After="1"),
    ),
    Fault(
        "429-bare", "429 without Retry-After", "success", "success", "success", "success", "error",
        sandbox=_status(429, "Too many requests"),
    ),
    Fault("500", "500", "success", "success", "success", "success", "error", sandbox=_status(500, "Oh snap")),
    Fault("502", "502 with a page of HTML", "success", "success", "success", "success", "error", sandbox={**HTML, "status": 502}),
    Fault("503", "503", "success", "success", "success", "success", "error", sandbox=_status(503, "Service unavailable")),
    Fault(
        "504", "504, a gateway did not wait", "success", "error", "success", "success", "error",
        why=UNKNOWN_EFFECT, sandbox={**HTML, "status": 504},
    ),
    Fault("html", "HTML instead of JSON (200)", "success", "success", "success", "success", "error", sandbox=HTML),
    Fault(
        "empty", "an empty body (200)", "success", "success", "success", None, "error",
        why="the answer to a delete has no body", sandbox={"status": 200, "body": ""},
    ),
    Fault("truncated", "half of the answer", "success", "success", "success", "success", sandbox={"cut": "body"}),
    Fault(
        "cut-before", "the connection cut before the effect", "success", "success", "success", "success", "error",
        sandbox={"cut": "before"},
    ),
    Fault("cut-after", "the connection cut after the effect", "success", "success", "success", "success", sandbox={"cut": "after"}),
    Fault("slow", "a slow first byte, within the time limit", "success", "success", "success", "success", sandbox={"delay": TIMEOUT / 3}),
    Fault(
        "hang", "no answer within metal_api_timeout", "success", "error", "success", "success",
        why=UNKNOWN_EFFECT, sandbox={"delay": LATE},
    ),
    Fault("unknown-field", "an unknown extra field", "success", "success", "success", "success", rewrite=_with_more),
    Fault(
        "null-lists", "null instead of a list inside an object", "either", "either", "either", "either",
        why="an object that lost its tags is not known as ours, and what is not ours is never changed", rewrite=null_lists,
    ),
    Fault("null-list", "null instead of the list, though it is counted", "success", "success", "success", "success", rewrite=null_list),
    *(
        Fault(
            f"without-{name}", f"a missing field: {name}", "either", "either", "either", "either",
            why="what can be said without it is said; what is meant, and whose it is, is never guessed", rewrite=without(name),
        )
        for name in ("id", "hostname", "tags", "state", "plan", "metro", "meta", "ip_addresses", "href", "description")
    ),
]  # fmt: skip
