# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""VRFs: routing tables of a project, with address ranges of its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError, ValidationError
from . import attribute
from .attribute import Attribute, options_of
from .objects import metro_code
from .resource import OWNERSHIP, Resource, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found


def normal_ranges(ranges: Any) -> list[str]:
    """Return subnets in comparable form; their order is irrelevant. A malformed subnet is returned unchanged, for the API to refuse."""
    return sorted({_normal_range(subnet) for subnet in ranges or [] if isinstance(subnet, str)})


def _normal_range(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError:
        return text.strip()


ATTRIBUTES = (
    Attribute(name="name", option={"type": "str"}, required=True),
    attribute.metro(immutable="a VRF stays in its metro: delete it and create another", required=True),
    Attribute(name="local_asn", option={"type": "int"}),
    Attribute(
        name="ip_ranges",
        option={"type": "list", "elements": "str"},
        read=lambda current: normal_ranges(current.get("ip_ranges")),
        normal=normal_ranges,
        sent=normal_ranges,
    ),
    attribute.text("description"),
    attribute.tags(),
)

VRF_OPTIONS = Options({"id": identifier(), **options_of(ATTRIBUTES), **OWNERSHIP}, required_one_of=[["id", "name"]]).merge(STATE_OPTIONS)

VRF_INFO_OPTIONS = Options(
    {
        "ids": identifiers(aliases=["vrf_id"]),
        "names": {"type": "list", "elements": "str"},
        "metro": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
    }
)


class Vrf(Resource):
    """A VRF: by its id, else by its name, in its metro if that is given."""

    result_key = "vrf"
    kind = "VRF"
    path = "vrfs"
    attributes = ATTRIBUTES

    def find_by_options(self) -> Found | None:
        same = [vrf for vrf in list_vrfs(self.client, self.params, f"read {self.title}") if vrf.get("name") == self.params["name"]]
        here = [vrf for vrf in same if self.params["metro"] and metro_code(vrf) == self.params["metro"].lower()]
        return only_one(here or same, f"VRFs are {self.title}", "its id or its metro")

    def delete(self, current: Found) -> list[str]:
        try:
            return super().delete(current)
        except ValidationError as error:
            if users := self._users(current):
                text = f"Cannot delete {self.title} ({current.get('id')}): it is in use by {', '.join(users)}. Delete those first"
                raise CollectionError(text, {**error.details, "used_by": users}) from error
            raise

    def _users(self, current: Found) -> list[str]:
        """Return the blocks of the VRF, each with the gateway that has it."""
        users = []
        for block in self.client.read_list(f"vrfs/{current['id']}/ips", "ip_addresses", doing=f"list the IP reservations of {self.title}"):
            gateway = block.get("metal_gateway")
            if isinstance(gateway, Mapping) and gateway.get("id"):
                users.append(f"gateway {gateway['id']}")
            users.append(f"IP reservation {block.get('id')} ({block.get('network')}/{block.get('cidr')})")
        return users


def list_vrfs(client: MetalClient, params: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"projects/{params['project_id']}/vrfs", "vrfs", doing=doing)


def find_vrfs(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    filters = {"id": params["ids"], "name": params["names"], "metro": params["metro"], "tags": params["tags"]}
    results = [Vrf.result(vrf) for vrf in list_vrfs(client, params, "list the project's VRFs")]
    return {"vrfs": [result for result in results if matches(result, filters)]}
