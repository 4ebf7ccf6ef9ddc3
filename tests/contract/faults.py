"""Everything that may come between a module and what it speaks to, and what has to become of it.

The table is what ``test_faults.py`` holds and what ``docs/generated/reliability.md`` is made of (``python -m tests.contract.reliability``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["success", "error", "either"]
Kind = Literal["read", "ask", "follow", "create", "change", "delete"]
Service = Literal["metal", "cluster"]

TIMEOUT = 0.6
"""Seconds one call may be silent where silence is the trouble."""
PATIENCE = 10.0
"""The same where it is not: a machine that is busy with other things is no trouble of this table."""
RETRIES = 2
"""The tests' ``metal_api_retries``."""
LATE = 1.2
"""Seconds after which a request that hangs arrives after all: when its caller has given up on it."""


@dataclass(frozen=True)
class Verdicts:
    """What becomes of a call when a request of this kind meets the trouble once; None: there is no such case.

    ``always``: what becomes of it when the trouble does not pass, whatever it met. ``ask``: what becomes of a question whether something
    can be had, both ways, where that is another thing than reading.
    """

    read: Verdict | None
    create: Verdict | None = None
    change: Verdict | None = None
    delete: Verdict | None = None
    follow: Verdict | None = None
    ask: Verdict | None = None
    always: Verdict = "error"

    def of(self, kind: Kind) -> Verdict | None:
        return {
            "read": self.read,
            "ask": self.ask or self.read,
            "create": self.create,
            "change": self.change,
            "delete": self.delete,
            "follow": self.follow,
        }[kind]


@dataclass(frozen=True)
class Fault:
    """One kind of trouble.

    ``group``: the class it is of. ``met``: the fault as the sandbox takes it. ``metal``, ``cluster``: the verdicts, or a text that says why
    there is no such case. ``second``: it is the second request of a call that meets it, when there is one.
    """

    name: str
    group: str
    told: str
    met: Mapping[str, Any]
    metal: Verdicts | str
    cluster: Verdicts | str
    why: str = ""
    why_cluster: str = ""
    second: bool = False
    page_size: int | None = None
    silent: bool = field(default=False)

    def verdicts(self, service: Service) -> Verdicts | str:
        return self.metal if service == "metal" else self.cluster

    def reason(self, service: Service) -> str:
        return self.why if service == "metal" else self.why_cluster

    @property
    def rewrites(self) -> bool:
        """Whether it spoils answers: what is answered with nothing cannot meet it."""
        return bool(self.met.get("odd") or self.met.get("without"))


def _status(status: int, text: str, **headers: str) -> dict[str, Any]:
    told = {"errors": [text], "kind": "Status", "message": text, "code": status}
    return {"status": status, "body": told, "headers": {name.replace("_", "-"): value for name, value in headers.items()}}


def _odd(read: Verdict = "success", always: Verdict = "success") -> Verdicts:
    return Verdicts(read, read, read, read, always=always)


HTML = {"status": 200, "body": "<html><body>maintenance</body></html>", "headers": {"Content-Type": "text/html"}}
REFUSED = Verdicts("error", "error", "error", "error")
PASSES = Verdicts("success", "success", "success", "success")
LATE_ORDER = Verdicts("success", "error", "success", "success")
FOLLOWED = Verdicts("success", change="success", follow="success")
"""The waiting modules of the cluster ask again until ``wait_timeout``, also what is refused: what is refused for minutes ends the wait."""
CLUSTER_EITHER = Verdicts("success", change="success", follow="success", always="either")

UNKNOWN_EFFECT = "what an order whose answer is late may still do is not known, so nothing is ordered again: the next run finds it"
NOT_DONE = "a delete is answered with nothing anyway: what is there all the same is asked for again, and in the end it is said"
GUESSED = "what can be said without it is said; what is meant, and whose it is, is never guessed"
KUBERNETES = "no object of Kubernetes that is looked at has this field"
METAL = "no object of the Metal API has this field"

