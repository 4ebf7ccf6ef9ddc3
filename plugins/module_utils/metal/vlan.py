# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual networks (VLANs) of a project.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import STATE_OPTIONS, Options, identifier
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    MetalError,
    NotFoundError,
    ValidationError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code, normal_tags, reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once, meant_by_tags, refuse_to_guess

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

VLAN_OPTIONS = Options(
    {
        "id": identifier(),
        "vxlan": {"type": "int"},
        "metro": {"type": "str"},
        "description": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
    },
    required_one_of=[["id", "vxlan", "tags", "description"]],
).merge(STATE_OPTIONS)

_ANOTHER = "delete it and create another"


def vlan_facts(network: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_vlan`` returns of a virtual network."""
    return {
        "id": network.get("id"),
        "vxlan": network.get("vxlan"),
        "metro": metro_code(network),
        "description": network.get("description"),
        "tags": sorted(network.get("tags") or []),
        "created_at": network.get("created_at"),
        "devices": [device for device in map(reference, network.get("instances") or []) if device],
        "metal_gateways": [gateway for gateway in map(reference, network.get("metal_gateways") or []) if gateway],
    }


def _users(network: Mapping[str, Any]) -> list[str]:
    """Who stands against the end of a network, as far as its names are told: devices, gateways, a virtual circuit."""
    devices = [device for device in network.get("instances") or [] if isinstance(device, Mapping)]
    users = [_device_text(device, reference(network)) for device in devices]
    users += [f"gateway {gateway}" for gateway in vlan_facts(network)["metal_gateways"]]
    return users + (["a virtual circuit"] if network.get("assigned_to_virtual_circuit") is True else [])


def _device_text(device: Mapping[str, Any], network: str | None) -> str:
    """A device with the ports by which it is in the network, as far as they are told: ``device worker-0 <id> (bond0)``."""
    listed = device.get("network_ports")
    ports = [
        _text(port, "name")
        for port in (listed if isinstance(listed, list) else [])
        if isinstance(port, Mapping) and network in map(reference, port.get("virtual_networks") or [])
    ]
    name = " ".join(filter(None, (_text(device, "hostname"), reference(device))))
    return f"device {name} ({', '.join(ports)})" if ports else f"device {name}"


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


class Vlan:
    """A virtual network: by its id, else by its number, else by its tags, else by its description, in its metro."""

    result_key = "virtual_network"
    immutable: Mapping[str, str] = {
        "vxlan": f"a network keeps its number: {_ANOTHER}",
        "metro": f"a network stays in its metro: {_ANOTHER}",
    }
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        params = self._params
        if params["id"]:
            return f"VLAN {params['id']}"
        mark = params["vxlan"] or " ".join(params["tags"] or []) or repr(params["description"])
        return f"VLAN {mark}" + (f" in {params['metro']}" if params["metro"] else "")

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._client.read(f"virtual-networks/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                text = (
                    f"There is no VLAN with the id {params['id']}. One is created by its number, tags or description: leave id out for that"
                )
                raise CollectionError(text, error.details) from error
        if params["vxlan"] is not None and not params["metro"]:
            raise CollectionError("metro must be given with vxlan: each metro counts its VLANs by itself")
        networks = self._client.read_list(
            f"projects/{params['project_id']}/virtual-networks",
            "virtual_networks",
            params={"metro": params["metro"]},
            doing=f"look for {self.title}",
        )
        same = self._narrowed([network for network in networks if self._is_meant(network)])
        if len(same) > 1:
            ids = ", ".join(sorted(str(network.get("id")) for network in same))
            raise CollectionError(f"{len(same)} VLANs are {self.title}: {ids}. Say which one is meant by its id, or by vxlan and metro")
        if not same:
            mark = "vxlan" if params["vxlan"] is not None else "tags" if params["tags"] else "description"
            refuse_to_guess(networks, {mark: params[mark]}, self._is_meant, self.title)
        return same[0] if same else None

    def _is_meant(self, network: Found) -> bool:
        params = self._params
        if params["metro"] and metro_code(network) != params["metro"].lower():
            return False
        if params["vxlan"] is not None:
            return bool(network.get("vxlan") == params["vxlan"])
        if params["tags"]:
            return set(params["tags"]) <= set(network.get("tags") or [])
        return bool(params["description"]) and bool(network.get("description") == params["description"])

    def _narrowed(self, same: list[Found]) -> list[Found]:
        """A number says which one it is. Tags and texts may be another's as well: only what is all that was given is deleted by them."""
        params = self._params
        if params["vxlan"] is not None:
            return same
        if params["tags"]:
            same = meant_by_tags(same, params["tags"], description=params["description"])
        if params["state"] == "absent":
            same = [network for network in same if not differences(self.comparable(network), self.desired())]
        return same

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {
            "vxlan": params["vxlan"],
            "metro": params["metro"].lower() if params["metro"] else None,
            "description": params["description"],
            "tags": None if params["tags"] is None else normal_tags(params["tags"]),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {
            "vxlan": found.get("vxlan"),
            "metro": metro_code(found),
            "description": found.get("description") or "",
            "tags": normal_tags(found.get("tags") or []),
        }

    def result(self, found: Found) -> dict[str, Any]:
        return vlan_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        return {**(found or {}), **changes, "metro": {"code": changes.get("metro") or metro_code(found or {})}}

    def check_creation(self) -> None:
        params = self._params
        problems = [] if params["metro"] else ["to create it, metro must be given"]
        # The numbers the service takes (vendor's OpenAPI text).
        if params["vxlan"] is not None and not 2 <= params["vxlan"] <= 3999:
            problems.append(f"vxlan must be 2 to 3999, not {params['vxlan']}")
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        body = {name: self._params[name] for name in ("vxlan", "metro", "description", "tags") if self._params[name] is not None}
        path = f"projects/{self._params['project_id']}/virtual-networks"
        return self._client.write_one("POST", path, body, doing=f"create {self.title}", again=False)

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        body = {name: self._params[name] for name in changes}
        doing = f"change {', '.join(sorted(body))} of {self.title}"
        return self._client.write_one("PUT", f"virtual-networks/{found['id']}", body, doing=doing)

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"virtual-networks/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        if not _users(found):
            return
        facts = vlan_facts(found)
        users = _users(self._named(found)) or _users(found)
        raise CollectionError(
            f"Cannot delete {self.title} ({found.get('id')}): it is in use by {', '.join(users)}. Take it off their ports first, "
            "and delete its gateways",
            {"devices": facts["devices"], "metal_gateways": facts["metal_gateways"], "used_by": users},
        )

    def _named(self, found: Found) -> Found:
        """The network with the names of its devices: a list tells their ids only. Ids will do where names cannot be had."""
        params = {"include": "instances"}
        try:
            return self._client.read(f"virtual-networks/{found['id']}", params=params, doing=f"see who uses {self.title}")
        except MetalError:
            return found

    def delete(self, found: Found) -> list[str]:
        try:
            delete_once(self._client, f"virtual-networks/{found['id']}", doing=f"delete {self.title}")
        except ValidationError:
            # "Cannot delete Virtual Network when port is assigned": say by whom, if that can be seen by now.
            self.check_deletion(self.refresh(found))
            raise
        return []

    def remaining(self, found: Found) -> list[str]:
        return []
