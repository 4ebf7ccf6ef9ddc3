# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metal gateways: the routers of VLANs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError
from ..base.json_objects import mapping
from . import attribute
from .attribute import Attribute, options_of
from .objects import reference
from .resource import Resource, limited, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

SUBNET_SIZES = (8, 16, 32, 64, 128)
"""How many addresses the subnet of a gateway may have, private or public (vendor's OpenAPI text and pages)."""

_ANOTHER = "delete it and create another"


def private_size(gateway: Mapping[str, Any]) -> int | None:
    """Return how many addresses the private subnet has that was made with the gateway; nothing when it has a block of the project."""
    block = mapping(gateway.get("ip_reservation"))
    if block.get("type") != "private_ipv4":
        return None
    cidr = block.get("cidr")
    if not isinstance(cidr, int):
        # The address has its prefix also where the block is left out.
        prefix = str(gateway.get("gateway_address") or "").partition("/")[2]
        cidr = int(prefix) if prefix.isdecimal() else None
    return int(2 ** (32 - cidr)) if cidr is not None and 0 <= cidr <= 32 else None


ATTRIBUTES = (
    attribute.link("virtual_network_id", "virtual_network", required=True, immutable=f"a gateway stays in its VLAN: {_ANOTHER}"),
    attribute.link("ip_reservation_id", "ip_reservation", immutable=f"a gateway keeps its block: {_ANOTHER}"),
    Attribute(
        name="private_ipv4_subnet_size",
        option={"type": "int", "choices": list(SUBNET_SIZES)},
        read=private_size,
        written=lambda size: {"ip_reservation": {"type": "private_ipv4", "cidr": 33 - size.bit_length()}},
        immutable=f"a gateway keeps its subnet: {_ANOTHER}",
    ),
)

GATEWAY_OPTIONS = Options(
    {"id": identifier(), **options_of(ATTRIBUTES)},
    required_one_of=[["id", "virtual_network_id", "ip_reservation_id"]],
    mutually_exclusive=[["ip_reservation_id", "private_ipv4_subnet_size"]],
).merge(STATE_OPTIONS, WAIT_OPTIONS.also_known_as(wait_timeout=["timeout"]))

GATEWAY_INFO_OPTIONS = Options({"ids": identifiers(), "virtual_network_id": identifier(), "ip_reservation_id": identifier()})

INCLUDED = {"include": "ip_reservation,virtual_network,vrf"}


class Gateway(Resource):
    """The gateway of a VLAN: by its id, else by its VLAN, else by its block."""

    result_key = "metal_gateway"
    kind = "gateway"
    path = "metal-gateways"
    created_by = "its VLAN"
    attributes = ATTRIBUTES
    included = INCLUDED
    returned = ("id", "state", "gateway_address", "created_at")
    new_fields: ClassVar[Mapping[str, Any]] = {"state": "ready"}

    @property
    def title(self) -> str:
        params = self.params
        if params["id"]:
            return f"gateway {params['id']}"
        if params["virtual_network_id"]:
            return f"gateway of VLAN {params['virtual_network_id']}"
        return f"gateway with IP reservation {params['ip_reservation_id']}"

    def find_by_options(self) -> Found | None:
        params = self.params
        gateways = [gateway for gateway in list_gateways(self.client, params, f"read {self.title}") if self._is_match(gateway)]
        # One that is being deleted is what state=absent waits for, and does not count as present.
        matching = [gateway for gateway in gateways if not self.is_deleting(gateway)]
        if params["state"] == "absent":
            matching = matching or gateways
        if len(matching) > 1:
            # Several private gateways may share a VLAN: the options may fit only one of them.
            desired = self.desired()
            matching = [gateway for gateway in matching if limited(self.comparable(gateway), desired) == desired] or matching
        return only_one(matching, f"gateways are {self.title}", "its id or ip_reservation_id")

    def _is_match(self, gateway: Found) -> bool:
        params = self.params
        block = reference(gateway.get("ip_reservation"))
        same_block = block is not None and block == params["ip_reservation_id"]
        if not params["virtual_network_id"]:
            return same_block
        if reference(gateway.get("virtual_network")) != params["virtual_network_id"]:
            return False
        # Each gateway of a VRF has its own block (vendor's docs); any other gateway with another block has drifted.
        return same_block or not params["ip_reservation_id"] or not gateway.get("vrf")

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        vxlan = mapping(current.get("virtual_network")).get("vxlan")
        return {**super().result(current), "vxlan": vxlan, "vrf_id": reference(current.get("vrf"))}

    def creation_problems(self) -> list[str]:
        problems = super().creation_problems()
        if not self.params["ip_reservation_id"] and not self.params["private_ipv4_subnet_size"]:
            problems.append("to create it, ip_reservation_id or private_ipv4_subnet_size must be given")
        return problems

    def create(self) -> Found:
        return self.refresh(super().create())

    def pending(self, current: Found) -> list[str]:
        if self.is_deleting(current):
            raise CollectionError(f"{self.title} ({current.get('id')}) is being deleted. Run again when it is deleted")
        state = current.get("state")
        # It stays ready until a port joins its VLAN, and is active from then on.
        return [] if state in {"ready", "active"} else [f"{self.title} is {state}"]

    def is_deleting(self, current: Found) -> bool:
        return current.get("state") == "deleting"


def list_gateways(client: MetalClient, params: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"projects/{params['project_id']}/metal-gateways", "metal_gateways", params=INCLUDED, doing=doing)


def find_gateways(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    filters = {"id": params["ids"], **{name: params[name] for name in ("virtual_network_id", "ip_reservation_id")}}
    listed = map(Gateway.result, list_gateways(client, params, "list the project's gateways"))
    return {"metal_gateways": [result for result in listed if matches(result, filters)]}
