# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small client of the Kubernetes API, for the sandbox's operators and approver. Objects are dicts."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx

Object = dict[str, Any]

NODES: Final = "/api/v1/nodes"
CSRS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

_FIELD_OWNER: Final = "sandbox"
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


class APIError(Exception):
    """The API server refused. ``status`` is the HTTP status, ``reason`` the Status object's (``Forbidden``)."""

    def __init__(self, attempted: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{attempted}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason

    @classmethod
    def of(cls, attempted: str, response: httpx.Response) -> APIError:
        """Read the Status object of an answer, or its text where there is none."""
        try:
            body = response.json()
            reason, message = str(body.get("reason", "")), str(body.get("message", ""))
        except (ValueError, AttributeError):
            reason, message = "", response.text[:300]
        return cls(attempted, response.status_code, reason, message)


class ClusterAPI:
    """A client of one API server at ``url``, with a client certificate; its certificate is checked for ``server_name``.

    Calls raise :class:`APIError` when refused and ``httpx.TransportError`` when the server cannot be reached.
    """

    def __init__(self, url: str, *, server_name: str, ca_pem: bytes, cert: tuple[Path, Path]) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=ca_pem.decode("ascii"))
        context.load_cert_chain(*cert)
        self._extensions = {"sni_hostname": server_name}
        self._client = httpx.AsyncClient(base_url=url, verify=context, trust_env=False, timeout=15.0)
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def ready(self) -> bool:
        """Return whether ``/readyz`` answers ok."""
        try:
            answer = await self._client.get("/readyz", extensions=self._extensions, timeout=5.0)
        except httpx.TransportError:
            return False
        return answer.status_code == 200

    async def get(self, path: str) -> Object | None:
        """Return an object, None when it does not exist."""
        try:
            return await self._send("GET", path)
        except APIError as error:
            if error.status == 404:
                return None
            raise

    async def items(self, path: str, **params: str) -> list[Object]:
        """Return all objects of a collection, paged."""
        return (await self.list_at(path, **params))[0]

    async def list_at(self, path: str, **params: str) -> tuple[list[Object], str]:
        """Return all objects of a collection and the resource version to watch from."""
        objects: list[Object] = []
        more: dict[str, str] = {}
        while True:
            page = await self._send("GET", path, params={"limit": "500", **params, **more})
            objects += page["items"]
            if not page["metadata"].get("continue"):
                return objects, page["metadata"]["resourceVersion"]
            more = {"continue": page["metadata"]["continue"]}

    async def create(self, path: str, body: Object) -> Object:
        """POST to a collection."""
        return await self._send("POST", path, body=body)

    async def put(self, path: str, body: Object) -> Object:
        """Replace an object or a subresource."""
        return await self._send("PUT", path, body=body)

    async def patch(self, path: str, body: Object) -> Object:
        """Merge-patch an object or a subresource."""
        return await self._send("PATCH", path, body=body, content_type=_MERGE)

    async def apply(self, path: str, body: Object, *, status: bool = False) -> Object:
        """Server-side apply: create the object, or set these fields. ``path`` is the object's own."""
        return await self._send(
            "PATCH",
            f"{path}/status" if status else path,
            body=body,
            content_type=_APPLY,
            params={"fieldManager": _FIELD_OWNER, "force": "true"},
        )

    async def delete(self, path: str, *, grace_seconds: int | None = None, uid: str | None = None) -> None:
        """Delete an object, with ``uid`` only the one with this UID. A missing object is no error."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            await self._send("DELETE", path, body=body)
        except APIError as error:
            if error.status != 404:
                raise

    async def watch(self, path: str, resource_version: str, **params: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield (ADDED | MODIFIED | DELETED | BOOKMARK, object) until the server ends the watch (here after 5 minutes).

        Raises :class:`APIError` when the version is too old (410): list again.
        """
        query = {"watch": "true", "resourceVersion": resource_version, "timeoutSeconds": "300", "allowWatchBookmarks": "true", **params}
        timeout = httpx.Timeout(15.0, read=330.0)
        async with self._client.stream("GET", path, params=query, extensions=self._extensions, timeout=timeout) as answer:
            if answer.status_code != 200:
                await answer.aread()
                raise APIError.of(f"watch {path}", answer)
            async for line in answer.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise APIError(f"watch {path}", status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                yield event["type"], event["object"]

    async def path_of(self, manifest: Mapping[str, Any]) -> str:
        """Return the path of an object, found by discovery. Raises :class:`APIError` (404) for a kind the server has not."""
        version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._kinds:
            resources = (await self._send("GET", root))["resources"]
            self._kinds |= {
                (version, entry["kind"]): (entry["name"], entry["namespaced"]) for entry in resources if "/" not in entry["name"]
            }
        if (version, kind) not in self._kinds:
            raise APIError(f"find {kind}", 404, "NotFound", f"{root} has no kind {kind}")
        plural, namespaced = self._kinds[version, kind]
        metadata = manifest["metadata"]
        folder = f"{root}/namespaces/{metadata.get('namespace', 'default')}" if namespaced else root
        return f"{folder}/{plural}/{metadata['name']}"

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        if self._client.is_closed:
            raise httpx.ConnectError("another API server is used by now")
        answer = await self._client.request(
            method,
            path,
            params=params,
            content=None if body is None else json.dumps(body),
            headers={"content-type": content_type, "accept": "application/json"},
            extensions=self._extensions,
        )
        if answer.is_error:
            raise APIError.of(f"{method} {path}", answer)
        result: Object = answer.json()
        return result
