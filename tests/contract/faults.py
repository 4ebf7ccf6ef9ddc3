"""Faults between a module and the API it calls, and the outcome of each.

``test_faults.py`` verifies the table. ``docs/reliability.md`` has it for users, with the reasons.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Verdict = Literal["success", "error", "either"]
Kind = Literal["read", "ask", "follow", "run", "remove", "create", "change", "delete"]
"""What a request does. Of a cluster's API: ``run`` is a command in a pod that reads, ``remove`` one that removes an etcd member."""
Meeting = tuple[Kind, str]
"""Which requests meet the fault, in which step of a lifecycle."""
Service = Literal["metal", "cluster"]
Group = Literal["lost", "busy", "other"]

TIMEOUT = 0.6
"""Timeout of a call in seconds, for faults in which the server does not answer in time."""
PATIENCE = 10.0
"""Timeout of a call in seconds, for all other faults: a busy computer must not cause a timeout."""
RETRIES = 2
"""The tests' ``metal_api_retries``."""
LATE = 1.2
"""Seconds after which a delayed request arrives: after the timeout of its client."""


@dataclass(frozen=True)
class Verdicts:
    """Outcome of a call when a request of this kind meets the fault once; None: there is no such case.

    ``always``: the outcome when the fault is permanent, in any request. ``ask``: the outcome of a capacity check, if it differs from that
    of a read. ``run``, ``remove``: those of commands in pods.
    """

    read: Verdict | None
    create: Verdict | None = None
    change: Verdict | None = None
    delete: Verdict | None = None
    follow: Verdict | None = None
    ask: Verdict | None = None
    run: Verdict | None = None
    remove: Verdict | None = None
    always: Verdict = "error"

    def of(self, kind: Kind) -> Verdict | None:
        return {
            "read": self.read,
            "ask": self.ask or self.read,
            "create": self.create,
            "change": self.change,
            "delete": self.delete,
            "follow": self.follow,
            "run": self.run,
            "remove": self.remove,
        }[kind]


@dataclass(frozen=True)
class Fault:
    """One fault.

    ``group``: "lost" (the answer does not arrive whole or in time), "busy" (429 or 5xx) or "other". ``met``: the fault as the body of the
    sandbox's control API. ``metal``, ``cluster``: the verdicts, or the reason why there is no such case. ``second``: the second request
    of a call meets it, if there is one.
    """

    name: str
    group: Group
    title: str
    met: Mapping[str, Any]
    metal: Verdicts | str
    cluster: Verdicts | str
    second: bool = False
    page_size: int | None = None
    silent: bool = field(default=False)

    def verdicts(self, service: Service) -> Verdicts | str:
        return self.metal if service == "metal" else self.cluster

    @property
    def rewrites(self) -> bool:
        """Whether the fault changes answers: an answer without a body cannot meet it."""
        return bool(self.met.get("odd") or self.met.get("without"))


def _status(status: int, text: str, **headers: str) -> dict[str, Any]:
    body = {"errors": [text], "kind": "Status", "message": text, "code": status}
    return {"status": status, "body": body, "headers": {name.replace("_", "-"): value for name, value in headers.items()}}


def _malformed(read: Verdict = "success", always: Verdict = "success") -> Verdicts:
    return Verdicts(read, read, read, read, always=always)


HTML = {"status": 200, "body": "<html><body>maintenance</body></html>", "headers": {"Content-Type": "text/html"}}
REFUSED = Verdicts("error", "error", "error", "error")
PASSES = Verdicts("success", "success", "success", "success")
LATE_ORDER = Verdicts("success", "error", "success", "success")
FOLLOWED = Verdicts("success", change="success", delete="success", follow="success", run="success", remove="success")
"""Cluster modules that wait retry until ``wait_timeout``, also refused requests, which end the wait if they are refused for minutes."""
CLUSTER_EITHER = replace(FOLLOWED, always="either")
GUESSING = replace(CLUSTER_EITHER, read="either", follow="either", run="either", remove="either")

KUBERNETES = "no Kubernetes object that the modules read has this field"
METAL = "no object of the Metal API has this field"

