# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serve one folder to devices that boot, as long as the folder exists.

Usage: publish.py FOLDER, where FOLDER has

- ``settings.json``: ``id``, ``bind_address``, ``http_port``, ``https_port``, ``bootstrap_clients``;
- ``open.json``: files for any client, over plain HTTP, for firmware that trusts no certificates: the content of each by its name;
- ``secret/``: files for authorized clients, over HTTPS with ``tls/server.crt`` and ``tls/server.key``. It is served as soon as these two
  exist;
- ``bearer``: the bearer token;
- ``allowed.json``: addresses of authorized clients, a list of texts. The file is read for each request, since a device has its address
  only after it was ordered.

``bootstrap_clients`` is ``token`` or ``addresses``. With ``token`` every client needs the bearer token and, as soon as there is a list of
addresses, one of these. With ``addresses`` the clients at these addresses need no token, and without a list no other computer is a client.
This computer's own addresses need the token only: the playbook verifies with it what is served, and other users here do not have it.

``/healthz`` over HTTP returns the id. The server is a child of this process, which starts it again when a signal has ended it, such as the
kernel's when memory is short: machines that boot meanwhile would hang for ever.

The process ends on SIGTERM, and when ``settings.json`` was deleted or changed: deleting the folder ends the server. It writes nothing.
It uses Python's own library only, 3.9 or newer, since it runs on any host of the inventory.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import http.server
import ipaddress
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

