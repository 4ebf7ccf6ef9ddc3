# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in containers of pods, over a WebSocket; the only importer of the library websocket-client.

The subprotocol v4.channel.k8s.io (Kubernetes, k8s.io/apimachinery remotecommand): each message begins with a byte for its channel. 1 is
standard output, 2 standard error, 3 a Status object that ends the command.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import ClusterRefusedError, ClusterUnreachableError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mapping, mappings, text
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable

try:
    import websocket

    WEBSOCKET_IMPORT_ERROR: str | None = None
except ImportError:
    import traceback

    WEBSOCKET_IMPORT_ERROR = traceback.format_exc()

PROTOCOL = "v4.channel.k8s.io"
STDOUT, STDERR, STATUS = 1, 2, 3

_MESSAGE_LIMIT = 500
_LONGEST_OUTPUT = 1 << 20


@dataclass(frozen=True)
class Execution:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Connection:
    """How the API server is reached: TLS files as in the library's Configuration, headers with the credentials, seconds for all of it."""

    configuration: Any
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
    end = time.monotonic() + connection.timeout
    stream: Any = websocket.WebSocket(sslopt=_tls(connection.configuration), enable_multithread=False)
    stream.settimeout(connection.connect_timeout)
    try:
        stream.connect(
            url, subprotocols=[PROTOCOL], header=dict(connection.headers), suppress_origin=True, **_proxy(connection.configuration.proxy)
        )
    except websocket.WebSocketBadStatusException as refused:
        raise _refusal(path, refused) from refused
    except (websocket.WebSocketException, OSError) as problem:
        raise NotConnectedError(f"{base}: {printable(problem)}") from problem
    try:
        return _output(stream, end, path)
    except (websocket.WebSocketException, OSError) as problem:
        raise ClusterUnreachableError(f"{_attempt(path)}: the answer broke off: {printable(problem)} (GET {printable(path)})") from problem
    finally:
        stream.close(timeout=1)


def _output(stream: Any, end: float, path: str) -> Execution:
    """Read messages until the Status."""
    output = {STDOUT: bytearray(), STDERR: bytearray(), STATUS: bytearray()}
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("it did not end in time (api_timeout)")
        stream.settimeout(left)
        message = stream.recv()
        if not message:
            # The server has closed the stream; an empty message has a byte for its channel.
            break
        data = message.encode() if isinstance(message, str) else bytes(message)
        if data[0] in output and len(output[data[0]]) + len(data) <= _LONGEST_OUTPUT:
            output[data[0]] += data[1:]
        if output[STATUS]:
            break
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
    if not status:
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
    problem = f"{_attempt(path)}: the cluster's API returned {refused.status_code}: {message} (GET {printable(path)})"
    if refused.status_code >= 500:
        return ClusterUnreachableError(problem)
    if refused.status_code in (401, 403):
        problem += ". The user of the kubeconfig needs the right to create pods/exec in this namespace"
    return ClusterRefusedError(problem, refused.status_code)


def _attempt(path: str) -> str:
    pod = path.partition("/pods/")[2].partition("/")[0]
    return f"Cannot run a command in the pod {printable(pod)}"


def _tls(configuration: Any) -> dict[str, Any]:
    files = {
        "ca_certs": configuration.ssl_ca_cert,
        "certfile": configuration.cert_file,
        "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }
    return {
        "cert_reqs": ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE,
        "check_hostname": bool(configuration.verify_ssl and configuration.assert_hostname is not False),
        **{option: value for option, value in files.items() if value},
    }


def _proxy(url: str | None) -> dict[str, Any]:
    """Return the options for the proxy that the other calls use; without one, none of the environment."""
    if not url:
        return {"http_no_proxy": ["*"]}
    parts = urlsplit(url)
    login = {"http_proxy_auth": (parts.username, parts.password)} if parts.username else {}
    return {"http_proxy_host": parts.hostname, "http_proxy_port": parts.port or 80, "proxy_type": parts.scheme or "http", **login}
