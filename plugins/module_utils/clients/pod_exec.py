# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in containers of pods, over a WebSocket; the only importer of the library websocket-client.

The subprotocol v4.channel.k8s.io (Kubernetes, k8s.io/apimachinery remotecommand): each message begins with a byte for its channel. 1 is
standard output, 2 standard error, 3 a Status object that ends the command.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from ..base.errors import ClusterRefusedError, ClusterUnreachableError
from ..base.json_objects import mapping, mappings, text
from ..base.printable import printable
from ..base.time_limit import TimeLimit

try:
    import websocket

    WEBSOCKET_IMPORT_ERROR: str | None = None
except ImportError:
    import traceback

    WEBSOCKET_IMPORT_ERROR = traceback.format_exc()

PROTOCOL = "v4.channel.k8s.io"
STDOUT, STDERR, STATUS = 1, 2, 3

_MESSAGE_LIMIT = 250
_NAME_LIMIT = 80
_LONGEST_OUTPUT = 1 << 20


@dataclass(frozen=True)
class Execution:
    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Connection:
    """How the API server is reached: the library's Configuration, TLS, headers with the credentials, seconds for all of it."""

    configuration: Any
    tls: ssl.SSLContext
    headers: Mapping[str, str]
    connect_timeout: float
    timeout: float


class NotConnectedError(Exception):
    """No request was sent, so another address can be tried."""


def execute(base: str, path: str, command: Sequence[str], connection: Connection) -> Execution:
    """Run a command; ``path`` is that of the pod's subresource exec with its container as query.

    Raises NotConnectedError, ClusterUnreachableError when the answer is not complete, ClusterRefusedError when the command was not run.
    """
    parts = urlsplit(base)
    query = urlencode([("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)])
    url = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{path}&{query}"
    configuration = connection.configuration
    name = configuration.tls_server_name or parts.hostname
    stream: Any = websocket.WebSocket(sslopt={"context": connection.tls, "server_hostname": name}, enable_multithread=False)
    # Each read of the library may last so long, all together as long as the limit.
    stream.settimeout(connection.timeout)
    limit = TimeLimit(connection.timeout)
    with limit:
        try:
            through = _proxy(configuration.proxy) if configuration.proxy else {"socket": _connected(parts, name, connection)}
        except OSError as problem:
            raise NotConnectedError(f"{base}: {printable(problem)}") from problem
        try:
            stream.connect(url, subprotocols=[PROTOCOL], header=dict(connection.headers), suppress_origin=True, **through)
            TimeLimit.watch(stream)
            done = _output(stream, path)
        except websocket.WebSocketBadStatusException as refused:
            raise _refusal(path, refused) from refused
        except (websocket.WebSocketException, OSError) as problem:
            # The request may have been sent, and the command may have been run.
            because = f"it did not end within {connection.timeout:g} seconds (api_timeout)" if limit.over else printable(problem)
            raise ClusterUnreachableError(f"{_attempt(path)}: the answer broke off: {because} (GET {printable(path)})") from problem
        finally:
            stream.shutdown()
    return done


def _connected(parts: SplitResult, name: str | None, connection: Connection) -> socket.socket:
    """Return a connection to the API server, whose limit is shorter than that of its answer."""
    plain = socket.create_connection(
        (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)), connection.connect_timeout
    )
    try:
        stream = connection.tls.wrap_socket(plain, server_hostname=name) if parts.scheme == "https" else plain
    except BaseException:
        plain.close()
        raise
    stream.settimeout(connection.timeout)
    TimeLimit.watch(SimpleNamespace(sock=stream))
    return stream


def _output(stream: Any, path: str) -> Execution:
    """Read messages until the Status."""
    output = {STDOUT: bytearray(), STDERR: bytearray(), STATUS: bytearray()}
    while not output[STATUS]:
        message = stream.recv()
        if not message:
            # The server has closed the stream; an empty message has a byte for its channel.
            break
        data = message.encode() if isinstance(message, str) else bytes(message)
        if data[0] in output and len(output[data[0]]) + len(data) <= _LONGEST_OUTPUT:
            output[data[0]] += data[1:]
    code = _exit_code(bytes(output[STATUS]), path)
    return Execution(code, *(output[channel].decode("utf-8", "replace") for channel in (STDOUT, STDERR)))


def _exit_code(content: bytes, path: str) -> int:
    """Return the exit code of a Status object; raise ClusterRefusedError when the command could not be run."""
    try:
        status = mapping(json.loads(content))
    except ValueError:
        status = {}
    if status.get("status") == "Success":
        return 0
    for cause in mappings(mapping(status.get("details")).get("causes")):
        if cause.get("reason") == "ExitCode" and text(cause.get("message")).isdecimal():
            return int(cause["message"])
    if status.get("status") != "Failure":
        # It may have been run.
        raise ClusterUnreachableError(f"{_attempt(path)}: the stream ended without a status (GET {printable(path)})")
    message = printable(text(status.get("message")), _MESSAGE_LIMIT)
    raise ClusterRefusedError(f"{_attempt(path)}: {message} (GET {printable(path)})", 500)


def _refusal(path: str, refused: Any) -> ClusterRefusedError | ClusterUnreachableError:
    body = refused.resp_body or b""
    try:
        message = text(mapping(json.loads(body)).get("message"))
    except ValueError:
        message = ""
    message = printable(message or body.decode("utf-8", "replace"), _MESSAGE_LIMIT)
    identity = (refused.resp_headers or {}).get("audit-id")
    request = f", request {printable(identity, _NAME_LIMIT)}" if identity else ""
    problem = f"{_attempt(path)}: the cluster's API returned {refused.status_code}: {message} (GET {printable(path)}{request})"
    if refused.status_code >= 500:
        return ClusterUnreachableError(problem)
    if refused.status_code in (401, 403):
        problem += ". The user of the kubeconfig needs the right to create pods/exec in this namespace"
    return ClusterRefusedError(problem, refused.status_code)


def _attempt(path: str) -> str:
    pod = path.partition("/pods/")[2].partition("/")[0]
    return f"Cannot run a command in the pod {printable(pod)}"


def _proxy(url: str) -> dict[str, Any]:
    """Return the options for the proxy that the other calls use."""
    parts = urlsplit(url)
    login = {"http_proxy_auth": (parts.username, parts.password)} if parts.username else {}
    return {"http_proxy_host": parts.hostname, "http_proxy_port": parts.port or 80, "proxy_type": parts.scheme or "http", **login}
