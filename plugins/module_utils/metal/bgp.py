# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""BGP: the configuration of a project, and the sessions of its devices."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.argspec import PRESENT_OPTIONS, STATE_OPTIONS, Options, identifier
from ..base.diff import differences
from ..base.errors import CollectionError, LostAnswerError, NotFoundError
from . import attribute
from .attribute import Attribute, options_of
from .objects import project_of
from .resource import Resource

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

MD5 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[a-zA-Z0-9]{10,20}")
"""Passwords that the API accepts (vendor's OpenAPI text)."""

LOCAL_ASN = 65000
"""Autonomous system number of the project's side in local deployments (vendor's documentation of BGP)."""

AS_GIVEN, ANOTHER = "as given", "another"
"""What a diff shows of a password, which is so short that its hash would reveal it."""

CONFIG_ATTRIBUTES = (
    Attribute(name="deployment_type", option={"type": "str", "choices": ["local", "global"]}, required=True),
    Attribute(name="asn", option={"type": "int"}, required=True),
    Attribute(name="md5", option={"type": "str", "no_log": True}, returned=False),
    Attribute(name="use_case", option={"type": "str"}, compared=False),
)
SESSION_ATTRIBUTES = (
    attribute.link("device_id", "device", immutable="a session stays with its device: delete it and create another"),
    Attribute(
        name="address_family",
        option={"type": "str", "choices": ["ipv4", "ipv6"]},
        immutable="a session keeps its address family: create another beside it",
    ),
    Attribute(name="default_route", option={"type": "bool"}, read=lambda current: bool(current.get("default_route"))),
)

BGP_CONFIG_OPTIONS = Options(options_of(CONFIG_ATTRIBUTES)).merge(PRESENT_OPTIONS)
BGP_SESSION_OPTIONS = Options(
    {"id": identifier(), **options_of(SESSION_ATTRIBUTES), "enable_local_bgp": {"type": "bool", "default": False}},
    required_one_of=[["id", "device_id"]],
    required_together=[["device_id", "address_family"]],
).merge(STATE_OPTIONS)
BGP_INFO_OPTIONS = Options({"device_id": identifier()})


class BgpConfig(Resource):
    """The only BGP configuration of a project. It cannot be deleted, only requested again (clients' code)."""

    result_key = "bgp_config"
    kind = "BGP configuration"
    attributes = CONFIG_ATTRIBUTES
    returned = ("id", "status", "max_prefix", "route_object", "requested_at")

    @property
    def title(self) -> str:
        return f"BGP configuration of project {self.params['project_id']}"

    def find(self) -> Found | None:
        config = self.client.read(f"projects/{self.params['project_id']}/bgp-config", doing=f"read {self.title}")
        # An empty object without a BGP request (vendor's OpenAPI text).
        return config if config.get("deployment_type") else None

    def desired(self) -> dict[str, Any]:
        md5 = self.params["md5"]
        if md5 and not MD5.fullmatch(md5):
            raise CollectionError(
                "md5 must have 10 to 20 letters and digits, with at least one lower case letter, one upper case letter and one digit"
            )
        return {**super().desired(), **({} if md5 is None else {"md5": AS_GIVEN if md5 else ""})}

    def comparable(self, current: Found) -> dict[str, Any]:
        md5 = current.get("md5")
        return {**super().comparable(current), "md5": "" if not md5 else AS_GIVEN if md5 == self.params["md5"] else ANOTHER}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return {**super().result(current), "ranges": current.get("ranges") or [], "md5_enabled": bool(current.get("md5"))}

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        body = self._whole_body(current or {})
        status = "enabled" if body["deployment_type"] == "local" else "requested"
        return {**(current or {}), **body, "md5": body.get("md5"), "status": status}

    def create(self) -> Found:
        return self._request({}, again=False)

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        return self._request(current)

    def refresh(self, current: Found) -> Found:
        return self.find() or current

    def _whole_body(self, current: Found) -> dict[str, Any]:
        """Return the body of a request, with all attributes: a request replaces the current configuration."""
        body = {**{item.name: item.value(current) for item in self.attributes}, **self.body()}
        return {name: value for name, value in body.items() if value not in (None, "")}

    def _request(self, current: Found, *, again: bool = True) -> Found:
        path = f"projects/{self.params['project_id']}/bgp-configs"
        doing = f"request {self.title}"
        answer = self.client.send("POST", path, self._whole_body(current), doing=doing, again=again)
        requested = self.find()
        # The answer has no body (204), so only a read shows the result.
        if requested is None or differences(self.comparable(requested), self.desired()):
            origin = f"POST /{path}" + (f", request {answer.request_id}" if answer.request_id else "")
            raise LostAnswerError(
                f"Cannot {doing}: the API accepted it ({answer.status}), but returns another configuration ({origin})",
                method="POST",
                path=path,
                status=answer.status,
                request_id=answer.request_id,
            )
        return requested


