# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual networks (VLANs) of a project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ..base.diff import differences
from ..base.errors import CollectionError
from ..base.json_objects import mappings, text
from . import attribute
from .attribute import Attribute, options_of
from .objects import metro_code, reference, references
from .resource import OWNERSHIP, Resource, fail_if_unidentified, has_tags, identified_by_tags, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

_ANOTHER = "delete it and create another"

ATTRIBUTES = (
    Attribute(name="vxlan", option={"type": "int"}, immutable=f"a network keeps its number: {_ANOTHER}"),
    attribute.metro(immutable=f"a network stays in its metro: {_ANOTHER}", required=True),
    attribute.text("description"),
    attribute.tags(),
)

VLAN_OPTIONS = Options(
    {"id": identifier(), **options_of(ATTRIBUTES), **OWNERSHIP}, required_one_of=[["id", "vxlan", "tags", "description"]]
).merge(STATE_OPTIONS)

VLAN_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "metro": {"type": "str"},
        "vxlans": {"type": "list", "elements": "int"},
        "tags": {"type": "list", "elements": "str"},
        "description": {"type": "str"},
    }
)


class Vlan(Resource):
    """A virtual network: by its id, else by its number, else by its tags, else by its description, in its metro."""

    result_key = "virtual_network"
    kind = "VLAN"
    path = "virtual-networks"
    created_by = "its number, tags or description"
    attributes = ATTRIBUTES
    users_included = "instances"

    @property
    def title(self) -> str:
        params = self.params
        if params["id"]:
            return f"VLAN {params['id']}"
        name = params["vxlan"] or " ".join(params["tags"] or []) or repr(params["description"])
        return f"VLAN {name}" + (f" in {params['metro']}" if params["metro"] else "")

    def find_by_options(self) -> Found | None:
        params = self.params
        if params["vxlan"] is not None and not params["metro"]:
            raise CollectionError("metro must be set with vxlan: each metro has its own VLAN numbers")
        doing, query = f"read {self.title}", {"metro": params["metro"] or None}
        networks = self.client.read_list(self.list_path, "virtual_networks", params=query, doing=doing)
        same = self._narrowed([network for network in networks if self._is_match(network)])
        if not same:
            known_by = "vxlan" if params["vxlan"] is not None else "tags" if params["tags"] else "description"
            fail_if_unidentified(networks, {known_by: params[known_by]}, self._is_match, self.title)
        return only_one(same, f"VLANs are {self.title}", "its id, or by vxlan and metro")

    def _is_match(self, network: Found) -> bool:
        params = self.params
        if params["metro"] and metro_code(network) != params["metro"].lower():
            return False
        if params["vxlan"] is not None:
            return bool(network.get("vxlan") == params["vxlan"])
        if params["tags"]:
            return has_tags(network, params)
        return bool(params["description"]) and bool(network.get("description") == params["description"])

    def _narrowed(self, same: list[Found]) -> list[Found]:
        """Return the best matches. Tags and texts are not unique: state=absent matches only a VLAN that has all given attributes."""
        params = self.params
        if params["vxlan"] is not None:
            return same
        if params["tags"]:
            same = identified_by_tags(same, params["tags"], description=params["description"])
        if params["state"] == "absent":
            same = [network for network in same if not differences(self.comparable(network), self.desired())]
        return same

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        users = {"devices": references(current.get("instances")), "metal_gateways": references(current.get("metal_gateways"))}
        return {**super().result(current), **users}

    def creation_problems(self) -> list[str]:
        vxlan = self.params["vxlan"]
        # Numbers that the API accepts (vendor's OpenAPI text).
        problems = [] if vxlan is None or 2 <= vxlan <= 3999 else [f"vxlan must be 2 to 3999, not {vxlan}"]
        return [*super().creation_problems(), *problems]

    def check_deletion(self, current: Found) -> None:
        if not _users(current):
            return
        result = self.result(current)
        users = _users(self.with_users(current)) or _users(current)
        raise CollectionError(
            f"Cannot delete {self.title} ({current.get('id')}): it is in use by {', '.join(users)}. Unassign it from their ports first, "
            "and delete its gateways",
            {"devices": result["devices"], "metal_gateways": result["metal_gateways"], "used_by": users},
        )


def find_vlans(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    listed = client.read_list(
        f"projects/{params['project_id']}/virtual-networks",
        "virtual_networks",
        params={"metro": params["metro"] or None},
        doing="list the project's VLANs",
    )
    filters = {"id": params["ids"], "vxlan": params["vxlans"], **{name: params[name] for name in ("metro", "tags", "description")}}
    kept = [result for result in map(Vlan.result, listed) if matches(result, filters)]
    return {"virtual_networks": sorted(kept, key=lambda network: (str(network["metro"]), network["vxlan"] or 0))}


def _users(network: Mapping[str, Any]) -> list[str]:
    """Return what still uses the VLAN and blocks its deletion, as far as names are listed: devices, gateways, a virtual circuit."""
    users = [_device_text(device, reference(network)) for device in mappings(network.get("instances"))]
    users += [f"gateway {gateway}" for gateway in references(network.get("metal_gateways"))]
    return users + (["a virtual circuit"] if network.get("assigned_to_virtual_circuit") is True else [])


def _device_text(device: Mapping[str, Any], network: str | None) -> str:
    """Return a device with its ports in the network, as far as they are listed: ``device worker-0 <id> (bond0)``."""
    listed = mappings(device.get("network_ports"))
    ports = [text(port.get("name")) for port in listed if network in references(port.get("virtual_networks"))]
    name = " ".join(filter(None, (text(device.get("hostname")), reference(device))))
    return f"device {name} ({', '.join(ports)})" if ports else f"device {name}"
