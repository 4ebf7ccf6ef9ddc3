# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of the cluster's API; the only importer of the Kubernetes library.

Of the library only these are used, which are the same from release 29 to 37: `Configuration`, `load_kube_config`, the deletion of its
temporary files and the connection pool of `RESTClientObject`. They cover kubeconfig files with all their login methods, client
certificates, proxies, `tls-server-name`. The generated classes above them changed their call signatures between those releases
and, in the newest, check every object against a model: one Node with an unknown field would spoil a list of five hundred. Objects are plain
dictionaries here, whose fields may be malformed or missing.

Note that this module util is PRIVATE to the collection.
"""

from __future__ import annotations

import json
import re
import ssl
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode, urlsplit

from ..base.errors import AnyError, ClusterConflictError, ClusterRefusedError, ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping, mappings
from ..base.kubernetes_objects import CERTIFICATE_REQUESTS, CLUSTER_OPERATORS, ETCD, FIELD_OWNER, conditions_of, object_path
from ..base.printable import printable
from ..base.time_limit import TimeLimit, watch
from ..base.times import timestamp
from .pod_exec import Connection, Execution, NotConnectedError, execute
from .tls import Endpoint, presented_certificates

try:
    import urllib3
    from kubernetes.client import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config import kube_config, load_kube_config
    from kubernetes.config.config_exception import ConfigException
    from yaml import YAMLError

    KUBERNETES_IMPORT_ERROR: str | None = None
except ImportError:
    KUBERNETES_IMPORT_ERROR = traceback.format_exc()

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"

HISTORY_NAMESPACE = "kube-system"
CONFIG_MAPS = f"/api/v1/namespaces/{HISTORY_NAMESPACE}/configmaps"

PAGE = 500
REQUESTS = 50
"""CertificateSigningRequests in a page of theirs: any client may file one of up to a megabyte, and a page is in memory as a whole."""
HTTPS_PORT = 443
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""The type of an answer that has the metadata of objects and nothing else (Kubernetes API concepts, "Metadata-only fetches")."""
# Answers that say something about the moment, not about the request (Kubernetes API conventions): another try may succeed.
PASSING = frozenset({429, 500, 502, 503, 504})
# Characters of a server's message, and of a name in one.
_MESSAGE_LIMIT = 500
_NAME_LIMIT = 80