class BgpSession(Resource):
    """A device's BGP session: by its id, or by its device and address family."""

    result_key = "bgp_session"
    kind = "BGP session"
    path = "bgp/sessions"
    created_by = "device_id and address_family"
    attributes = SESSION_ATTRIBUTES
    returned = ("id", "status", "switch_name", "created_at")
    new_fields: ClassVar[Mapping[str, Any]] = {"status": "unknown"}

    @property
    def title(self) -> str:
        params = self.params
        if params["id"]:
            return f"BGP session {params['id']}"
        return f"{params['address_family']} BGP session of device {params['device_id']}"

    @property
    def list_path(self) -> str:
        return f"devices/{self.params['device_id']}/bgp/sessions"

    def find_by_options(self) -> Found | None:
        try:
            sessions = list_sessions(self.client, f"devices/{self.params['device_id']}", f"read {self.title}")
        except NotFoundError:
            if self.params["state"] == "absent":
                return None  # it was deleted with its device
            raise
        same = [session for session in sessions if session.get("address_family") == self.params["address_family"]]
        return same[0] if same else None

    def comparable(self, current: Found) -> dict[str, Any]:
        comparable = super().comparable(current)
        return {**comparable, "device_id": comparable["device_id"] or self.params["device_id"]}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return {**super().result(current), "learned_routes": current.get("learned_routes") or []}

    def body(self, names: Container[str] | None = None) -> dict[str, Any]:
        return {name: value for name, value in super().body(names).items() if name != "device_id"}

    def create(self) -> Found:
        if self.params["enable_local_bgp"]:
            self._enable_local_bgp()
        return super().create()

    def _enable_local_bgp(self) -> None:
        """Enable local BGP for the device's project, unless that has a BGP configuration."""
        project = project_of(self.client, self.params["device_id"])
        config = BgpConfig(
            self.client, {"project_id": project, "deployment_type": "local", "asn": LOCAL_ASN, "md5": None, "use_case": None}
        )
        if config.find() is None:
            config.create()

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        # The body is a bare true or false (vendor's OpenAPI text).
        doing = f"change default_route of {self.title}"
        return self.client.write_one("PUT", f"{self.path}/{current['id']}", self.params["default_route"], doing=doing)


def list_sessions(client: MetalClient, owner: str, doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"{owner}/bgp/sessions", "bgp_sessions", doing=doing)


def find_bgp(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_bgp_info`` returns: of a device, or of the whole project."""
    device = params["device_id"]
    # The configuration of the device's own project applies to its sessions.
    project = project_of(client, device) if device else params["project_id"]
    config = client.read(f"projects/{project}/bgp-config", doing="read the project's BGP configuration")
    owner, of_whom = (f"devices/{device}", f"device {device}") if device else (f"projects/{project}", "the project")
    sessions = list_sessions(client, owner, f"list the BGP sessions of {of_whom}")
    neighbors: list[dict[str, Any]] = []
    if device:
        listed = client.read_list(f"devices/{device}/bgp/neighbors", "bgp_neighbors", doing=f"list the BGP neighbors of device {device}")
        neighbors = [{name: value for name, value in neighbor.items() if name != "md5_password"} for neighbor in listed]
    return {
        "bgp_config": BgpConfig.result(config) if config.get("deployment_type") else None,
        "bgp_sessions": [BgpSession.result(session) for session in sessions],
        "bgp_neighbors": neighbors,
    }
