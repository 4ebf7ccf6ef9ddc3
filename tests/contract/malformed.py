"""Malformed answers: those of one successful call of a module are recorded and replayed with one part replaced.

``Recorder`` is a proxy of the sandbox. ``Replay`` answers as it did, at once and without state, so that
hundreds of malformed answers can be tried while one device would be provisioned.
"""

import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx

Path = tuple[str | int, ...]
"""Names and indexes from the whole answer to a part of it."""

PASSED_ON = ("Content-Type", "X-Request-Id", "Date", "Retry-After")
MARK = "a5f3-spoilt-part"

VALUES: dict[str, str] = {
    "null": "null",
    "true": "true",
    "number": "7",
    "negative": "-1",
    "fraction": "0.5",
    "huge": "9" * 400,
    "too many digits": "9" * 5000,
    "infinite": "1e400",
    "not a number": "NaN",
    "no text": '""',
    "text": '"odd"',
    "lines": r'"one\ntwo\u001b[31m\u0000\u2028three"',
    "half a character": r'"\ud800"',
    "long": f'"{"x" * 70_000}"',
    "no list": "[]",
    "numbers": "[7, 8]",
    "texts": '["a", "b"]',
    "lists": "[[], [[]]]",
    "nulls": "[null, null]",
    "objects": '[{}, {"id": [1], "odd": 1}]',
    "no object": "{}",
    "object": '{"id": {"a": 1}, "odd": ["list"]}',
    "nested": "[" * 30_000 + "]" * 30_000,
    "nested objects": '{"a":' * 30_000 + "1" + "}" * 30_000,
    "rather nested": "[" * 800 + "]" * 800,
}
"""What a part of an answer is replaced by, as JSON."""

DIGITS = "9" * 400
LIMIT = {"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"}
HEADERS: dict[str, Mapping[str, str]] = {
    **{
        f"{name}: {value[:8]}": {**LIMIT, name: value}
        for name in LIMIT
        for value in (DIGITS, "-1", "nan", "inf", "-inf", "1e308", "", "odd")
    },
    **{
        f"Date: {value[:12]}": {**LIMIT, "X-RateLimit-Reset": "2e9", "Date": value}
        for value in ("", "odd", "Mon, 99 Foo 99999 99:99:99 +9999", DIGITS)
    },
    "Content-Type": {"Content-Type": "application/json; charset=odd"},
    "UTF-16": {"Content-Type": "application/json; charset=utf-16"},
    "gzip": {"Content-Encoding": "gzip"},
    "X-Request-Id": {"X-Request-Id": "\u00ff\t" * 200},
}
"""Headers beside a good answer."""

_MOMENTS = (DIGITS, "-1", "nan", "inf", "", "odd", "0x5", "Mon, 99 Foo 99999 99:99:99 +9999")
_PLACES = ("", "/", "http://[::1", "http://[odd]/", "http://a:99999999/", "\u00ff\u00fe", "//", "odd:odd", "http://" + "a." * 3000)
REFUSALS: dict[str, tuple[int, Mapping[str, str], str]] = {
    **{f"429 after {value[:8] or 'nothing'}": (429, {"Retry-After": value}, '{"errors": ["slow down"]}') for value in _MOMENTS},
    **{f"redirect to {value[:14]}": (302, {"Location": value}, "") for value in _PLACES},
    **{f"{status}": (status, {}, "") for status in (201, 202, 204, 206, 299, 304, 399, 418, 451, 499, 501, 599)},
}
"""Status, headers and body instead of a good answer."""

ERRORS: dict[str, str] = {
    **{f"422 {name}": value for name, value in VALUES.items()},
    **{f"422 errors {name}": f'{{"errors": {value}}}' for name, value in VALUES.items()},
    **{f"422 error {name}": f'{{"error": {value}}}' for name, value in VALUES.items()},
    **{f"422 errors list of {name}": f'{{"errors": [{value}]}}' for name, value in VALUES.items()},
}
"""Bodies of a refusal."""


@dataclass(frozen=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body) if self.body else None


Key = tuple[str, str]
"""Method, and path with its query; of an order also the device."""


@dataclass(frozen=True)
class Spoil:
    """What becomes of the answers to one request: ``path`` of them is ``value``, they have ``headers``, or they are a ``refusal``."""

    key: Key
    name: str
    path: Path | None = None
    value: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    refusal: tuple[int, Mapping[str, str], str] | None = None

    def of(self, answer: Answered) -> Answered | None:
        """Return the answer with its part replaced; None if it has no such part."""
        if self.refusal is not None:
            status, headers, body = self.refusal
            return Answered(status, {"Content-Type": "application/json", **headers}, body.encode())
        if self.path is None:
            return Answered(answer.status, {**answer.headers, **self.headers}, answer.body)
        data = answer.data
        if not self.path:
            return Answered(answer.status, answer.headers, self.value.encode())
        holder = data
        try:
            for name in self.path[:-1]:
                holder = holder[name]
            holder[self.path[-1]]
        except (KeyError, IndexError, TypeError):
            return None
        holder[self.path[-1]] = MARK
        return Answered(answer.status, answer.headers, json.dumps(data).replace(f'"{MARK}"', self.value).encode())

    def __str__(self) -> str:
        where = "" if self.path is None else " " + (".".join(map(str, self.path)) or "all")
        return f"{self.key[0]} {re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}', 'ID', self.key[1])}{where}: {self.name}"


