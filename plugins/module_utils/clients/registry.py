# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read manifests and blobs of a container registry (OCI distribution specification), with Basic authentication or bearer tokens.

What is read by digest is verified by it. 429, 5xx and lost connections are tried again. A login is sent to the registry and to its token
service only, not to the servers of blobs that a registry redirects to.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..base.errors import CollectionError

MANIFEST_TYPES = ", ".join(
    (
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
    )
)
LONGEST_MANIFEST = 4 << 20
LONGEST_BLOB = 256 << 20
"""Bytes. The layer of a release image has a few megabytes."""

_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


class RegistryError(CollectionError):
    """A registry did not return an object. ``status``: of HTTP, 0 without an answer."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason, {"status": status})
        self.status = status


@dataclass(frozen=True)
class Connection:
    """How registries are reached. ``proxy``: URL of a proxy, empty for none; ``trust_bundle``: further CA certificates, PEM."""

    proxy: str = ""
    trust_bundle: str = ""
    timeout: float = 30.0
    retries: int = 3
    delay: float = 2.0

    def opener(self) -> urllib.request.OpenerDirector:
        """Return an opener that trusts the system's CAs and the bundle. Raises RegistryError for a bundle that cannot be read."""
        context = ssl.create_default_context()
        if self.trust_bundle.strip():
            try:
                context.load_verify_locations(cadata=self.trust_bundle)
            except (ssl.SSLError, ValueError) as problem:
                raise RegistryError(f"the trust bundle has no certificates in PEM format: {problem}") from problem
        # An empty table: the proxies of the environment are those of the controller, not of the nodes.
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _Redirects(self)
        return urllib.request.build_opener(*handlers)

    def request(self, method: str, url: str, headers: Mapping[str, str]) -> urllib.request.Request:
        """Return a request that goes through the proxy. Raises RegistryError for a URL that is not https."""
        if not url.startswith("https://"):
            raise RegistryError(f"{url} is not an https URL")
        request = urllib.request.Request(url, headers=dict(headers), method=method)  # noqa: S310 - https, see above
        if self.proxy:
            parts = urllib.parse.urlsplit(self.proxy)
            # Before the proxy is set: its address would be taken for the server's.
            request.add_unredirected_header("Host", request.host)
            request.set_proxy(parts.netloc.rpartition("@")[2], "http")
            if parts.username:
                login = encoded_login(urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or ""))
                request.add_header("Proxy-Authorization", f"Basic {login}")
        return request


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects through the proxy, without the login."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def redirect_request(  # noqa: PLR0913, PLR0917 - as in the parent
        self, req: urllib.request.Request, fp: object, code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if code not in {301, 302, 303, 307, 308}:
            return None
        return self._connection.request(req.get_method(), newurl, {"Accept": MANIFEST_TYPES})


