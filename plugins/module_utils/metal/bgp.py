# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BGP: the configuration of a project, and the sessions of its devices.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    PRESENT_OPTIONS,
    STATE_OPTIONS,
    Options,
    identifier,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    LostAnswerError,
    NotFoundError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import project_of, reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

BGP_CONFIG_OPTIONS = Options(
    {
        "deployment_type": {"type": "str", "choices": ["local", "global"]},
        "asn": {"type": "int"},
        "md5": {"type": "str", "no_log": True},
        "use_case": {"type": "str"},
    }
).merge(PRESENT_OPTIONS)
BGP_SESSION_OPTIONS = Options(
    {
        "id": identifier(),
        "device_id": identifier(),
        "address_family": {"type": "str", "choices": ["ipv4", "ipv6"]},
        "default_route": {"type": "bool"},
    },
    required_one_of=[["id", "device_id"]],
    required_together=[["device_id", "address_family"]],
).merge(STATE_OPTIONS)
BGP_INFO_OPTIONS = Options({"device_id": identifier()})

MD5 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[a-zA-Z0-9]{10,20}")
"""What the service takes (vendor's OpenAPI text)."""

AS_GIVEN, ANOTHER = "as given", "another"
"""What is told of a password. It is short, so that even its hash would tell too much."""


def bgp_config_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_bgp_config`` and ``metal_bgp_info`` return; not the password."""
    names = ("id", "status", "deployment_type", "asn", "max_prefix", "route_object", "requested_at")
    return {**{name: config.get(name) for name in names}, "ranges": config.get("ranges") or [], "md5_enabled": bool(config.get("md5"))}


def bgp_session_facts(session: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_bgp_session`` and ``metal_bgp_info`` return."""
    return {
        **{name: session.get(name) for name in ("id", "address_family", "status", "switch_name", "created_at")},
        "default_route": bool(session.get("default_route")),
        "learned_routes": session.get("learned_routes") or [],
        "device_id": reference(session.get("device")),
    }


class BgpConfig:
    """The BGP configuration of a project, of which there is one. It cannot be deleted, only asked for anew (clients' code)."""

    result_key = "bgp_config"
    immutable: Mapping[str, str] = {}
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        return f"the BGP configuration of project {self._params['project_id']}"

    def find(self) -> Found | None:
        found = self._client.read(f"projects/{self._params['project_id']}/bgp-config", doing=f"look for {self.title}")
        # An empty object where BGP was never asked for (vendor's OpenAPI text).
        return found if found.get("deployment_type") else None

    def desired(self) -> dict[str, Any]:
        params = self._params
        if params["md5"] and not MD5.fullmatch(params["md5"]):
            raise CollectionError(
                "md5 must be 10 to 20 letters and digits, with a lower case letter, an upper case letter and a digit among them"
            )
        wanted = {"deployment_type": params["deployment_type"], "asn": params["asn"]}
        if params["md5"] is not None:
            wanted["md5"] = AS_GIVEN if params["md5"] else ""
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        md5 = found.get("md5")
        told = "" if not md5 else AS_GIVEN if md5 == self._params["md5"] else ANOTHER
        return {"deployment_type": found.get("deployment_type"), "asn": found.get("asn"), "md5": told}

    def result(self, found: Found) -> dict[str, Any]:
        return bgp_config_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        body = self._body(found or {})
        return {**(found or {}), **body, "md5": body.get("md5"), "status": "enabled" if body["deployment_type"] == "local" else "requested"}

    def check_creation(self) -> None:
        problems = [f"to create it, {name} must be given" for name in ("deployment_type", "asn") if self._params[name] is None]
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        return self._ask({}, again=False)

    def _body(self, found: Found) -> dict[str, Any]:
        """All of it: what is asked for takes the place of what was there."""
        names = ("deployment_type", "asn", "md5", "use_case")
        body = {name: found.get(name) if self._params[name] is None else self._params[name] for name in names}
        return {name: value for name, value in body.items() if value not in (None, "")}

    def _ask(self, found: Found, *, again: bool = True) -> Found:
        path = f"projects/{self._params['project_id']}/bgp-configs"
        doing = f"ask for {self.title}"
        answer = self._client.send("POST", path, self._body(found), doing=doing, again=again)
        current = self.find()
        # The answer has no body (204), so only a look tells whether it was done.
        if current is None or differences(self.comparable(current), self.desired()):
            origin = f"POST /{path}" + (f", request {answer.request_id}" if answer.request_id else "")
            raise LostAnswerError(
                f"Could not {doing}: the service accepted it ({answer.status}), but does not show it as it was asked for ({origin})",
                method="POST",
                path=path,
                status=answer.status,
                request_id=answer.request_id,
            )
        return current

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        return self._ask(found)

    def refresh(self, found: Found) -> Found:
        return self.find() or found

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        raise CollectionError(f"{self.title} is deleted with the project only")

    def delete(self, found: Found) -> list[str]:
        raise CollectionError(f"{self.title} is deleted with the project only")

    def remaining(self, found: Found) -> list[str]:
        return []


