# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container registries, read-only (OCI distribution specification): quay.io for the outside, and a mirror registry of the data centre.

quay.io requires bearer tokens: its token service returns one to every login (accounts are not simulated), and one for public repositories
to everyone. The mirror registry has one login and Basic authentication, and the repositories that oc-mirror makes:
``openshift/release-images`` for release images, ``openshift/release`` for the images of components, and ``redhat/redhat-operator-index``
for a catalogue of each minor version. Images can be removed from it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.control import Call, ControlError, Endpoint, Field, Values
from sandbox.openshift.installer import catalogue, images

RELEASE_REPOSITORY: Final = "openshift/release-images"
COMPONENT_REPOSITORY: Final = "openshift/release"
CATALOG_REPOSITORY: Final = "redhat/redhat-operator-index"
MIRROR_LOGIN: Final = ("mirror", "sandbox-mirror")

_PUBLIC: Final = frozenset({"openshift-release-dev/ocp-release", "okd/scos-release", "okd/scos-content"})
_REQUEST: Final = re.compile(r"(?P<repository>[a-z0-9._/-]+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[^/]+)")
_SCOPE: Final = re.compile(r"repository:(?P<repository>[^:]+):(?P<actions>[a-z,]+)")

Journal = Callable[[Request, int], None]


@dataclass
class Repository:
    """``manifests`` and ``blobs`` by digest, ``tags`` with their digest."""

    manifests: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


class Registry:
    """Repositories behind one kind of authentication.

    ``login``: user and password of Basic authentication; None for bearer tokens of the registry's own token service, ``service``.
    """

    def __init__(
        self,
        content: Callable[[], Mapping[str, Repository]],
        journal: Journal,
        *,
        login: tuple[str, str] | None = None,
        service: str = "",
        removed: Removed | None = None,
    ) -> None:
        self._content = content
        self._journal = journal
        self._login = login
        self._service = service
        self._removed = removed
        # The repositories that each token is for.
        self._tokens: dict[str, frozenset[str]] = {}

    def application(self) -> Starlette:
        """Return the application that serves ``/v2/``."""
        routes = [
            Route("/v2/{path:path}", self._answering, methods=["GET", "HEAD"]),
            Route("/v2", self._answering, methods=["GET", "HEAD"]),
        ]
        return Starlette(routes=routes)

    async def _answering(self, request: Request) -> Response:
        answer = await self._answer(request)
        self._journal(request, answer.status_code)
        return answer

    async def _answer(self, request: Request) -> Response:
        path = request.path_params.get("path", "")
        if self._service and request.url.hostname != self._service:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry", {})
        if self._login is None and path == "auth":
            return self._token(request)
        match = _REQUEST.fullmatch(path)
        repository = match["repository"] if match else ""
        if (refusal := self._refusal(request, repository)) is not None:
            return refusal
        if not path:
            return JSONResponse({}, headers=_API)
        repositories = await asyncio.to_thread(self._content)
        content = repositories.get(repository)
        if match is None or content is None:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry", {"name": repository})
        return self._answer_from(content, repository, match["kind"], match["reference"])

    def _answer_from(self, content: Repository, repository: str, kind: str, reference: str) -> Response:
        removed = self._removed.digests if self._removed is not None else frozenset()
        if kind == "tags":
            tags = sorted(tag for tag, digest in content.tags.items() if digest not in removed)
            return JSONResponse({"name": repository, "tags": tags}, headers=_API)
        if kind == "blobs":
            blob = content.blobs.get(reference)
            if blob is None:
                return _error(404, "BLOB_UNKNOWN", "blob unknown to registry", {"digest": reference})
            return Response(blob, media_type="application/octet-stream", headers={**_API, "Docker-Content-Digest": reference})
        digest = content.tags.get(reference, reference)
        manifest = content.manifests.get(digest) if digest not in removed else None
        if manifest is None:
            return _error(404, "MANIFEST_UNKNOWN", "manifest unknown", {"name": repository, "revision": reference})
        headers = {**_API, "Docker-Content-Digest": digest, "ETag": f'"{digest}"'}
        return Response(manifest, media_type=str(json.loads(manifest)["mediaType"]), headers=headers)

    # --- authentication ------------------------------------------------------------------------------------------------------

    def _refusal(self, request: Request, repository: str) -> Response | None:
        scheme, _unused, credentials = request.headers.get("authorization", "").partition(" ")
        if self._login is not None:
            sent = _basic(credentials) if scheme.lower() == "basic" else None
            expected = ":".join(self._login)
            if sent is not None and hmac.compare_digest(":".join(sent).encode(), expected.encode()):
                return None
            return _unauthorized('Basic realm="mirror registry"')
        granted = self._tokens.get(credentials) if scheme.lower() == "bearer" else None
        if granted is not None and (not repository or repository in granted):
            return None
        scope = f',scope="repository:{repository}:pull"' if repository else ""
        return _unauthorized(f'Bearer realm="https://{self._service}/v2/auth",service="{self._service}"{scope}')

    def _token(self, request: Request) -> Response:
        """Answer as a token service (Docker Registry v2 authentication): scopes that are not granted are left out."""
        scheme, _unused, credentials = request.headers.get("authorization", "").partition(" ")
        login = _basic(credentials) if scheme.lower() == "basic" else None
        if scheme and (login is None or not all(login)):
            return JSONResponse({"errors": [{"code": "UNAUTHORIZED", "message": "Could not find robot with specified username"}]}, 401)
        requested = [match["repository"] for scope in request.query_params.getlist("scope") if (match := _SCOPE.fullmatch(scope))]
        token = secrets.token_urlsafe(32)
        self._tokens[token] = frozenset(name for name in requested if login is not None or name in _PUBLIC)
        while len(self._tokens) > _KEPT_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return JSONResponse({"token": token, "access_token": token, "expires_in": 3600})