class ClusterClient:
    """Plain calls on the cluster's API.

    `addresses` are tried in turn, the one that answered last first; with none the kubeconfig's own server is used. The server's
    certificate is always checked against the name in the kubeconfig (its `tls-server-name`, else the host of its `server`), also when it
    is reached by address. `timeout` in seconds limits each call from its beginning to its end, connecting is limited to a third of it, 5
    seconds at most. With `read_only` no write leaves the process. `directory` is where the library may put key files until they are
    loaded.
    """

    def __init__(
        self,
        kubeconfig: str,
        *,
        addresses: list[str] | None = None,
        timeout: float = 15.0,
        read_only: bool = False,
        directory: str | None = None,
    ) -> None:
        self.read_only = read_only
        self._timeout = timeout
        self._connect_timeout = min(5.0, timeout / 3)
        self._configuration, self._tls, self._certificate = _configuration(kubeconfig, directory)
        server = urlsplit(self._configuration.host)
        self._server = f"{server.scheme}://{server.netloc}"
        self._bases = [_base(address, server.scheme, server.port) for address in addresses or []] or [self._server]
        self._prefix = server.path.rstrip("/")
        if not self._configuration.tls_server_name and addresses:
            self._configuration.tls_server_name = server.hostname
        self._pool: Any = RESTClientObject(self._configuration).pool_manager
        self._pool.connection_pool_kw["ssl_context"] = self._tls
        watch(self._pool)
        self._ahead = timedelta(0)
        self.first_answer: datetime | None = None
        self._last_answer = ""

    def add_origin(self, error: AnyError) -> AnyError:
        """Add the request id of the last answer to an error that was derived from answers, and return it."""
        error.add_origin(self._last_answer)
        return error

    def failed_connections(self, number: int) -> list[str]:
        """Return why TLS handshakes fail, one text for each that does, of ``number`` new connections to each address."""
        servers = presented_certificates([Endpoint(*server) for server in self.servers()] * number, seconds=self._timeout)
        return [
            f"{server.endpoint.address} port {server.endpoint.port}: {printable(server.problem)}" for server in servers if server.problem
        ]

    # Objects

    def certificate_requests(self) -> Iterator[tuple[list[dict[str, Any]], str]]:
        """Yield the CertificateSigningRequests, page by page, each page with the resource version to watch from."""
        return self.pages(CERTIFICATE_REQUESTS, limit=REQUESTS)

    def history(self, name: str) -> dict[str, str]:
        """Return the texts of the ConfigMap of this name in HISTORY_NAMESPACE, empty when there is none."""
        data = (self.get(object_path(CONFIG_MAPS, name)) or {}).get("data")
        return {key: text for key, text in data.items() if isinstance(text, str)} if isinstance(data, dict) else {}

    def keep_history(self, name: str, texts: Mapping[str, str]) -> None:
        """Write these texts into that ConfigMap and keep its others; create it when there is none."""
        path, query = object_path(CONFIG_MAPS, name), {"fieldManager": FIELD_OWNER}
        try:
            self._call("PATCH", path, query, {"data": dict(texts)})
        except ClusterRefusedError as refused:
            if refused.status != 404:
                raise
            try:
                self._call("POST", CONFIG_MAPS, query, {"metadata": {"name": name}, "data": dict(texts)})
            except ClusterConflictError:
                # Another approver created it first.
                self._call("PATCH", path, query, {"data": dict(texts)})

    def nodes(self) -> Iterator[dict[str, Any]]:
        return self.objects(NODES)

    def node(self, name: str) -> dict[str, Any] | None:
        return self.get(object_path(NODES, name))

    def change_node(self, name: str, uid: str, patch: Mapping[str, Any]) -> None:
        """Apply a merge patch to the Node with this uid; raises ClusterConflictError when it is gone or another one has its name."""
        metadata = {**mapping(patch.get("metadata")), "uid": uid}
        try:
            self._call("PATCH", object_path(NODES, name), {"fieldManager": FIELD_OWNER}, {**patch, "metadata": metadata})
        except ClusterRefusedError as refused:
            if refused.status == 404:
                raise ClusterConflictError(refused.message, 404) from refused
            raise

    def delete_node(self, name: str, uid: str) -> None:
        """Delete the Node with this uid; raises ClusterConflictError when another one has its name."""
        self._call("DELETE", object_path(NODES, name), None, {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})

    def pods_on(self, node: str) -> Iterator[dict[str, Any]]:
        """Yield the pods of a node. An answer that is no PodList is an error, never an empty list: the machine may be deleted next."""
        for items, _version in self.pages(PODS, selector=f"spec.nodeName={node}", kind="PodList"):
            yield from items

    def evict(self, namespace: str, name: str, uid: str, grace_period: int | None) -> None:
        """Evict the pod with this uid, with its own grace period or this one in seconds.

        Raises ClusterRefusedError with the server's reasons: 429 when a disruption budget does not allow it now, 404 when the pod is gone,
        409 when another one has its name, 500 when several budgets select it (Kubernetes, "API-initiated Eviction").
        """
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/eviction"
        grace = {} if grace_period is None else {"gracePeriodSeconds": grace_period}
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}, **grace},
        }
        self._call("POST", path, {"fieldManager": FIELD_OWNER}, body, passing=PASSING - {429, 500})

    def execute(self, namespace: str, pod: str, container: str, command: Sequence[str], *, changes: bool = False) -> Execution:
        """Run a command in a container and return its output; with ``changes`` it is one that changes something.

        Raises ClusterRefusedError when the command cannot be run, ClusterUnreachableError when it is not known whether it was.
        """
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/exec"
        if self.read_only and changes:
            raise CollectionError(f"{' '.join(command)} was not run in {pod}: this client only reads (check mode).")
        headers = {name: value for name, value in self._headers("GET", None, "").items() if name != "Accept"}
        connection = Connection(self._configuration, self._tls, headers, self._connect_timeout, self._timeout)
        failures = []
        for base in self._bases:
            try:
                return execute(base, f"{self._prefix}{path}?{urlencode({'container': container})}", command, connection)
            except NotConnectedError as problem:
                failures.append(str(problem))
        raise ClusterUnreachableError(f"Cannot run a command in the pod {pod}: the cluster's API does not answer ({'; '.join(failures)})")

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """Create an object in the list of this path; raises ClusterConflictError when there is one of its name."""
        self._call("POST", path, {"fieldManager": FIELD_OWNER}, body)

    def delete(self, path: str) -> None:
        """Delete one object; none of that name is as good."""
        try:
            self._call("DELETE", path)
        except ClusterRefusedError as refused:
            if refused.status != 404:
                raise

    def change_etcd(self, version: str, patch: Mapping[str, Any]) -> None:
        """Apply a merge patch to the Etcd resource of this resource version; raises ClusterConflictError when it has changed."""
        metadata = {**mapping(patch.get("metadata")), "resourceVersion": version}
        self._call("PATCH", ETCD, {"fieldManager": FIELD_OWNER}, {**patch, "metadata": metadata})

    def secrets_metadata(self, namespace: str) -> Iterator[dict[str, Any]]:
        """Yield the metadata of a namespace's Secrets. Their content is not sent by the server."""
        return self.objects(f"/api/v1/namespaces/{quote(namespace, safe='')}/secrets", accept=METADATA_ONLY)

    # The connection

    def client_certificate(self) -> bytes:
        """Return the certificate (PEM) that the kubeconfig has for its user; empty where it has none, such as with a token."""
        return self._certificate

    def servers(self) -> list[tuple[str, int, str]]:
        """Return the address and port of each server of the API, and the name that its certificate is verified against."""
        parts = [urlsplit(base) for base in self._bases]
        name = str(self._configuration.tls_server_name or urlsplit(self._server).hostname or "")
        return [(part.hostname or "", part.port or HTTPS_PORT, name) for part in parts if part.scheme == "https"]

    # Calls

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Return one object, None when it does not exist (or its custom resource is not defined yet)."""
        try:
            return self._call("GET", path, query)
        except ClusterRefusedError as refused:
            if refused.status == 404:
                return None
            raise

    def objects(self, path: str, *, labels: str = "", accept: str = "") -> Iterator[dict[str, Any]]:
        """Yield the objects of a list, one page in memory at a time; none when its kind does not exist.

        ``labels``: a label selector; ``accept``: see `pages`.
        """
        try:
            for items, _version in self.pages(path, labels=labels, accept=accept):
                yield from items
        except ClusterRefusedError as refused:
            if refused.status != 404:
                raise

    def pages(  # noqa: PLR0913 - each of them is a part of the query; all but the path by keyword
        self, path: str, *, selector: str = "", labels: str = "", kind: str = "", accept: str = "", limit: int = 0
    ) -> Iterator[tuple[list[dict[str, Any]], str]]:
        """Yield each page of a list with the list's resource version, to watch from.

        ``selector`` is a field selector, ``labels`` a label selector. With ``kind`` an answer that is no list of this kind raises
        ClusterUnreachableError. ``accept``: a content type to ask for instead of plain JSON. ``limit``: fewer objects in a page than PAGE.
        """
        selectors = {"fieldSelector": selector, "labelSelector": labels}
        query: dict[str, Any] = {"limit": min(limit or PAGE, PAGE), **{name: value for name, value in selectors.items() if value}}
        while True:
            try:
                page = self._call("GET", path, query, accept=accept)
            except ClusterRefusedError as refused:
                if refused.status == 410 and "continue" in query:
                    # The pages are of one version, which the server has compacted meanwhile: the caller lists again.
                    raise ClusterUnreachableError(refused.message) from refused
                raise
            if kind and (page.get("kind") != kind or not isinstance(page.get("items"), list)):
                raise ClusterUnreachableError(f"{_attempt('GET', path)}: the answer is no {kind} (GET {path})")
            yield _items(page), str(mapping(page.get("metadata")).get("resourceVersion") or "")
            onward = mapping(page.get("metadata")).get("continue")
            if not onward:
                return
            query["continue"] = onward

    def watch(self, path: str, version: str, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield changes after `version` as (type, object), for at most `seconds`.

        Types are ADDED, MODIFIED, DELETED and BOOKMARK. An ERROR event raises ClusterRefusedError with its code; 410 is a version the
        server does not have any more: list again. A broken or silent connection raises ClusterUnreachableError. The end of
        a watch after `seconds` is the heartbeat: bookmarks do not come before the first change since the start of an API server (measured
        with Kubernetes 1.34.4).
        """
        whole = max(1, round(seconds))
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": whole, "allowWatchBookmarks": "true"}
        base, response = self._send("GET", path, query, None, stream_silence=whole + self._connect_timeout)
        try:
            for line in _lines(response, whole + self._connect_timeout):
                event = _json(line)
                if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
                    problem = f"{_attempt('GET', path)}: the watch returned an object that is no event"
                    raise ClusterUnreachableError(f"{problem} ({_origin('GET', path, response)})")
                if event.get("type") == "ERROR":
                    code, text = event["object"].get("code"), printable(event["object"].get("message"))
                    problem = f"{_attempt('GET', path)}: the cluster ended the watch: {text}"
                    raise ClusterRefusedError(f"{problem} ({_origin('GET', path, response)})", code if isinstance(code, int) else 500)
                yield str(event.get("type")), event["object"]
        except (urllib3.exceptions.HTTPError, OSError) as problem:
            # The next watch uses another address: this one may still accept connections.
            self._bases = [*(other for other in self._bases if other != base), base]
            raise ClusterUnreachableError(f"{_attempt('GET', path)}: the watch broke off: {_because(problem)} (GET {path})") from problem
        finally:
            response.close()

    def answer(  # noqa: PLR0913 - all of it is one answer; passed by keyword
        self, kind: Literal["Approved", "Denied"], name: str, *, uid: str, version: str, reason: str, message: str
    ) -> None:
        """Approve or deny exactly the request that was judged; raises ClusterConflictError when it has changed, or another has its name.

        A merge patch of the approval subresource with uid and resourceVersion as preconditions: the API server refuses with 409 when
        one does not match, and nothing but the condition is written (Kubernetes certificates API, "Approval or rejection using the
        Kubernetes API").
        """
        now = timestamp(self.now())
        condition = {"type": kind, "status": "True", "reason": reason, "message": message, "lastUpdateTime": now}
        body = {"metadata": {"uid": uid, "resourceVersion": version}, "status": {"conditions": [condition]}}
        path = f"{CERTIFICATE_REQUESTS}/{quote(name, safe='')}/approval"
        answer = self._call("PATCH", path, {"fieldManager": FIELD_OWNER}, body)
        if kind not in conditions_of(answer):
            # As a lost answer: whether it had its effect is seen at the next reading.
            raise ClusterUnreachableError(f"{_attempt('PATCH', path)}: the answer does not contain the condition {kind} (PATCH {path})")

    def version(self) -> str:
        """Return the version of the Kubernetes API server, such as v1.33.6; the cheapest request."""
        return printable((self._call("GET", "/version") or {}).get("gitVersion") or "")

    def now(self) -> datetime:
        """Return the time of the cluster's clock, by the Date of its last answer; for ages of its objects."""
        return datetime.now(UTC) + self._ahead

    # Requests

    def _call(  # noqa: PLR0913 - all of it is what one call is; the last two by keyword
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        passing: Collection[int] = PASSING,
        accept: str = "",
    ) -> dict[str, Any]:
        _base, response = self._send(method, path, query, body, passing=passing, accept=accept)
        try:
            answer = _json(response.data)
        except (urllib3.exceptions.HTTPError, OSError) as problem:
            raise ClusterUnreachableError(
                f"{_attempt(method, path)}: the answer broke off: {_because(problem)} ({method} {printable(path)})"
            ) from problem
        if not isinstance(answer, dict):
            what = f"the answer with status {response.status} is no JSON object"
            raise ClusterUnreachableError(f"{_attempt(method, path)}: {what} ({_origin(method, path, response)})")
        return answer

    def _send(  # noqa: PLR0913 - all of it is what one call is; the last three by keyword
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        *,
        stream_silence: float = 0,
        passing: Collection[int] = PASSING,
        accept: str = "",
    ) -> tuple[str, Any]:
        """Try one address after the other until one answers with a status that is not in `passing`; return it and its answer.

        With `stream_silence` the body is not read; it may be silent for that many seconds at a time.
        """
        if self.read_only and method != "GET":
            raise CollectionError(f"{method} {path} was not sent: this client only reads (check mode).")
        url = self._prefix + path + ("?" + urlencode(query) if query else "")
        failures: list[str] = []
        for base in self._bases:
            limit = TimeLimit(self._timeout)
            response: Any = None
            try:
                with limit:
                    response = self._pool.request(
                        method,
                        base + url,
                        body=None if body is None else json.dumps(body),
                        headers=self._headers(method, body, accept),
                        timeout=urllib3.Timeout(connect=self._connect_timeout, read=stream_silence or self._timeout),
                        preload_content=False,
                        retries=False,
                        redirect=False,
                    )
                    if not stream_silence:
                        response.read(decode_content=True, cache_content=True)
                if limit.over:
                    # Without a length, a truncated body is not recognized.
                    raise TimeoutError
            except (urllib3.exceptions.HTTPError, OSError) as problem:
                late = f"not answered in full within {self._timeout:g} seconds (api_timeout)"
                # The head may have arrived without the body.
                request = _request(response) if response is not None else ""
                failures.append(f"{base}: {late if limit.over else _because(problem)}{request}")
                if method != "GET" and not isinstance(problem, urllib3.exceptions.NewConnectionError):
                    # It may have had an effect: the caller reads the object again before the next try.
                    break
                continue
            self._read_clock(response)
            self._last_answer = _origin(method, path, response)
            if response.status not in passing:
                # One assignment: another thread sees the old or the new order.
                self._bases = [base, *(other for other in self._bases if other != base)]
                if response.status >= 300:
                    raise _refusal(method, path, response)
                return base, response
            failures.append(f"{base}: {response.status} {_message(response)}{_request(response)}")
            response.release_conn()
        silence = f"the cluster's API does not answer {method} {printable(path)} ({'; '.join(failures)})"
        raise ClusterUnreachableError(f"{_attempt(method, path)}: {silence}")

    def _read_clock(self, response: Any) -> None:
        try:
            now = parsedate_to_datetime(response.headers.get("Date", ""))
            self._ahead = now - datetime.now(UTC)
            self.first_answer = self.first_answer or now
        except (TypeError, ValueError):
            # No such header, or not a date: the local clock is used.
            return

    def _headers(self, method: str, body: Any, accept: str) -> dict[str, str]:
        headers = {"Accept": accept or "application/json", "User-Agent": FIELD_OWNER}
        if body is not None:
            headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        for setting in self._configuration.auth_settings().values():
            if setting.get("in") == "header" and setting.get("value"):
                headers[setting["key"]] = setting["value"]
        return headers