@dataclass
class RegistryClient:
    """A registry. ``login`` returns ``auth`` of a pull secret (base64 of user and password) for a repository, empty for none.

    May be used by several threads.
    """

    host: str
    login: Callable[[str], str]
    connection: Connection = field(default_factory=Connection)

    def __post_init__(self) -> None:
        self._opener = self.connection.opener()
        # Header Authorization of each repository.
        self._authorizations: dict[str, str] = {}

    def has_manifest(self, repository: str, digest: str) -> bool:
        """Return whether the registry has a manifest. Raises RegistryError for every answer other than yes and 404."""
        try:
            self._request("HEAD", repository, f"manifests/{digest}", 0)
        except RegistryError as problem:
            if problem.status == 404:
                return False
            raise
        return True

    def manifest(self, repository: str, digest: str) -> bytes:
        """Return a manifest, verified. Raises RegistryError."""
        return _verified(digest, self._request("GET", repository, f"manifests/{digest}", LONGEST_MANIFEST))

    def blob(self, repository: str, digest: str) -> bytes:
        """Return a blob, verified. Raises RegistryError."""
        return _verified(digest, self._request("GET", repository, f"blobs/{digest}", LONGEST_BLOB))

    def _request(self, method: str, repository: str, path: str, limit: int) -> bytes:
        url = f"https://{self.host}/v2/{repository}/{path}"
        headers = {"Accept": MANIFEST_TYPES}
        for _unused in range(2):
            known = self._authorizations.get(repository, "")
            sent_headers = {**headers, "Authorization": known} if known else headers
            try:
                return self._tried(method, url, sent_headers, limit)
            except _ChallengedError as challenge:
                # A token may have expired; the same login again is refused again.
                renewed = self._authorize(repository, challenge.text)
                if renewed == known:
                    break
                self._authorizations[repository] = renewed
        raise RegistryError(self._refused(repository), 401)

    def _refused(self, repository: str) -> str:
        entry = "the login of the pull secret" if self.login(repository) else f"no login: the pull secret has no entry for {self.host}"
        return f"HTTP 401, {entry}"

    def _authorize(self, repository: str, challenge: str) -> str:
        """Return the header for a challenge (RFC 9110; Docker Registry v2 token authentication). Raises RegistryError."""
        scheme, _unused, rest = challenge.partition(" ")
        login = self.login(repository)
        if scheme.lower() == "basic":
            if not login:
                raise RegistryError(self._refused(repository), 401)
            return f"Basic {login}"
        parameters = dict(_PARAMETER.findall(rest))
        realm = parameters.get("realm", "")
        if scheme.lower() != "bearer" or not realm.startswith("https://"):
            raise RegistryError(f"HTTP 401 with an unknown challenge: {challenge[:100] or 'none'}", 401)
        query = {"service": parameters.get("service", ""), "scope": parameters.get("scope", f"repository:{repository}:pull")}
        headers = {"Authorization": f"Basic {login}"} if login else {}
        try:
            answer = self._tried("GET", f"{realm}?{urllib.parse.urlencode(query)}", headers, LONGEST_MANIFEST)
        except _ChallengedError as problem:
            raise RegistryError(self._refused(repository), 401) from problem
        try:
            document = json.loads(answer)
            token = document.get("token") or document.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if not isinstance(token, str):
            raise RegistryError("its token service returned no token", 401)
        return f"Bearer {token}"

    def _tried(self, method: str, url: str, headers: Mapping[str, str], limit: int) -> bytes:
        """Send a request, repeated after failures that may pass. Raises RegistryError, and _ChallengedError for 401."""
        left = self.connection.retries
        while True:
            try:
                return self._sent(method, url, headers, limit)
            except RegistryError as problem:
                passes = problem.status in {0, 429} or problem.status >= 500
                if not passes or left <= 0:
                    raise
            left -= 1
            time.sleep(self.connection.delay)

    def _sent(self, method: str, url: str, headers: Mapping[str, str], limit: int) -> bytes:
        request = self.connection.request(method, url, headers)
        try:
            with self._opener.open(request, timeout=self.connection.timeout) as answer:
                content: bytes = answer.read(limit + 1) if method == "GET" else b""
                # A read with a limit ends without an error when the connection does.
                pending = answer.length or 0 if method == "GET" else 0
        except urllib.error.HTTPError as problem:
            with problem:
                if problem.code == 401:
                    raise _ChallengedError(problem.headers.get("WWW-Authenticate", "")) from problem
                raise RegistryError(f"HTTP {problem.code} {_reason(problem)}".strip(), problem.code) from problem
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as problem:
            raise RegistryError(str(getattr(problem, "reason", None) or problem or type(problem).__name__)) from problem
        if len(content) > limit and method == "GET":
            raise RegistryError(f"an object of more than {limit} bytes", 200)
        if pending:
            raise RegistryError(f"the connection ended after {len(content)} of {len(content) + pending} bytes")
        return content


class _ChallengedError(Exception):
    """401; ``text`` is the header WWW-Authenticate."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _reason(problem: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(problem.read(LONGEST_MANIFEST))["errors"][0]["message"])
    except (ValueError, LookupError, TypeError, OSError):
        return str(problem.reason)


def _verified(digest: str, content: bytes) -> bytes:
    algorithm, _unused, expected = digest.partition(":")
    if algorithm != "sha256" or hashlib.sha256(content).hexdigest() != expected:
        raise RegistryError(f"its content has another digest than {digest}", 200)
    return content


def encoded_login(user: str, password: str) -> str:
    """Return ``auth`` of a pull secret."""
    return base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