_API: Final = {"Docker-Distribution-API-Version": "registry/2.0"}
_KEPT_TOKENS: Final = 10_000


def _basic(credentials: str) -> tuple[str, str] | None:
    try:
        user, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon else None


def _unauthorized(challenge: str) -> Response:
    errors = [{"code": "UNAUTHORIZED", "message": "access to the requested resource is not authorized", "detail": {}}]
    return JSONResponse({"errors": errors}, 401, headers={**_API, "WWW-Authenticate": challenge})


def _error(status: int, code: str, message: str, detail: Mapping[str, str]) -> Response:
    return JSONResponse({"errors": [{"code": code, "message": message, "detail": dict(detail)}]}, status, headers=_API)


# --- what is served ------------------------------------------------------------------------------------------------------


@cache
def outside() -> Mapping[str, Repository]:
    """Return the repositories of quay.io."""
    repositories: dict[str, Repository] = {}
    for release in _releases():
        releases = images.release_repository(okd=release.is_okd).removeprefix("quay.io/")
        components = images.component_repository(okd=release.is_okd).removeprefix("quay.io/")
        _add(repositories.setdefault(releases, Repository()), release, with_releases=True, with_components=False)
        _add(repositories.setdefault(components, Repository()), release, with_releases=False, with_components=True)
    return repositories


@cache
def mirrored() -> Mapping[str, Repository]:
    """Return the repositories of the mirror registry."""
    repositories = {RELEASE_REPOSITORY: Repository(), COMPONENT_REPOSITORY: Repository(), CATALOG_REPOSITORY: _catalogs()}
    for release in _releases():
        _add(repositories[RELEASE_REPOSITORY], release, with_releases=True, with_components=False)
        _add(repositories[COMPONENT_REPOSITORY], release, with_releases=False, with_components=True)
    return repositories


def _catalogs() -> Repository:
    """Return a catalogue for each minor version, by its tag."""
    repository = Repository()
    for minor in sorted({version.rpartition(".")[0] for version in catalogue.VERSIONS}):
        digest, manifests, blobs = images.catalog(minor)
        repository.tags[f"v{minor}"] = digest
        repository.manifests |= manifests
        repository.blobs |= blobs
    return repository


def _releases() -> Iterable[catalogue.Release]:
    for version in catalogue.VERSIONS:
        for architecture in (*catalogue.ARCHITECTURES, catalogue.MULTI):
            yield catalogue.release(version, architecture)
    for version in catalogue.OKD_VERSIONS:
        yield catalogue.release(version, "x86_64")


def _add(repository: Repository, release: catalogue.Release, *, with_releases: bool, with_components: bool) -> None:
    payload, tag = release.payload, f"{release.version}-{release.architecture}"
    if with_releases:
        repository.manifests |= payload.release_manifests
        repository.tags[tag] = payload.digest
    if with_components:
        repository.manifests |= payload.component_manifests
        repository.tags |= {f"{tag}-{name}": digest for name, digest in payload.components.items()}
    repository.blobs |= payload.blobs


# --- images that the mirror lacks ---------------------------------------------------------------------------------------


class Removed:
    """The digests that were removed from the mirror registry, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.digests: frozenset[str] = frozenset(json.loads(path.read_text(encoding="ascii"))) if path.exists() else frozenset()

    def set(self, digests: Iterable[str]) -> None:
        """Replace them all."""
        self.digests = frozenset(digests)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(sorted(self.digests)), encoding="ascii")
        fresh.replace(self._path)


REMOVE: Final = Call(
    "POST",
    "/mirror-registry/remove",
    "remove an image from the mirror registry: the release image, or the image of one of its components",
    body={
        "version": Field("the release", choices=(*catalogue.VERSIONS, *catalogue.OKD_VERSIONS)),
        "architecture": Field("of the release, x86_64 without it", choices=(*catalogue.ARCHITECTURES, catalogue.MULTI)),
        "component": Field("name of the component; without it the release image"),
    },
    example={"version": catalogue.VERSIONS[-1], "component": "etcd"},
)
RESTORE: Final = Call("POST", "/mirror-registry/restore", "put all removed images back into the mirror registry")


def calls(removed: Removed) -> list[tuple[Call, Endpoint]]:
    """Return the calls of the control API."""

    async def remove(values: Values, _params: Mapping[str, str]) -> Response:
        try:
            release = catalogue.release(values.get("version", catalogue.VERSIONS[-1]), values.get("architecture", "x86_64"))
            component = values.get("component")
            digest = release.digest if component is None else release.payload.components[component]
        except KeyError as error:
            raise ControlError(404, f"no release has {error}") from error
        removed.set({*removed.digests, digest})
        return JSONResponse({"removed": sorted(removed.digests)})

    async def restore(_values: Values, _params: Mapping[str, str]) -> Response:
        removed.set(())
        return JSONResponse({"removed": []})

    return [(REMOVE, remove), (RESTORE, restore)]