def _configuration(kubeconfig: str, directory: str | None) -> tuple[Any, ssl.SSLContext, bytes]:
    """Return the library's Configuration without TLS files, what was loaded from these, and the certificate of the user (PEM)."""
    path = Path(kubeconfig).expanduser()
    if not path.is_file():
        raise CollectionError(f"Cannot read the kubeconfig {path}: there is no such file.")
    configuration = Configuration()
    try:
        # The library writes keys given as data to files for the TLS library, below `directory` with mode 0600. They are deleted as soon as
        # they are loaded: a process that is killed deletes nothing.
        try:
            load_kube_config(config_file=str(path), client_configuration=configuration, persist_config=False, temp_file_path=directory)
            tls, certificate = _tls(configuration), Path(configuration.cert_file).read_bytes() if configuration.cert_file else b""
        finally:
            kube_config._cleanup_temp_files()
    except (ConfigException, YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        # The library validates little: a malformed file raises errors of many types.
        raise CollectionError(f"Cannot use the kubeconfig {path}: {type(problem).__name__}: {problem}") from problem
    host = urlsplit(configuration.host or "")
    if host.scheme not in ("http", "https") or not host.hostname:
        raise CollectionError(f"Cannot use the kubeconfig {path}: its server is {configuration.host!r}, not an URL.")
    configuration.ssl_ca_cert = configuration.cert_file = configuration.key_file = None
    return configuration, tls, certificate


def _tls(configuration: Any) -> ssl.SSLContext:
    """Return the TLS settings of a Configuration, with its files loaded. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif configuration.ssl_ca_cert:
        context.load_verify_locations(configuration.ssl_ca_cert)
    else:
        context.load_default_certs()
    if configuration.assert_hostname is False:
        context.check_hostname = False
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _base(address: str, scheme: str, port: int | None) -> str:
    """Return the URL of an address given as 192.0.2.1, 192.0.2.1:6443, 2001:db8::1 or [2001:db8::1]:6443."""
    text = f"[{address}]" if address.count(":") > 1 and not address.startswith("[") else address
    try:
        parts = urlsplit(f"{scheme}://{text}")
        explicit_port = parts.port
    except ValueError as problem:
        raise CollectionError(f"api_addresses: {address!r} is not an address ({problem}).") from problem
    if not parts.hostname or parts.path or parts.query or parts.username:
        raise CollectionError(f"api_addresses: {address!r} is not an address.")
    return f"{scheme}://{text}" if explicit_port or not port else f"{scheme}://{text}:{port}"


def _lines(response: Any, seconds: float) -> Iterator[bytes]:
    """Yield each line as soon as it is complete. Raises TimeoutError when the stream lasts longer than ``seconds``."""
    end = time.monotonic() + seconds
    rest = b""
    # read1 semantics: what has arrived is handed out at once instead of filling a buffer first.
    for chunk in response.stream(amt=None if response.chunked else 65536, decode_content=True):
        if time.monotonic() > end:
            raise TimeoutError(f"it did not end within {seconds:g} seconds")
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line.strip())


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _items(page: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    items = (page or {}).get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _message(response: Any) -> str:
    """Return the message of an answer on one line: a gateway's HTML page has many."""
    answer = _json(response.data)
    message = str(answer.get("message") or answer) if isinstance(answer, dict) else response.data[:200].decode("utf-8", "replace")
    return printable(" ".join(message.split()), _MESSAGE_LIMIT)


def _attempt(method: str, path: str) -> str:
    """Return the beginning of an error: the operation and its object."""
    kind, verb = path, "read" if method == "GET" else "write"
    for listed, word, change in (
        (CERTIFICATE_REQUESTS, "certificate request", "decide on"),
        (NODES, "node", "change"),
        (PODS, "pod", "change"),
        (CLUSTER_OPERATORS, "cluster operator", "change"),
    ):
        if path == listed:
            kind, verb = f"the {word}s", "list"
        elif path.startswith(f"{listed}/"):
            name = printable(unquote(path.removeprefix(listed).split("/")[1]), _NAME_LIMIT)
            kind, verb = f"the {word} {name}", {"GET": "read", "DELETE": "delete"}.get(method, change)
    if evicted := re.fullmatch(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/eviction", path):
        kind, verb = f"the pod {unquote(evicted[1])}/{unquote(evicted[2])}", "evict"
    return f"Cannot {verb} {printable(kind)}"


def _request(response: Any) -> str:
    """Return the id of this request in the API server's audit log (Kubernetes, "Auditing": the header Audit-ID)."""
    identity = response.headers.get("Audit-Id")
    return f", request {printable(identity, _NAME_LIMIT)}" if identity else ""


def _origin(method: str, path: str, response: Any) -> str:
    return f"{method} {printable(path)}{_request(response)}"


def _refusal(method: str, path: str, response: Any) -> ClusterRefusedError:
    text = (
        f"{_attempt(method, path)}: the cluster's API returned {response.status}: {_message(response)} ({_origin(method, path, response)})"
    )
    if response.status in (401, 403):
        text += ". Check that the kubeconfig belongs to this cluster and is still valid"
    status = mapping(_json(response.data))
    causes = tuple(
        (str(cause.get("reason") or ""), str(cause.get("message") or ""))
        for cause in mappings(mapping(status.get("details")).get("causes"))
    )
    return (ClusterConflictError if response.status == 409 else ClusterRefusedError)(text, response.status, _message(response), causes)


def _because(problem: BaseException) -> str:
    """Return the innermost message of a urllib3 error, without object addresses."""
    reason = getattr(problem, "reason", None)
    if isinstance(reason, BaseException):
        return _because(reason)
    # "<urllib3.connection.HTTPSConnection object at 0x...>: text" in urllib3 1, "HTTPSConnection(host=..., port=...): text" in 2.
    return re.sub(r"^(<[^>]*>|\w+\([^)]*\)): ", "", str(problem)) or type(problem).__name__