class Recording:
    """The answers to each request, in their order."""

    def __init__(self) -> None:
        self.answers: dict[Key, list[Answered]] = defaultdict(list)
        self.lock = threading.Lock()

    def add(self, key: Key, answer: Answered) -> None:
        with self.lock:
            self.answers[key].append(answer)

    def parts(self) -> Iterator[tuple[Key, Path]]:
        """Every part of the answers to every request: of a list its first entry."""
        for key, answers in self.answers.items():
            yield from ((key, path) for path in dict.fromkeys(path for each in answers for path in _paths(each.data)))

    def spoilt(self) -> Iterator[Spoil]:
        """All that can become of these answers."""
        for key, path in self.parts():
            for name, value in VALUES.items():
                yield Spoil(key, name, path, value)
        for key in self.answers:
            for name, headers in HEADERS.items():
                yield Spoil(key, name, headers=headers)
            for name, refusal in REFUSALS.items():
                yield Spoil(key, name, refusal=refusal)
            for name, body in ERRORS.items():
                yield Spoil(key, name, refusal=(422, {}, body))


def _paths(value: Any, above: Path = ()) -> Iterator[Path]:
    yield above
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _paths(item, (*above, name))
    elif isinstance(value, list) and value:
        yield from _paths(value[0], (*above, 0))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.address}/metal/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed the connection."""

    def answer(self, key: Key, headers: Message, body: bytes) -> Answered:
        raise NotImplementedError

    @contextmanager
    def serving(self) -> Iterator[Any]:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()


class Recorder(_Server):
    """Passes on to the Metal API at ``url``."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._beyond = httpx.Client(base_url=url, timeout=30, verify=False)  # noqa: S501 - loopback
        self.recording = Recording()

    def answer(self, key: Key, headers: Message, body: bytes) -> Answered:
        sent = {name: headers[name] for name in ("X-Auth-Token", "Content-Type") if name in headers}
        path = key[1].removeprefix("/metal/v1/").partition("#")[0]
        came = self._beyond.request(key[0], path, headers=sent, content=body)
        kept = {name: came.headers[name] for name in PASSED_ON if name in came.headers}
        answered = Answered(came.status_code, kept, came.content)
        self.recording.add(key, answered)
        return answered


@dataclass
class Met:
    """How many requests a call sent, and how many of them had a malformed answer."""

    requests: int = 0
    hits: int = 0


class Replay(_Server):
    """Answers as was recorded, the last answer to a request again and again."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording
        self._spoil: Spoil | None = None
        self._spoils: Sequence[Spoil | None] = []
        self._asked: Counter[Key] = Counter()
        self._lock = threading.Lock()
        self.met: list[Met] = []

    def load(self, spoils: Sequence[Spoil | None]) -> None:
        """What becomes of the answers of the next calls: each asks for ``/begin/<number>`` first, or it is said here."""
        self._spoils, self.met = spoils, []

    def begin(self, number: int) -> None:
        """From the beginning of the recording."""
        with self._lock:
            assert number == len(self.met)
            self._spoil = self._spoils[number]
            self._asked.clear()
            self.met.append(Met())

    def answer(self, key: Key, headers: Message, body: bytes) -> Answered:
        if key[1].startswith("/begin/"):
            self.begin(int(key[1].rpartition("/")[2]))
            return Answered(200, {}, b"")
        with self._lock:
            number = self._asked[key]
            self._asked[key] += 1
            self.met[-1].requests += 1
            answers: Sequence[Answered] = self._recording.answers.get(key) or [_NOT_FOUND]
            answer = answers[min(number, len(answers) - 1)]
            if self._spoil is None or self._spoil.key != key:
                return answer
            changed = self._spoil.of(answer)
            self.met[-1].hits += changed is not None
            return changed or answer


def _ordered(body: bytes) -> str:
    """Return which device a request orders, as a fragment: several are ordered at the same time, each time in another order."""
    hostname = json.loads(body).get("hostname") if body.startswith(b"{") else None
    return f"#{hostname}" if hostname else ""


_NOT_FOUND = Answered(404, {"Content-Type": "application/json"}, b'{"errors": ["Not found"]}')


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        key = (self.command, parts.path + (f"?{parts.query}" if parts.query else "") + _ordered(body))
        answered = self.server.answer(key, self.headers, body)
        self.send_response_only(answered.status)
        for name, value in answered.headers.items():
            self.send_header(name, value)
        bodiless = answered.status in (204, 304)
        if not bodiless:
            self.send_header("Content-Length", str(len(answered.body)))
        self.end_headers()
        if not bodiless:
            self.wfile.write(answered.body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - names of the library

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