class BgpSession:
    """A device's BGP session: by its id, or by its device and address family, of each of which there is one."""

    result_key = "bgp_session"
    immutable: Mapping[str, str] = {
        "device_id": "a session stays with its device: delete it and create another",
        "address_family": "a session keeps its address family: create another beside it",
    }
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        params = self._params
        if params["id"]:
            return f"BGP session {params['id']}"
        return f"the {params['address_family']} BGP session of device {params['device_id']}"

    def find(self) -> Found | None:
        params = self._params
        absent = params["state"] == "absent"
        if params["id"]:
            try:
                return self._client.read(f"bgp/sessions/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if absent:
                    return None
                text = f"There is no BGP session with the id {params['id']}. One is created by device_id and address_family: leave id out"
                raise CollectionError(text, error.details) from error
        try:
            sessions = list_sessions(self._client, f"devices/{params['device_id']}", f"look for {self.title}")
        except NotFoundError:
            if absent:
                return None  # it went with its device
            raise
        same = [session for session in sessions if session.get("address_family") == params["address_family"]]
        return same[0] if same else None

    def desired(self) -> dict[str, Any]:
        return {name: self._params[name] for name in ("device_id", "address_family", "default_route") if self._params[name] is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {
            "device_id": reference(found.get("device")) or self._params["device_id"],
            "address_family": found.get("address_family"),
            "default_route": bool(found.get("default_route")),
        }

    def result(self, found: Found) -> dict[str, Any]:
        return bgp_session_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**(found or {"status": "unknown"}), **changes, "device": {"id": self.comparable(found or {})["device_id"]}}

    def check_creation(self) -> None:
        return None

    def create(self) -> Found:
        body = {name: self._params[name] for name in ("address_family", "default_route") if self._params[name] is not None}
        path = f"devices/{self._params['device_id']}/bgp/sessions"
        return self._client.write_one("POST", path, body, doing=f"create {self.title}", again=False)

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        # The body is a bare true or false (vendor's OpenAPI text).
        doing = f"change default_route of {self.title}"
        return self._client.write_one("PUT", f"bgp/sessions/{found['id']}", self._params["default_route"], doing=doing)

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"bgp/sessions/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        return None

    def delete(self, found: Found) -> list[str]:
        delete_once(self._client, f"bgp/sessions/{found['id']}", doing=f"delete {self.title}")
        return []

    def remaining(self, found: Found) -> list[str]:
        return []


def list_sessions(client: MetalClient, owner: str, doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"{owner}/bgp/sessions", "bgp_sessions", doing=doing)


def find_bgp(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_bgp_info`` returns: of a device, or of the whole project."""
    device = params["device_id"]
    # Of its own project: another one's configuration says nothing about its sessions.
    project = project_of(client, device) if device else params["project_id"]
    config = client.read(f"projects/{project}/bgp-config", doing="read the project's BGP configuration")
    owner, of_whom = (f"devices/{device}", f"device {device}") if device else (f"projects/{project}", "the project")
    sessions = list_sessions(client, owner, f"list the BGP sessions of {of_whom}")
    neighbors: list[dict[str, Any]] = []
    if device:
        found = client.read_list(f"devices/{device}/bgp/neighbors", "bgp_neighbors", doing=f"list the BGP neighbors of device {device}")
        neighbors = [{name: value for name, value in each.items() if name != "md5_password"} for each in found]
    return {
        "bgp_config": bgp_config_facts(config) if config.get("deployment_type") else None,
        "bgp_sessions": [bgp_session_facts(session) for session in sessions],
        "bgp_neighbors": neighbors,
    }