FAULTS = [
    Fault("401", "refused", "401, the token is not accepted", _status(401, "Invalid authentication token"), REFUSED, FOLLOWED),
    Fault(
        "403", "refused", "403, this is not allowed", _status(403, "Access denied for the current authentication token"),
        Verdicts("error", "error", "error", "error", ask="either"), FOLLOWED,
        why="a service that does not say whether there are servers is no reason not to order them",
    ),
    Fault(
        "404", "refused", "404 in the middle of a run", _status(404, "Not found"),
        Verdicts("either", "error", "error", "either", always="either"),
        Verdicts("success", change="success", follow="success", always="either"),
        why="what is gone while it is looked at is an error, what is gone before it is deleted is as wanted; a fresh device may be "
        "missing from two looks",
        why_cluster="a list of nodes that is not there is empty, one of certificate requests is asked for again; a request that is gone "
        "when it is approved is read again",
        second=True,
    ),
    Fault("422", "refused", "422, it is refused", _status(422, "Fault is not valid"), REFUSED, FOLLOWED),
    Fault("429", "slowed", "429 with Retry-After", _status(429, "Too many requests", Retry_After="1"), PASSES, FOLLOWED),
    Fault("429-bare", "slowed", "429 without Retry-After", _status(429, "Too many requests"), PASSES, FOLLOWED),
    Fault("500", "broken", "500", _status(500, "Oh snap"), PASSES, FOLLOWED),
    Fault("502", "broken", "502 with a page of HTML", {**HTML, "status": 502}, PASSES, FOLLOWED),
    Fault("503", "broken", "503", _status(503, "Service unavailable"), PASSES, FOLLOWED),
    Fault("504", "broken", "504, a gateway did not wait", {**HTML, "status": 504}, LATE_ORDER, FOLLOWED, why=UNKNOWN_EFFECT),
    Fault("html", "unreadable", "HTML instead of JSON (200)", HTML, PASSES, FOLLOWED),
    Fault(
        "empty", "unreadable", "an empty body (200)", {"status": 200, "body": ""},
        PASSES, FOLLOWED, why=NOT_DONE,
    ),
    Fault(
        "truncated", "unreadable", "half of the answer", {"cut": "body"},
        Verdicts("success", "success", "success", "success", always="either"), CLUSTER_EITHER,
    ),
    Fault("cut-before", "cut", "the connection cut before the effect", {"cut": "before"}, PASSES, FOLLOWED),
    Fault(
        "cut-after", "cut", "the connection cut after the effect", {"cut": "after"},
        Verdicts("success", "success", "success", "success", always="either"), CLUSTER_EITHER,
    ),
    Fault(
        "slow", "silent", "a slow first byte, within the time limit", {"delay": TIMEOUT / 3},
        Verdicts("success", "success", "success", "success", always="success"),
        Verdicts("success", change="success", follow="success", always="success"),
        silent=True,
    ),
    Fault(
        "hang", "silent", "no answer within the time limit", {"delay": LATE}, LATE_ORDER, CLUSTER_EITHER, why=UNKNOWN_EFFECT,
        why_cluster="an approval that arrives after all has been given", silent=True,
    ),
    Fault(
        "dripping", "silent", "a body that comes byte by byte, beyond the time limit", {"drip": TIMEOUT / 10},
        Verdicts("success", "success", "success", "success", always="either"),
        Verdicts("success", change="success", always="either"),
        why="what was ordered is looked up, since its answer began but did not end",
        why_cluster="requests are followed in an answer that comes bit by bit and ends with the wait", silent=True,
    ),
    Fault(
        "unknown-field", "odd", "an unknown extra field", {"odd": "more"},
        _odd(), Verdicts("success", change="success", follow="success", always="success"),
    ),
    Fault(
        "null-lists", "odd", "null instead of a list inside an object", {"odd": "null-lists"},
        _odd("either", "either"), Verdicts("either", change="success", follow="either", always="either"),
        why="an object that lost its tags is not known as ours, and what is not ours is never changed",
    ),
    Fault(
        "null-list", "odd", "null instead of the list, though it is counted", {"odd": "null-list"},
        _odd("success", "error"), "lists of Kubernetes count nothing; for them null is an empty list, which is waited for",
    ),
    Fault(
        "moved-page", "odd", "a second page that changes while it is read", {"odd": "moved-page"},
        Verdicts("success"), "pages of Kubernetes are of one moment; that it is forgotten has its own line", page_size=2,
    ),
    Fault(
        "expired-page", "odd", "410, the list's next page is forgotten",
        {**_status(410, "The provided continue parameter is too old"), "path": "continue="},
        "pages of the Metal API are not of one moment", Verdicts("success"), page_size=1,
    ),
    *(
        Fault(
            f"without-{name}", "odd", f"a missing field: {name}", {"without": name}, _odd("either", "either"), KUBERNETES, why=GUESSED,
        )
        for name in ("id", "hostname", "tags", "state", "plan", "metro", "meta", "ip_addresses", "href", "description")
    ),
    *(
        Fault(
            f"without-{name}", "odd", f"a missing field: {name}", {"without": name}, METAL,
            Verdicts("either", change="success", follow="either", always="either"), why_cluster=GUESSED,
        )
        for name in ("items", "metadata", "spec", "status", "conditions", "resourceVersion", "uid")
    ),
]  # fmt: skip

GROUPS = tuple(dict.fromkeys(fault.group for fault in FAULTS))