POLL_INTERVAL = 0.5
"""Seconds between two checks of the folder."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Files of one folder by their bare names, GET and HEAD."""

    folder: ClassVar[Path]
    """The folder with the files, or the file with the contents of all files."""
    bearer: ClassVar[Path | None] = None
    allowed: ClassVar[Path | None] = None
    by_address: ClassVar[bool] = False
    identity: ClassVar[str] = ""
    server_version = "publish"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60
    """Seconds after which a silent client is disconnected."""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        name = self.path.partition("?")[0].removeprefix("/")
        if self.bearer is None and name == "healthz":
            self._send(HTTPStatus.OK, json.dumps({"id": self.identity}).encode(), "application/json", body=body)
        elif not self._expected():
            # Ignition retries after 503, and fails after 403: a device that was just ordered may boot before its address is listed.
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, b"", "text/plain", body=body)
        elif not self._authorized():
            self._send(HTTPStatus.UNAUTHORIZED, b"", "text/plain", body=body)
        elif (content := self._content(name)) is None:
            self._send(HTTPStatus.NOT_FOUND, b"", "text/plain", body=body)
        else:
            self._send(HTTPStatus.OK, content, "application/json" if name.endswith(".ign") else "text/plain", body=body)

    def _expected(self) -> bool:
        if self.allowed is None:
            return True
        try:
            addresses = json.loads(self.allowed.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self._is_local() or not self.by_address
        except (OSError, ValueError):
            return False
        return self._is_local() or plain(self.client_address[0]) in map(plain, addresses)

    def _is_local(self) -> bool:
        served = self.connection.getsockname()
        return plain(self.client_address[0]) in {plain(served[0]), plain(own_address(served))}

    def _authorized(self) -> bool:
        if self.bearer is None or (self.by_address and not self._is_local()):
            return True
        try:
            expected = "Bearer " + self.bearer.read_text(encoding="utf-8").strip()
        except OSError:
            return False
        # In constant time.
        return hmac.compare_digest(self.headers.get("Authorization", "").encode(), expected.encode())

    def _content(self, name: str) -> bytes | None:
        try:
            if self.bearer is None:
                content = contents(self.folder, self.folder.stat().st_mtime_ns).get(name)
                return None if content is None else content.encode()
            # Only names in the list of the folder: a path cannot leave it.
            return (self.folder / name).read_bytes() if name in os.listdir(self.folder) else None  # noqa: PTH208 - names, not paths
        except (OSError, ValueError):
            return None

    def _send(self, status: HTTPStatus, content: bytes, kind: str, *, body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log one line per request: client, request, status, and no header."""
        sys.stderr.write(f"{self.address_string()} {format % args}\n")


@functools.lru_cache(maxsize=1)
def contents(path: Path, written: int) -> dict[str, str]:
    """Return the contents of all open files by name. ``written``: when the file was, so that it is read again after a change."""
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address without its zone, and an IPv4-mapped one as IPv4, as a server at ``::`` receives it."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, ipaddress.IPv6Address) else parsed


def own_address(served: tuple[Any, ...]) -> str:
    """Return the address that programs of this computer connect from to ``served``, the socket address of a server here.

    It need not be the server's own: Linux connects to any address of 127.0.0.0/8 from 127.0.0.1.
    """
    family = socket.AF_INET6 if ":" in served[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        # Only chooses the route: nothing is sent.
        probe.connect(served)
        address: str = probe.getsockname()[0]
    return address


class Server(http.server.ThreadingHTTPServer):
    """A server that makes its TLS handshakes in the threads of its requests, so that no client blocks others."""

    daemon_threads = True
    request_queue_size = 512
    """Machines that power on together connect together: of more than fit into the queue the kernel drops the first packets."""

    def __init__(self, address: tuple[str, int], handler: type[Handler], context: ssl.SSLContext | None = None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._context = context
        super().__init__(address, handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._context is not None:
            request.settimeout(Handler.timeout)
            request = self._context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        sys.stderr.write(f"{client_address[0]} {sys.exc_info()[1]}\n")


def start(address: str, port: int, handler: type[Handler], context: ssl.SSLContext | None = None) -> Server:
    server = Server((address, port), handler, context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def open_handler(folder: Path, identity: str) -> type[Handler]:
    return type("OpenHandler", (Handler,), {"folder": folder / "open.json", "identity": identity})


def secret_handler(folder: Path, clients: str) -> type[Handler]:
    files = {"folder": folder / "secret", "bearer": folder / "bearer", "allowed": folder / "allowed.json"}
    return type("SecretHandler", (Handler,), {**files, "by_address": clients == "addresses"})


def tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "tls" / "server.crt", folder / "tls" / "server.key")
    return context


def is_current(folder: Path, initial: bytes) -> bool:
    """Return whether the settings are still those of the start."""
    try:
        return (folder / "settings.json").read_bytes() == initial
    except FileNotFoundError:
        return False


def serve(folder: Path, initial: bytes) -> None:
    """Serve until SIGTERM, which is blocked, or until the settings are deleted or changed."""
    settings = json.loads(initial)
    start(settings["bind_address"], settings["http_port"], open_handler(folder, settings["id"]))
    secret: Server | None = None
    while signal.sigtimedwait({signal.SIGTERM}, POLL_INTERVAL) is None and is_current(folder, initial):
        # The folder may be deleted at any moment.
        with contextlib.suppress(FileNotFoundError):
            if secret is None and (folder / "tls" / "server.crt").exists():
                handler = secret_handler(folder, settings["bootstrap_clients"])
                secret = start(settings["bind_address"], settings["https_port"], handler, tls(folder))


def main() -> int:
    """Serve in a child, again after a signal has ended it, and return its exit code."""
    folder = Path(sys.argv[1])
    initial = (folder / "settings.json").read_bytes()
    ended: list[int] = []
    while not ended and is_current(folder, initial):
        # The child reads it and is never ended by it: systemd sends it to both, so that it has it twice, and would be taken for killed.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        child = os.fork()
        if child == 0:
            serve(folder, initial)
            return 0
        signal.signal(signal.SIGTERM, functools.partial(_end, child, ended))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code >= 0:
            return code
        time.sleep(POLL_INTERVAL)
    return 0


def _end(child: int, ended: list[int], number: int, _frame: object) -> None:
    ended.append(number)
    # It may have ended already.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


if __name__ == "__main__":
    sys.exit(main())
