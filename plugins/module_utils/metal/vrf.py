# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VRFs: routing tables of a project, with address ranges of its own.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    NotFoundError,
    ValidationError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code, normal_tags
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

VRF_OPTIONS = Options(
    {
        "id": identifier(),
        "name": {"type": "str"},
        "metro": {"type": "str"},
        "local_asn": {"type": "int"},
        "ip_ranges": {"type": "list", "elements": "str"},
        "description": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
    },
    required_one_of=[["id", "name"]],
).merge(STATE_OPTIONS)

VRF_INFO_OPTIONS = Options(
    {
        "ids": identifiers(aliases=["vrf_id"]),
        "names": {"type": "list", "elements": "str"},
        "metro": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
    }
)


def normal_ranges(ranges: Any) -> list[str]:
    """Subnets in comparable form; their order means nothing. What is no subnet stays as it is, for the service to judge."""
    return sorted({_normal_range(each) for each in ranges or [] if isinstance(each, str)})


def _normal_range(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError:
        return text.strip()


def vrf_facts(vrf: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_vrf`` and ``metal_vrf_info`` return."""
    return {
        **{name: vrf.get(name) for name in ("id", "name", "description", "local_asn", "created_at")},
        "metro": metro_code(vrf),
        "ip_ranges": normal_ranges(vrf.get("ip_ranges")),
        "tags": sorted(vrf.get("tags") or []),
    }


class Vrf:
    """A VRF: by its id, else by its name, in its metro if that is given."""

    result_key = "vrf"
    immutable: Mapping[str, str] = {"metro": "a VRF stays in its metro: delete it and create another"}
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        return f"VRF {self._params['id'] or self._params['name']}"

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._client.read(f"vrfs/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                raise CollectionError(
                    f"There is no VRF with the id {params['id']}. One is created by its name: leave id out for that", error.details
                ) from error
        same = [vrf for vrf in list_vrfs(self._client, params, f"look for {self.title}") if vrf.get("name") == params["name"]]
        here = [vrf for vrf in same if params["metro"] and metro_code(vrf) == params["metro"].lower()]
        same = here or same
        if len(same) > 1:
            ids = ", ".join(sorted(str(vrf.get("id")) for vrf in same))
            raise CollectionError(f"{len(same)} VRFs are {self.title}: {ids}. Say which one is meant by its id or its metro")
        return same[0] if same else None

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {
            **{name: params[name] for name in ("name", "local_asn", "description")},
            "metro": params["metro"].lower() if params["metro"] else None,
            "ip_ranges": None if params["ip_ranges"] is None else normal_ranges(params["ip_ranges"]),
            "tags": None if params["tags"] is None else normal_tags(params["tags"]),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {
            "name": found.get("name"),
            "local_asn": found.get("local_asn"),
            "description": found.get("description") or "",
            "metro": metro_code(found),
            "ip_ranges": normal_ranges(found.get("ip_ranges")),
            "tags": normal_tags(found.get("tags") or []),
        }

    def result(self, found: Found) -> dict[str, Any]:
        return vrf_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**(found or {}), **changes, "metro": {"code": changes.get("metro") or metro_code(found or {})}}

    def check_creation(self) -> None:
        problems = [f"to create it, {name} must be given" for name in ("name", "metro") if not self._params[name]]
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        path = f"projects/{self._params['project_id']}/vrfs"
        return self._client.write_one("POST", path, self.desired(), doing=f"create {self.title}", again=False)

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        doing = f"change {', '.join(sorted(changes))} of {self.title}"
        return self._client.write_one("PUT", f"vrfs/{found['id']}", dict(changes), doing=doing)

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"vrfs/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        return None

    def delete(self, found: Found) -> list[str]:
        try:
            delete_once(self._client, f"vrfs/{found['id']}", doing=f"delete {self.title}")
        except ValidationError as error:
            users = self._users(found)
            if users:
                text = f"Cannot delete {self.title} ({found.get('id')}): it is in use by {', '.join(users)}. Delete those first"
                raise CollectionError(text, {**error.details, "used_by": users}) from error
            raise
        return []

    def _users(self, found: Found) -> list[str]:
        """Blocks of the VRF, each with the gateway that has it."""
        blocks = self._client.read_list(f"vrfs/{found['id']}/ips", "ip_addresses", doing=f"see what is in {self.title}")
        users = []
        for block in blocks:
            gateway = block.get("metal_gateway")
            if isinstance(gateway, Mapping) and gateway.get("id"):
                users.append(f"gateway {gateway['id']}")
            users.append(f"IP reservation {block.get('id')} ({block.get('network')}/{block.get('cidr')})")
        return users

    def remaining(self, found: Found) -> list[str]:
        return []


def list_vrfs(client: MetalClient, params: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"projects/{params['project_id']}/vrfs", "vrfs", doing=doing)


def find_vrfs(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_vrf_info`` returns."""
    facts = [vrf_facts(vrf) for vrf in list_vrfs(client, params, "list the project's VRFs")]
    for name, wanted in (("id", params["ids"]), ("name", params["names"])):
        if wanted is not None:
            facts = [each for each in facts if each[name] in wanted]
    if params["metro"]:
        facts = [each for each in facts if each["metro"] == params["metro"].lower()]
    if params["tags"] is not None:
        facts = [each for each in facts if set(params["tags"]) <= set(each["tags"])]
    return {"vrfs": facts}
