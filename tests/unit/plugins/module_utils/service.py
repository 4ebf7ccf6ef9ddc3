"""A service with a script: what a client does with answers no well-behaved server gives."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Reply:
    """One answer. ``cut``: the connection ends instead; ``length``: the Content-Length, if it is not the true one.

    ``drip``: seconds after each byte of the body.
    """

    status: int = 200
    data: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    length: int | None = None
    drip: float = 0.0


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    data: Any


class Service:
    """Gives its answers in order, the last one for ever."""

    def __init__(self, replies: list[Reply], tls: ssl.SSLContext | None) -> None:
        self.replies = replies
        self.seen: list[Seen] = []
        self.on_request: Callable[[Seen], None] = lambda seen: None
        """Called with each request, before its answer."""
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_any(self) -> None:
                parts = urlsplit(self.path)
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with service._lock:
                    service.seen.append(
                        Seen(
                            self.command,
                            parts.path,
                            dict(parse_qsl(parts.query)),
                            dict(self.headers),
                            json.loads(content) if content else None,
                        )
                    )
                    reply = service.replies.pop(0) if len(service.replies) > 1 else service.replies[0]
                service.on_request(service.seen[-1])
                if reply.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                body = reply.body if reply.body is not None else b"" if reply.data is None else json.dumps(reply.data).encode()
                self.send_response(reply.status)
                headers = {"Content-Type": "application/json", "X-Request-Id": f"request-{len(service.seen)}", **reply.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if reply.length is None else reply.length))
                self.end_headers()
                if reply.drip:
                    with suppress(OSError):  # the caller has enough of it
                        for byte in body:
                            self.wfile.write(bytes([byte]))
                            time.sleep(reply.drip)
                    self.close_connection = True
                    return
                self.wfile.write(body)
                if reply.length is not None:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the names http.server looks for

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server.server_port}/metal/v1"

    @property
    def calls(self) -> list[str]:
        return [f"{seen.method} {seen.path.removeprefix('/metal/v1')}" for seen in self.seen]


@contextmanager
def serving(*replies: Reply, tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """A service on loopback for the time of the block."""
    service = Service(list(replies), tls)
    thread = threading.Thread(target=service.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.server.shutdown()
        service.server.server_close()