FAULTS = [
    Fault("401", "other", "401, the token is not accepted", _status(401, "Invalid authentication token"), REFUSED, FOLLOWED),
    Fault(
        "403", "other", "403, this is not allowed", _status(403, "Access denied for the current authentication token"),
        Verdicts("error", "error", "error", "error", ask="either"), FOLLOWED,
    ),
    Fault(
        "404", "other", "404 in the middle of a run", _status(404, "Not found"),
        Verdicts("either", "error", "error", "either", always="either"),
        CLUSTER_EITHER,
        second=True,
    ),
    Fault("422", "other", "422, the request is refused", _status(422, "Fault is not valid"), REFUSED, FOLLOWED),
    Fault("429", "busy", "429 with Retry-After", _status(429, "Too many requests", Retry_After="1"), PASSES, FOLLOWED),
    Fault("429-bare", "busy", "429 without Retry-After", _status(429, "Too many requests"), PASSES, FOLLOWED),
    Fault("500", "busy", "500", _status(500, "Oh snap"), PASSES, FOLLOWED),
    Fault("502", "busy", "502 with an HTML page", {**HTML, "status": 502}, PASSES, FOLLOWED),
    Fault("503", "busy", "503", _status(503, "Service unavailable"), PASSES, FOLLOWED),
    Fault("504", "busy", "504, a gateway timeout", {**HTML, "status": 504}, LATE_ORDER, FOLLOWED),
    Fault("html", "other", "HTML instead of JSON (200)", HTML, PASSES, FOLLOWED),
    Fault("empty", "other", "an empty body (200)", {"status": 200, "body": ""}, PASSES, FOLLOWED),
    Fault(
        "truncated", "lost", "half of the answer", {"cut": "body"},
        Verdicts("success", "success", "success", "success", always="either"), CLUSTER_EITHER,
    ),
    Fault("cut-before", "lost", "the connection is cut before the effect", {"cut": "before"}, PASSES, FOLLOWED),
    Fault(
        "cut-after", "lost", "the connection is cut after the effect", {"cut": "after"},
        Verdicts("success", "success", "success", "success", always="either"), CLUSTER_EITHER,
    ),
    Fault(
        "slow", "other", "a slow first byte, within the timeout", {"delay": TIMEOUT / 3},
        Verdicts("success", "success", "success", "success", always="success"),
        replace(FOLLOWED, always="success"),
        silent=True,
    ),
    Fault(
        "hang", "lost", "no answer within the timeout", {"delay": LATE}, LATE_ORDER, CLUSTER_EITHER, silent=True,
    ),
    Fault(
        "dripping", "lost", "a body that arrives byte by byte, beyond the timeout", {"drip": TIMEOUT / 10},
        Verdicts("success", "success", "success", "success", always="either"),
        replace(CLUSTER_EITHER, follow=None),
        silent=True,
    ),
    Fault(
        "unknown-field", "other", "an unknown extra field", {"odd": "more"},
        _malformed(), replace(FOLLOWED, always="success"),
    ),
    Fault(
        "null-lists", "other", "null instead of a list inside an object", {"odd": "null-lists"},
        _malformed("either", "either"), GUESSING,
    ),
    Fault(
        "null-list", "other", "null instead of the list, with a total above zero", {"odd": "null-list"},
        _malformed("success", "error"), "Kubernetes lists have no total; null counts as an empty list, for whose objects the modules wait",
    ),
    Fault(
        "moved-page", "other", "a second page that changes while it is read", {"odd": "moved-page"},
        Verdicts("success"), "all pages of a Kubernetes list are of one moment; an expired page has its own row", page_size=2,
    ),
    Fault(
        "expired-page", "other", "410, the list's next page has expired",
        {**_status(410, "The provided continue parameter is too old"), "path": "continue="},
        "pages of the Metal API do not expire", Verdicts("success"), page_size=1,
    ),
    *(
        Fault(f"without-{name}", "other", f"a missing field: {name}", {"without": name}, _malformed("either", "either"), KUBERNETES)
        for name in ("id", "hostname", "tags", "state", "plan", "metro", "meta", "ip_addresses", "href", "description")
    ),
    *(
        Fault(f"without-{name}", "other", f"a missing field: {name}", {"without": name}, METAL, GUESSING)
        for name in ("items", "metadata", "spec", "status", "conditions", "resourceVersion", "uid")
    ),
]  # fmt: skip
