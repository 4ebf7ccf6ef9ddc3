# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of the Metal API, on packet-python; the only importer of it, and the only HTTP client of the API.

packet-python 1.44.3 sends everything through ``Manager.call_api``, with https only, a new connection each time, no time limit, no retry
and one page of most lists. A subclass overrides that method, so the rules below apply to all methods; the collection uses the narrower
methods :meth:`MetalClient.read`, :meth:`~MetalClient.read_list`, :meth:`~MetalClient.write` and :meth:`~MetalClient.delete`.

Rules, each in one place here:

- A call that was rate limited (429) is always repeated: it had no effect.
- A connection that could not be made is always tried again: nothing was sent.
- 5xx, a lost connection and an unreadable answer are repeated for reads and deletes. Of any other write the effect is unknown then:
  :class:`LostAnswerError`, and the caller reads the current state before it tries again.
- In check mode a write does not leave the process.
- Every request passes the gate of its module, if that has one: it is sent only while the playbook runs, and a write only with the lock.
- A create is not repeated here, since its pause may have been long: after :class:`PausedError` the caller reads again before the next try.
- The token is in no error and no log.
"""

from __future__ import annotations

import email.utils
import json
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn, Protocol
from urllib.parse import parse_qsl, urlsplit

from ..base.argspec import out_of_range
from ..base.errors import (
    AnyError,
    CollectionError,
    DeniedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    PausedError,
    RateLimitedError,
    ReadOnlyError,
    ServerError,
    UnreachableError,
    UnreadableError,
    ValidationError,
)
from ..base.identifiers import SEGMENT, UUID
from ..base.metal_answers import NotJsonError, decoded, number, shaped
from ..base.outage import Outage
from ..base.play import boot_time
from ..base.printable import printable
from ..base.time_limit import TimeLimit, watch

LIBRARY_ERROR: str | None = None
"""Traceback of the import when packet-python (or requests, which it brings) is missing, for ``missing_required_lib``."""
try:
    import requests
    from packet import Manager
except ImportError:  # reported by the module, with the name of what to install
    LIBRARY_ERROR = traceback.format_exc()
    Manager = object

COLLECTION_VERSION = "0.1.0"

PAGE_SIZE = 1000
"""The most one page may hold (vendor's OpenAPI text: ``per_page`` 1 to 1000, default 10)."""

PAGED = frozenset(
    {
        "devices",
        "projects",
        "organizations",
        "events",
        "hardware-reservations",
        "invitations",
        "memberships",
        "users",
        "licenses",
        "metal-gateways",
        "connections",
        "payment-methods",
        "ips",
    }
)
"""Last path segments of the lists that come in pages (vendor's OpenAPI text); the others have no page parameters."""

READS_BY_POST = frozenset({"capacity/metros"})
"""Queries that the API accepts as POST because they have a body. They change nothing, so check mode sends them."""

READING = frozenset({"GET", "DELETE"})
"""Idempotent methods, which may be repeated after a lost answer."""

MAX_PAUSE = 60.0
SHORT_PAUSE = 5.0
"""Seconds that may pass between the read that found nothing and the create."""
MAX_PAGES = 1000
"""Pages of one list: a million objects, or ten thousand with ten to a page."""
LIST_TIME = 60
"""Time limit of a list, in call timeouts: half an hour by default."""
LONGEST_SENTENCE = 500
MOST_SENTENCES = 20
"""Limits of the error texts of an answer, in characters and texts."""
MAX_CONNECT_ATTEMPTS = 5
"""Tries without a connection, fewer than after server errors: about eight seconds, enough for a restart."""


class Gate(Protocol):
    """Checks before the requests of a module are sent; each method may raise an error."""

    def before_request(self) -> None:
        """Before every request, and every try of it."""

    def before_write(self, *, paused: bool) -> None:
        """Before every try of a request that may change something; ``paused``: the client has slept since the call began."""


@dataclass(frozen=True)
class Answer:
    """One readable answer. ``data`` is the JSON value, None for an empty body."""

    status: int
    data: Any
    request_id: str | None


class Pace:
    """Pauses between calls by the API's rate limit; shared by all threads of a client.

    Headers as packngo reads them: ``X-RateLimit-Limit`` calls in a window, ``X-RateLimit-Remaining`` of them left until
    ``X-RateLimit-Reset`` (seconds since 1970). Once three quarters of the window's calls are used, the remaining calls are spread over the
    remaining time instead of being refused. Other clients may use the same token, so a 429 is still possible.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._limit = 0.0
        self._left = 0.0
        self._ends = 0.0

    def note(self, headers: Mapping[str, str]) -> None:
        """Read the rate limit headers of an answer, if it has them."""
        try:
            limit, left = _header(headers, "X-RateLimit-Limit"), _header(headers, "X-RateLimit-Remaining")
            ends = _header(headers, "X-RateLimit-Reset")
        except (KeyError, ValueError):
            return
        if ends > 1e9:
            # By the API's clock, which may differ from this computer's.
            ends -= _date(headers) or time.time()
        with self._lock:
            self._limit, self._left = limit, left
            self._ends = self._now() + min(MAX_PAUSE, max(0.0, ends))

    def pause(self) -> float:
        """Return the seconds to wait before the next call, and count that call."""
        with self._lock:
            time_left = self._ends - self._now()
            if time_left <= 0 or self._limit <= 0 or self._left > self._limit / 4:
                return 0.0
            self._left = max(0.0, self._left - 1)
            return time_left / (self._left + 1)


@cache
def _adapter_class() -> Any:
    """Return an adapter for ``requests`` whose connections, also through a proxy, are known to the time limit of their call."""

    class Adapter(requests.adapters.HTTPAdapter):  # type: ignore[misc, unused-ignore]  # typed where stubs are installed
        def init_poolmanager(self, *arguments: Any, **more: Any) -> None:
            super().init_poolmanager(*arguments, **more)
            watch(self.poolmanager)

        def proxy_manager_for(self, proxy: str, **more: Any) -> Any:
            known = proxy in self.proxy_manager
            manager = super().proxy_manager_for(proxy, **more)
            if not known:
                watch(manager)
            return manager

    return Adapter


@cache
def _session_class() -> Any:
    """Return a session for ``requests`` that ignores redirect targets: a malformed one would raise unexpected errors."""

    class Session(requests.Session):  # type: ignore[misc, unused-ignore]  # typed where stubs are installed
        def get_redirect_target(self, resp: Any) -> None:
            return None

    return Session


class MetalClient(Manager):  # type: ignore[misc]  # packet-python has no type information
    """A client for one API address and one token. Thread-safe: each thread has connections of its own.

    ``url`` is the address with its path; ``timeout`` the seconds one call may take; ``retries`` how often a call is repeated;
    ``ca_path`` a file of certificates to trust instead of the usual ones; ``proxy`` the address of a proxy, instead of the environment's;
    ``user_agent_prefix`` a prefix of the User-Agent; ``outage`` gets each request without an answer.
    Raises CollectionError for a malformed address or token.
    """

    def __init__(  # noqa: PLR0913 - the options of the fragment _metal; passed by keyword
        self,
        *,
        url: str,
        token: str,
        timeout: float = 30,
        retries: int = 8,
        read_only: bool = False,
        ca_path: str | None = None,
        proxy: str | None = None,
        user_agent_prefix: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        gate: Gate | None = None,
        outage: Outage | None = None,
    ) -> None:
        token = token.strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise CollectionError("metal_api_token must be a token: it is empty or has invalid characters")
        super().__init__(token)
        self._base = _checked_url(url)
        self._user_agent_prefix = f"{_checked_prefix(user_agent_prefix)}equinix_metal.openshift/{COLLECTION_VERSION} "
        if problem := out_of_range("metal_api_timeout", timeout):
            raise CollectionError(problem)
        self._timeout = timeout
        self._retries = max(0, retries)
        self._sleep = sleep
        self._gate = gate
        self._outage = outage or Outage("The Metal API")
        # Set for each request: REQUESTS_CA_BUNDLE and HTTPS_PROXY take precedence over a session's settings.
        self._trust: dict[str, Any] = {"verify": _checked_bundle(ca_path)} if ca_path else {}
        if proxy:
            self._trust["proxies"] = dict.fromkeys(("http", "https"), _checked_proxy(proxy))
        self._pace = Pace()
        self._threads = threading.local()
        self.read_only = read_only
        self._last_answer = ""
        self.reported_time: tuple[str | None, float] | None = None
        """The header Date of the last answer, if any, and this computer's time when it arrived."""
        self._service_time: tuple[float, float, float] | None = None
        self.meta: dict[str, Any] | None = None

    # Methods for the collection.

    def read(self, path: str, *, doing: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """GET one object. ``doing`` completes "Cannot ..." in an error. Raises MetalError."""
        answer = self._call("GET", path, params=params, doing=doing)
        return _identified(shaped(_mapping(answer, "GET", path, doing)), path)

    def read_list(
        self,
        path: str,
        key: str,
        *,
        doing: str,
        params: Mapping[str, Any] | None = None,
        keep: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """GET all pages of a list. ``key`` is its name in the answer. ``null`` entries are left out.

        ``keep`` reduces each object to its needed fields, with its ``id``: only one page at a time is complete in memory.
        """
        data, _meta = self._read_all(path, params or {}, doing, key, keep)
        # The API was seen to return null for an empty list.
        return [item for item in data.get(key) or [] if item is not None]

    def write(self, method: str, path: str, body: Any, *, doing: str, again: bool = True) -> Any:
        """POST, PUT or PATCH; returns the JSON answer, None when it is empty. Raises LostAnswerError when the effect is unknown.

        Without ``again`` a try that had no effect is not repeated here: PausedError is raised when the pause after it is over.
        """
        return self._call(method, path, body=body, doing=doing, again=again).data

    def send(self, method: str, path: str, body: Any, *, doing: str, again: bool = True) -> Answer:
        """Like :meth:`write`, but returns the complete answer: for empty answers (204)."""
        return self._call(method, path, body=body, doing=doing, again=again)

    def write_one(self, method: str, path: str, body: Any, *, doing: str, again: bool = True) -> dict[str, Any]:
        """Like :meth:`write`, but returns the object of the answer. An answer without an object counts as lost."""
        answer = self._call(method, path, body=body, doing=doing, again=again)
        if isinstance(answer.data, dict) and (item := _identified(shaped(answer.data))).get("id"):
            return item
        origin = _origin(method, path, answer.request_id)
        raise LostAnswerError(
            f"Cannot {doing}: the answer ({answer.status}) has no id ({origin}). Whether it was done is unknown",
            method=method,
            path=path,
            status=answer.status,
            request_id=answer.request_id,
        )

    def ask(self, path: str, body: Any, *, doing: str) -> dict[str, Any]:
        """POST a query that changes nothing (one of ``READS_BY_POST``); sent in check mode, repeated like a read."""
        return shaped(_mapping(self._call("POST", path, body=body, doing=doing), "POST", path, doing))

    def delete(self, path: str, *, doing: str, params: Mapping[str, Any] | None = None) -> None:
        """DELETE. Raises NotFoundError when the object does not exist (any more), also after a try whose answer was lost."""
        self._call("DELETE", path, doing=doing, params=params)

    def add_origin(self, error: AnyError) -> AnyError:
        """Add the request id of the last answer to an error that was derived from answers, and return it."""
        # Errors of calls have their own request id.
        if not isinstance(error, MetalError):
            error.add_origin(self._last_answer)
        return error

    def service_time(self, *, latest: bool = False) -> float | None:
        """Return the time of the API's clock, in seconds since 1970: the earliest possible, or the ``latest``.

        None as long as no answer had it (header Date, in whole seconds).
        """
        if self._service_time is None:
            return None
        reported, sent, received = self._service_time
        now = boot_time()
        return reported + 1 + now - sent if latest else reported + now - received

    # packet-python's methods.

    def call_api(self, method: str, type: str = "GET", params: Any = None) -> Any:
        """Send a call of packet-python: ``method`` is the path, ``type`` the verb. Returns all pages unless ``page`` is set."""
        verb = type.upper()
        path, _mark, query = method.lstrip("/").partition("?")
        doing = f"{verb} /{path}"
        if verb == "GET":
            data, self.meta = self._read_all(path, {**dict(parse_qsl(query)), **(params or {})}, doing, None)
            return data
        # The library's objects are sent by what they hold, as it does itself.
        body = json.loads(json.dumps(params, default=vars)) if params else None
        return self._call(verb, path, params=dict(parse_qsl(query)), body=body, doing=doing).data

    # Implementation.

    def _read_all(
        self,
        path: str,
        params: Mapping[str, Any],
        doing: str,
        key: str | None,
        keep: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> tuple[Any, dict[str, Any] | None]:
        """Return all pages of a list as one answer, or the answer itself when it is no list or one page was requested."""
        query = dict(params)
        origin = ""
        ends = time.monotonic() + LIST_TIME * self._timeout

        def unreadable(what: str) -> UnreadableError:
            return UnreadableError(f"Cannot {doing}: {what} ({origin})", method="GET", path=path)

        def fetch(number: int | None = None, name: str | None = key) -> dict[str, Any]:
            nonlocal origin
            if time.monotonic() > ends:
                raise unreadable(f"its pages were not all read within {LIST_TIME * self._timeout:g} seconds")
            numbered = query if number is None else {**query, "page": number}
            response = self._call("GET", path, params=numbered, doing=doing)
            origin = _origin("GET", path, response.request_id)
            answer = _mapping(response, "GET", path, doing)
            if name is not None and not isinstance(answer.get(name), (list, NoneType)):
                raise unreadable(f"the answer has no list {name!r}")
            if key is not None and answer.get(key) is not None:
                if not all(isinstance(item, (dict, NoneType)) for item in answer[key]):
                    raise unreadable(f"the list {key!r} has entries that are no objects")
                items = (None if item is None else _identified(shaped(item)) for item in answer[key])
                answer[key] = [keep(item) if keep and item is not None else item for item in items]
            return answer

        if path.rstrip("/").rpartition("/")[2] in PAGED:
            query.setdefault("per_page", PAGE_SIZE)
        # Objects that are created or deleted meanwhile move others between pages: then all pages are read again.
        for attempt in range(1 + max(2, self._retries)):
            if attempt:
                self._sleep(_backoff(attempt))
            pages = [fetch()]
            list_name = key or _list_name(pages[0])
            if "page" in query or list_name is None:
                return pages[0], _meta(pages[0])
            name = list_name
            seen = _ids(pages[0], name)
            repeated = False
            while _has_next(pages, name, query.get("per_page")) and not repeated:
                if len(pages) == MAX_PAGES:
                    raise unreadable(f"it has more than {MAX_PAGES} pages")
                pages.append(fetch(len(pages) + 1, name))
                more = _ids(pages[-1], name)
                repeated = more <= seen if more else bool(pages[-1].get(name)) and pages[-1].get(name) == pages[-2].get(name)
                seen |= more
            totals = {total for page in pages if (total := _total(page)) is not None}
            lost = [page for page in pages if page.get(name) is None and _total(page)]
            if len(totals) <= 1 and not lost and not repeated:
                break
        if lost:
            # A missing list must not count as empty: its objects would be created again.
            raise unreadable(f"the answer has no list {name!r}, though it counts {_total(lost[0])}")
        if repeated:
            raise unreadable(f"page {len(pages)} only repeats earlier pages, and the API reports more")
        if len(totals) > 1:
            # An object may have moved to a page that was read before and be missing here.
            raise unreadable(f"the list changed each of the {attempt + 1} times that its {len(pages)} pages were read")
        merged = dict(pages[0])
        merged[name] = _without_repeats(item for page in pages for item in page.get(name) or [])
        return merged, {**_meta(pages[-1]), "next": None}

    def _call(  # noqa: PLR0913 - all of it is one call; passed by keyword
        self, method: str, path: str, *, doing: str, params: Mapping[str, Any] | None = None, body: Any = None, again: bool = True
    ) -> Answer:
        """One call with all its repetitions. Raises MetalError."""
        path = _checked_path(path.lstrip("/"), doing)
        question = method == "POST" and path in READS_BY_POST
        writes = method != "GET" and not question
        if self.read_only and writes:
            raise ReadOnlyError(f"Check mode, so this was not sent: {method} /{path} (to {doing})", method=method, path=path)
        repeatable = method in READING or question
        failures = 0
        while True:
            try:
                paused = self._keep_pace(again=again) or failures > 0
                if writes and self._gate is not None:
                    self._gate.before_write(paused=paused)
                with self._outage.watched(RateLimitedError, ServerError, UnreachableError, _NotConnectedError):
                    return self._once(method, path, params, body, doing)
            except RateLimitedError as error:
                failures += 1
                if failures > self._retries:
                    raise
                pause = getattr(error, "pause", None)
                self._sleep(_backoff(failures) if pause is None else pause)
                if not again:
                    raise PausedError(error, retries=self._retries) from error
            except _NotConnectedError as error:
                failures += 1
                tries = min(self._retries, MAX_CONNECT_ATTEMPTS - 1)
                text = f"{error} (tried {failures if again else tries + 1} times). Check metal_api_url, and that the API runs"
                unreachable = UnreachableError(text, method=method, path=path)
                if failures > tries:
                    raise unreachable from error.__cause__
                self._sleep(_backoff(failures))
                if not again:
                    raise PausedError(unreachable, retries=tries) from error.__cause__
            except (ServerError, UnreachableError, UnreadableError) as error:
                if not repeatable:
                    _raise_lost(error)
                failures += 1
                if failures > self._retries or not _passing(error):
                    raise
                self._sleep(_backoff(failures))

    def _keep_pace(self, *, again: bool) -> bool:
        """Pause for the API's rate limit; returns whether the pause was long. A create is then interrupted once, to read again."""
        if not again and getattr(self._threads, "paced", False):
            self._threads.paced = False
            return True
        pause = self._pace.pause()
        if not pause:
            return False
        self._sleep(pause)
        if pause < SHORT_PAUSE:
            return False
        if not again:
            self._threads.paced = True
            problem = CollectionError("the API's rate limit delays the create")
            raise PausedError(problem, retries=self._retries, counts=False)
        return True

    def _once(self, method: str, path: str, params: Mapping[str, Any] | None, body: Any, doing: str) -> Answer:
        """One request. Raises MetalError for everything but 2xx with JSON or nothing."""
        headers = {"X-Auth-Token": self.auth_token, "User-Agent": self.user_agent, "Accept": "application/json"}
        content = None
        if self._gate is not None:
            self._gate.before_request()
        if body is not None:
            headers["Content-Type"] = "application/json"
            try:
                content = json.dumps(body, allow_nan=False).encode()
            except (ValueError, RecursionError) as problem:
                raise CollectionError(f"Cannot {doing}: the body cannot be written as JSON: {problem}") from problem
        limit = TimeLimit(self._timeout)
        sent = boot_time()
        received: list[Any] = []  # the head may arrive without the body
        try:
            with limit:
                response = self._session().request(
                    method,
                    f"{self._base}/{path}",
                    params=_query(params),
                    data=content,
                    headers=headers,
                    timeout=(min(self._timeout, 10.0), self._timeout),
                    # A redirect would carry the token to wherever it points.
                    allow_redirects=False,
                    hooks={"response": lambda response, **_more: received.append(response)},
                    **self._trust,
                )
            if limit.over:
                raise requests.exceptions.ReadTimeout
        except requests.exceptions.RequestException as problem:
            # The time limit shuts the connection down, which shows as a lost connection.
            error = requests.exceptions.ReadTimeout(problem) if limit.over else problem
            if isinstance(error, requests.exceptions.SSLError):
                advice = "If the API has a certificate of a CA of your own, set METAL_API_CA_PATH to that CA's certificate."
                raise CollectionError(self._text(f"Cannot {doing}: no trusted connection to {self._base}: {error}. {advice}")) from error
            if _never_sent(error):
                raise _NotConnectedError(self._text(f"Cannot {doing}: no connection to {self._base}: {_reason(error)}")) from error
            request_id = received[0].headers.get("X-Request-Id") if received else None
            call = f"{method} /{path}" + (f" (request {request_id})" if request_id else "")
            if isinstance(error, requests.exceptions.Timeout):
                text = f"Cannot {doing}: {call} was not answered in full within {self._timeout:g} seconds (metal_api_timeout)"
            else:
                text = f"Cannot {doing}: the connection was lost during {call}: {_reason(error)}"
            raise UnreachableError(self._text(text), method=method, path=path, request_id=request_id) from error
        except ValueError as problem:
            # Such as an unpaired surrogate.
            raise CollectionError(self._text(f"Cannot {doing}: {method} /{path} cannot be sent: {problem}")) from problem
        self.reported_time = (response.headers.get("Date"), time.time())
        if (reported := _date(response.headers)) is not None:
            self._service_time = (reported, sent, boot_time())
        return self._answer(response, method, path, doing)

    def _answer(self, response: Any, method: str, path: str, doing: str) -> Answer:
        self._pace.note(response.headers)
        status = int(response.status_code)
        request_id = response.headers.get("X-Request-Id")
        data: Any = None
        readable = True
        if response.content.strip():
            try:
                data = decoded(response.content)
            except NotJsonError:
                readable = False
        elif method == "GET" or path in READS_BY_POST:
            readable = False
        origin = _origin(method, path, request_id)
        self._last_answer = origin
        ok = 200 <= status < 300
        if ok and readable:
            return Answer(status, data, request_id)

        errors = _sentences(data)
        reason = "; ".join(errors) if errors else (response.reason or "no error message")
        facts: dict[str, Any] = {"method": method, "path": path, "status": status, "errors": [self._text(e) for e in errors]}
        facts["request_id"] = request_id

        def text(what: str) -> str:
            return self._text(f"Cannot {doing}: {what} ({origin})")

        if status == 429:
            limited = RateLimitedError(text(f"the API returned {status}, too many calls, {self._retries + 1} times"), **facts)
            limited.pause = _retry_after(response.headers)  # type: ignore[attr-defined]  # read once, by _call
            raise limited
        if status >= 500 and status != 501:
            raise ServerError(text(f"the API returned {status}: {reason}"), **facts)
        if not readable or (status == 404 and data is None):
            kind = response.headers.get("Content-Type", "no content type")
            what = f"the answer ({status}, {kind}, {len(response.content)} bytes) is not the JSON of a Metal API; check metal_api_url"
            raise UnreadableError(text(what), **facts)
        if status == 401:
            raise DeniedError(text(f"the API does not accept the token (metal_api_token), it returned {status}: {reason}"), **facts)
        if status == 403:
            raise DeniedError(text(f"the token may not do this, the API returned {status}: {reason}"), **facts)
        if status == 404:
            hint = ". Check project_id, and that the token may read it" if path.startswith("projects/") else ""
            raise NotFoundError(text(f"the API returned {status}: {reason}") + hint, **facts)
        if 300 <= status < 400:
            raise UnreadableError(text(f"the API returned {status}, a redirect, which is not followed; check metal_api_url"), **facts)
        if 400 <= status < 500:
            raise ValidationError(text(f"the API returned {status}: {reason}"), **facts)
        raise MetalError(text(f"the API returned {status}: {reason}"), **facts)

    def _session(self) -> Any:
        """Return this thread's session: ``requests`` does not guarantee that threads may share one."""
        session = getattr(self._threads, "session", None)
        if session is None:
            session = self._threads.session = _session_class()()
            # Credentials come from the options alone, never from a .netrc.
            session.auth = lambda request: request
            for scheme in ("http://", "https://"):
                session.mount(scheme, _adapter_class()())
        return session

    def _text(self, text: str) -> str:
        return text.replace(str(self.auth_token), "********")


class _NotConnectedError(Exception):
    """The request was not sent: no connection could be made."""


def _checked_url(url: str) -> str:
    """Return the base address without a trailing slash. Raises CollectionError."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    except ValueError:
        usable = False
    if "@" in url:
        # Not shown, since it may have a password.
        raise CollectionError("metal_api_url must be an address without user and password")
    if not usable:
        raise CollectionError(f"metal_api_url must be an address such as https://host[:port]/path, not {url!r}")
    return url.strip().rstrip("/")


def _checked_bundle(path: str) -> str:
    try:
        bundle = Path(path).expanduser()
        there = bundle.exists()
    except (OSError, ValueError, RuntimeError):
        there = False  # an invalid file name or home directory
    if not there:
        raise CollectionError(f"metal_api_ca_path does not exist: {path}")
    return str(bundle)


def _checked_proxy(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https", "socks5", "socks5h") or not parts.hostname:
        # Not shown, since it may have a password.
        raise CollectionError("metal_api_proxy must be the address of a proxy such as http://host:port")
    return url.strip()


def _checked_prefix(prefix: str | None) -> str:
    prefix = (prefix or "").strip()
    if not prefix.isascii() or (prefix and not prefix.isprintable()):
        raise CollectionError("metal_ua_prefix must be one line of ASCII characters")
    return f"{prefix} " if prefix else ""


def _checked_path(path: str, doing: str) -> str:
    """Return the path. Raises CollectionError for ``..``, ``?``, ``#`` or an empty part: ids of options are checked before, ids of
    answers only here.
    """
    if not all(SEGMENT.fullmatch(part) for part in path.split("/")):
        raise CollectionError(f"Cannot {printable(doing)}: '{printable(path)}' is not a path of the Metal API: an id in it is malformed")
    return path


def _query(params: Mapping[str, Any] | None) -> dict[str, str]:
    """Return query parameters as the API writes them: lists by comma, true and false in lower case, nothing for None."""
    query: dict[str, str] = {}
    for name, value in (params or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            query[name] = "true" if value else "false"
        elif isinstance(value, (list, tuple, set)):
            query[name] = ",".join(str(item) for item in value)
        else:
            query[name] = str(value)
    return query


def _origin(method: str, path: str, request_id: str | None) -> str:
    """Return method, path and request id of a call, for the vendor's support."""
    return f"{method} /{path}" + (f", request {request_id}" if request_id else "")


def _mapping(answer: Answer, method: str, path: str, doing: str) -> dict[str, Any]:
    if isinstance(answer.data, dict):
        return answer.data
    text = f"Cannot {doing}: the answer is not an object ({_origin(method, path, answer.request_id)})"
    raise UnreadableError(text, method=method, path=path, status=answer.status, request_id=answer.request_id)


def _identified(item: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return the object with its id, which an answer may leave out: from its ``href`` or the path it was read by."""
    href = item.get("href")
    last = (href if isinstance(href, str) and "/" in href else path).rstrip("/").rpartition("/")[2]
    return item if item.get("id") or not UUID.fullmatch(last.lower()) else {**item, "id": last}


def _ids(page: Mapping[str, Any], name: str) -> set[str]:
    identities = [item.get("id") for item in page.get(name) or [] if isinstance(item, dict)]
    return {identity for identity in identities if isinstance(identity, str)}


def _total(page: Mapping[str, Any]) -> int | None:
    """Return the number of entries of all pages, None when the API does not count them."""
    total = _meta(page).get("total")
    return total if isinstance(total, int) and not isinstance(total, bool) else None


def _meta(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page's ``meta`` with the key ``next``, which packet-python requires and the last page may leave out."""
    meta = page.get("meta")
    return {"next": None, **meta} if isinstance(meta, dict) else {"next": None}


def _list_name(page: Mapping[str, Any]) -> str | None:
    """Return the key of the only list in a paged answer, None when the answer is no page of a list."""
    if not isinstance(page.get("meta"), dict):
        return None
    names = [name for name, value in page.items() if isinstance(value, list)]
    return names[0] if len(names) == 1 else None


def _has_next(pages: Sequence[Mapping[str, Any]], name: str, per_page: Any) -> bool:
    """Return whether there is another page, by ``next``, page numbers, the total, or a full page."""
    last = pages[-1]
    items = last.get(name) or []
    meta = last.get("meta")
    if not items or not isinstance(meta, dict):
        return False
    if meta.get("next"):
        return True
    if isinstance(meta.get("last_page"), int) and isinstance(meta.get("current_page"), int):
        return bool(meta["current_page"] < meta["last_page"])
    if (total := _total(last)) is not None:
        return sum(len(page.get(name) or []) for page in pages) < total
    return "next" not in meta and len(items) == per_page


def _without_repeats(items: Iterator[Any]) -> list[Any]:
    """Return each object once: one that moved to a later page meanwhile is listed twice."""
    seen: set[str] = set()
    kept = []
    for item in items:
        identity = item.get("id") if isinstance(item, dict) else None
        if isinstance(identity, str):
            if identity in seen:
                continue
            seen.add(identity)
        kept.append(item)
    return kept


def _sentences(data: Any) -> list[str]:
    """Return the error texts of an answer. Usually ``{"errors": [text]}`` or ``{"error": text}`` (vendor's OpenAPI text)."""
    if not isinstance(data, dict):
        return []
    errors = data.get("errors") or data.get("error") or data.get("message") or []
    if isinstance(errors, Mapping):
        errors = [f"{name} {value}" for name, value in errors.items()]
    if not isinstance(errors, list):
        errors = [errors]
    return [printable(error if isinstance(error, str) else json.dumps(error), LONGEST_SENTENCE) for error in errors[:MOST_SENTENCES]]


def _header(headers: Mapping[str, str], name: str) -> float:
    """Return a header's finite number. Raises KeyError and ValueError."""
    value = number(float(headers[name]))
    if value is None:
        raise ValueError(name)
    return value


def _date(headers: Mapping[str, str]) -> float | None:
    """Return the header Date of an answer in seconds since 1970, None when it is missing or malformed."""
    try:
        return email.utils.parsedate_to_datetime(headers["Date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to pause by Retry-After (seconds or a date), 1 to 60; None when it is missing or malformed."""
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(MAX_PAUSE, max(1.0, seconds))


def _backoff(failures: int) -> float:
    """Return the seconds to pause after this number of failures: doubled each time, with jitter to spread concurrent clients."""
    doubled: float = 0.5 * 2 ** min(failures - 1, 10)
    return min(30.0, doubled) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing


def _passing(error: MetalError) -> bool:
    """Return whether a failed read may succeed later. An HTML page with 200 comes from a gateway, so it may."""
    return not isinstance(error, UnreadableError) or (error.status is not None and 200 <= error.status < 300)


def _raise_lost(error: MetalError) -> NoReturn:
    if isinstance(error, UnreadableError) and (error.status is None or error.status >= 300):
        raise error
    lost = LostAnswerError(f"{error.message}. Whether it was done is unknown", **error.details)
    lost.late = error.status == 504 or isinstance(error.__cause__, requests.exceptions.Timeout)
    raise lost from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, as requests and urllib3 nest them."""
    seen: set[int] = set()
    pending: list[BaseException] = [error]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        nested = [getattr(current, "reason", None), current.__cause__, *getattr(current, "args", ())]
        pending.extend(item for item in nested if isinstance(item, BaseException))


def _never_sent(error: Exception) -> bool:
    """Return whether no connection was made, so that the request had no effect."""
    return any(
        isinstance(cause, requests.exceptions.ConnectTimeout)
        or type(cause).__name__ in ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ConnectionRefusedError")
        for cause in _causes(error)
    )


def _reason(error: Exception) -> str:
    """Return the innermost message: the outer ones are mostly names of Python objects."""
    texts = [cause.strerror or str(cause) if isinstance(cause, OSError) else str(cause) for cause in _causes(error)]
    return min((text for text in texts if text), key=len, default=type(error).__name__)
