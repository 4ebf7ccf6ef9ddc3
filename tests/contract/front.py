"""Inject faults: the sandbox does it for the Metal API, a proxy with the same faults for the API of a cluster."""

from __future__ import annotations

import io
import json
import re
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
from websocket import ABNF, frame_buffer

from sandbox.metal.faults import Fault, Faults
from sandbox.testing.process import RunningSandbox
from tests.cluster.control_plane import ControlPlane

BESIDE = "127.64.250.2"
"""The proxy's address: the cluster's API is reached there by its own name, with a certificate of its own CA."""


class MetalFront:
    """The Metal API of a sandbox."""

    def __init__(self, sandbox: RunningSandbox) -> None:
        self._sandbox = sandbox

    def meet(self, fault: Mapping[str, Any]) -> None:
        self._sandbox.call("POST", "faults", json=dict(fault))

    def hits(self) -> int:
        return sum(max(0, each["hits"] - each["skip"]) for each in self._sandbox.call("GET", "faults")["faults"])

    def well(self) -> None:
        self._sandbox.call("DELETE", "faults")

    def journal(self) -> list[dict[str, Any]]:
        return self._sandbox.journal()

    def forget(self) -> None:
        self._sandbox.forget()


class ClusterFront(ThreadingHTTPServer):
    """A proxy before a cluster's API: every request in a journal, and the sandbox's faults."""

    daemon_threads = True

    def __init__(self, cluster: ControlPlane) -> None:
        super().__init__((BESIDE, 0), _Request)
        self.address = f"{BESIDE}:{self.server_address[1]}"
        self._faults = Faults()
        self._journal: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._streams: list[threading.Event] = []
        self._events: list[bytes] = []
        self._trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._trust.load_cert_chain(cluster.directory / "serving.crt", cluster.directory / "serving.key")
        self.identity = beyond = ssl.create_default_context(cafile=str(cluster.directory / "ca.crt"))
        beyond.load_cert_chain(*cluster.admin)
        self.beyond = httpx.Client(base_url=cluster.url, verify=beyond, timeout=30, limits=httpx.Limits(max_connections=None))

    @contextmanager
    def serving(self) -> Iterator[ClusterFront]:
        threading.Thread(target=self.serve_forever, name="cluster front", daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            self.beyond.close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the connection's own thread: a handshake nobody finishes must not hold up the others.
        super().finish_request(self._trust.wrap_socket(request, server_side=True), client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed the connection, which most faults cause."""

    def fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            return self._faults.for_request(method, path.partition("?")[0], path)

    def spoil(self, method: str, path: str, answer: bytes) -> tuple[Fault | None, bytes]:
        """The answer as a fault wants it, and which; the same bytes when none does."""
        with self._lock:
            if not any(each.rewrites for each in self._faults.all()):
                return None, answer
            fault, changed = self._faults.for_answer(method, path.partition("?")[0], path, json.loads(answer))
        return fault, answer if fault is None else json.dumps(changed).encode()

    def upgrade(self, head: bytes) -> tuple[int, bytes, bytes]:
        """Send the head of a request that begins a WebSocket; return the status, the head of the answer, and all that follows it.

        The server's last message closes the WebSocket: it then waits for the client to close the connection.
        """
        url = urlsplit(str(self.beyond.base_url))
        assert url.hostname
        with (
            socket.create_connection((url.hostname, url.port or 443), timeout=30) as plain,
            self.identity.wrap_socket(plain, server_hostname=url.hostname) as stream,
        ):
            stream.sendall(head)
            answer = stream.makefile("rb")
            begin = b"".join(iter(answer.readline, b"\r\n")) + b"\r\n"
            status = int(begin.split(b" ", 2)[1])
            if status != 101:
                return status, begin, answer.read(int(re.findall(rb"(?i)content-length: (\d+)", begin)[0]))
            return status, begin, b"".join(_formatted(opcode, content) for opcode, content in _frames(answer))

    def spoil_messages(self, path: str, messages: bytes) -> tuple[Fault | None, bytes]:
        """The messages of a command in a pod as a fault wants them: JSON in its output and its status. The same when none does."""
        met: Fault | None = None
        spoilt = b""
        for opcode, content in _frames(io.BytesIO(messages)):
            if opcode == ABNF.OPCODE_BINARY and _is_json(content[1:]):
                fault, changed = self.spoil("GET", path, content[1:])
                met = met or fault
                spoilt += _formatted(opcode, content[:1] + changed)
            else:
                spoilt += _formatted(opcode, content)
        return met, spoilt if met else messages

    def note(self, method: str, path: str, status: int, request_id: str, fault: Fault | None) -> None:
        entry = {"time": time.time(), "method": method, "path": path, "status": status, "request_id": request_id}
        with self._lock:
            self._journal.append({**entry, "fault": fault.id if fault else None})

    def meet(self, fault: Mapping[str, Any]) -> None:
        with self._lock:
            self._faults.add(dict(fault))

    def hits(self) -> int:
        with self._lock:
            return sum(max(0, each.hits - each.skip) for each in self._faults.all())

    def well(self) -> None:
        with self._lock:
            self._faults.remove()

    def silence_watches(self) -> int:
        """From now on nothing comes through the watches there are, and they stay open: as behind a proxy that forgot them. How many."""
        with self._lock:
            streams = [silent for silent in self._streams if not silent.is_set()]
        for silent in streams:
            silent.set()
        return len(streams)

    def watches(self) -> int:
        """How many watches are open that are not silent."""
        with self._lock:
            return sum(not silent.is_set() for silent in self._streams)

    def begin_watch_with(self, event: Mapping[str, Any]) -> None:
        """Let the next watch begin with this event."""
        with self._lock:
            self._events.append(json.dumps(event).encode())

    def next_event(self) -> bytes | None:
        with self._lock:
            return self._events.pop(0) if self._events else None

    @contextmanager
    def streaming(self) -> Iterator[threading.Event]:
        """A watch that is open; the event is set when it is to be silent."""
        silent = threading.Event()
        with self._lock:
            self._streams.append(silent)
        try:
            yield silent
        finally:
            with self._lock:
                self._streams.remove(silent)

    def journal(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._journal)

    def forget(self) -> None:
        with self._lock:
            self._journal.clear()


Front = MetalFront | ClusterFront
"""The side of a service that a module speaks to: ``meet`` a fault, its ``hits``, ``well`` without, the ``journal`` since ``forget``."""


class _Request(BaseHTTPRequestHandler):
    """One connection of a client, request by request."""

    protocol_version = "HTTP/1.1"
    server: ClusterFront
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._pass_on()

    def do_PATCH(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def do_DELETE(self) -> None:
        self._pass_on()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the journal has every request."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault(self.command, self.path)
        if fault is not None and fault.delay:
            time.sleep(fault.delay)
        if fault is not None and fault.cut == "before":
            self.server.note(self.command, self.path, 0, "", fault)
            self.close_connection = True
            return
        if fault is not None and fault.status is not None:
            said = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            request_id = str(uuid.uuid4())
            self.server.note(self.command, self.path, fault.status, request_id, fault)
            headers = {"Content-Type": "application/json", "Audit-Id": request_id, **fault.headers}
            self._answer(fault.status, headers, said.encode())
            return
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self._upgrade(fault)
            return
        headers = {name: self.headers[name] for name in ("Accept", "Content-Type") if name in self.headers}
        # A watch whose reader has gone is noticed when there is an event to send, or when it ends: so it ends soon.
        path = re.sub(r"timeoutSeconds=\d+", "timeoutSeconds=5", self.path)
        with self.server.beyond.stream(self.command, path, content=body, headers=headers) as answer:
            if "watch=true" in self.path and answer.status_code == 200:
                self._stream(answer, fault)
                return
            content = answer.read()
        if fault is None and answer.status_code < 300:
            fault, content = self.server.spoil(self.command, self.path, content)
        self.server.note(self.command, self.path, answer.status_code, answer.headers.get("Audit-Id", ""), fault)
        kept = {name: answer.headers[name] for name in ("Content-Type", "Audit-Id", "Date") if name in answer.headers}
        self._answer(answer.status_code, kept, content, fault)

    def _upgrade(self, fault: Fault | None) -> None:
        """A command in a pod over a WebSocket: passed on when it has ended, since it takes no input and ends by itself."""
        self.close_connection = True
        lines = [f"{name}: {value}\r\n" for name, value in self.headers.items() if name.lower() != "authorization"]
        head = f"{self.command} {self.path} HTTP/1.1\r\n{''.join(lines)}\r\n"
        status, begin, rest = self.server.upgrade(head.encode())
        if fault is None and status == 101:
            fault, rest = self.server.spoil_messages(self.path, rest)
        self.server.note(self.command, self.path, status, "", fault)
        if fault is not None and fault.cut == "after":
            return
        self.wfile.write(begin)
        for part in [bytes([byte]) for byte in rest] if fault is not None and fault.drip else [rest]:
            self.wfile.write(part[: len(part) // 2] if fault is not None and fault.cut == "body" else part)
            time.sleep(fault.drip if fault is not None else 0)

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes, fault: Fault | None = None) -> None:
        cut = fault.cut if fault is not None else None
        if cut == "after":
            self.close_connection = True
            return
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if fault is not None and fault.drip:
            for byte in content:
                self.wfile.write(bytes([byte]))
                time.sleep(fault.drip)
            return
        self.wfile.write(content[: len(content) // 2] if cut == "body" else content)
        self.close_connection = self.close_connection or cut is not None

    def _stream(self, answer: httpx.Response, fault: Fault | None) -> None:
        """A watch: each event as it comes. ``cut`` takes it away after it was begun; "body" in the middle of its first event."""
        self.server.note(self.command, self.path, answer.status_code, answer.headers.get("Audit-Id", ""), fault)
        self.close_connection = True
        if fault is not None and fault.cut == "after":
            return
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with self.server.streaming() as silent:
            if event := self.server.next_event():
                self._chunk(event + b"\n")
            for line in answer.iter_lines():
                if silent.is_set():
                    break
                _fault, content = self.server.spoil(self.command, self.path, line.encode())
                if fault is not None and fault.cut == "body":
                    self._chunk(content[: len(content) // 2])
                    return
                self._chunk(content + b"\n")
            if silent.is_set():
                # Until the other side gives it up.
                self.connection.recv(1)
                return
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")


def _frames(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and content of the messages of a WebSocket's server, of the one that closes it as the last."""
    buffer = frame_buffer(stream.read, skip_utf8_validation=True)
    while True:
        frame = buffer.recv_frame()
        yield frame.opcode, frame.data.encode() if isinstance(frame.data, str) else bytes(frame.data)
        if frame.opcode == ABNF.OPCODE_CLOSE:
            return


def _formatted(opcode: int, content: bytes) -> bytes:
    """Return a message as a server sends it: without a mask."""
    frame = ABNF.create_frame(content, opcode)
    frame.mask_value = 0
    return frame.format()


def _is_json(content: bytes) -> bool:
    """Return whether a message is JSON as a whole."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True
