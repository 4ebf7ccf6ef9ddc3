# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""IP reservations: blocks of elastic addresses of a project."""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifier, identifiers
from ..base.diff import differences
from ..base.errors import CollectionError
from ..base.json_objects import mapping, mappings
from . import attribute
from .attribute import Attribute, options_of
from .objects import metro_code, reference, references, texts
from .resource import OWNERSHIP, Resource, fail_if_unidentified, has_tags, identified_by_tags, matches, only_one

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

_ANOTHER = "delete it and reserve another"
_OF_A_VRF = ("vrf_id", "network", "cidr")

TYPES = ["public_ipv4", "global_ipv4", "private_ipv4", "public_ipv6", "vrf"]

QUANTITIES = {"public_ipv4": (1, 2, 4, 8, 16, 32, 64, 128, 256), "global_ipv4": (1, 2, 4)}
"""Sizes of one request (known from packngo and the vendor's pages)."""


def quantity(block: Mapping[str, Any]) -> int | None:
    """Return how many IPv4 addresses a block has; None while it has none yet (state pending)."""
    cidr = block.get("cidr")
    return int(2 ** (32 - cidr)) if isinstance(cidr, int) and 0 <= cidr <= 32 else None


def unusable(block: Mapping[str, Any]) -> str:
    """Return why a block of the API has no addresses to use; empty if it has."""
    if block.get("state") in ("pending", "denied"):
        reason = "waits for approval by Equinix Metal" if block["state"] == "pending" else "was denied by Equinix Metal"
        return f"the IP reservation {block.get('id')} {reason}, so it has no addresses"
    return "" if block.get("network") else f"the IP reservation {block.get('id')} has no addresses"


def prefix_length(netmask: str) -> int:
    """Return the prefix length of a network mask (``255.255.255.252``) or a prefix (``/30``). Raises CollectionError."""
    try:
        return ipaddress.IPv4Network(f"0.0.0.0/{netmask.strip().lstrip('/')}").prefixlen
    except ValueError as error:
        raise CollectionError(f"netmask must be a mask such as 255.255.255.252, not {netmask!r}. Or set cidr or quantity") from error


_FIXED_IN_VRF = f"a block of a VRF cannot be changed: {_ANOTHER}"

ATTRIBUTES = (
    Attribute(
        name="type",
        option={"type": "str", "choices": ["public_ipv4", "global_ipv4", "vrf"], "default": "public_ipv4"},
        immutable=f"a block keeps its type: {_ANOTHER}",
    ),
    Attribute(
        name="quantity",
        option={"type": "int"},
        read=quantity,
        written=lambda number: {"cidr": 33 - number.bit_length()},
        immutable=f"a block keeps its size: {_ANOTHER}",
    ),
    attribute.link("vrf_id", "vrf", immutable=_FIXED_IN_VRF),
    Attribute(name="network", option={"type": "str"}, immutable=_FIXED_IN_VRF),
    Attribute(name="cidr", option={"type": "int"}, immutable=_FIXED_IN_VRF),
    attribute.metro(immutable=f"a block stays in its metro: {_ANOTHER}"),
    attribute.text("details"),
    attribute.text("comments", compared=False),
    attribute.tags(),
    attribute.customdata(),
    Attribute(name="fail_on_approval_required", option={"type": "bool", "default": False}, compared=False),
)

IP_RESERVATION_OPTIONS = Options(
    {"id": identifier(), **options_of(ATTRIBUTES), **OWNERSHIP, "netmask": {"type": "str"}},
    required_one_of=[["id", "tags", "details"]],
    mutually_exclusive=[["quantity", "cidr", "netmask"]],
).merge(STATE_OPTIONS, WAIT_OPTIONS)

IP_RESERVATION_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "types": {"type": "list", "elements": "str", "aliases": ["type"], "choices": TYPES},
        "metro": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
        "details": {"type": "str"},
        "states": {"type": "list", "elements": "str"},
    }
)
AVAILABLE_ADDRESSES_INFO_OPTIONS = Options(
    {"ip_reservation_id": identifier(aliases=["reserved_ip_block_id"]), "cidr": {"type": "int", "default": 32}}
)


class IpReservation(Resource):
    """A block by its id, else by its tags, else by its details, of its type and in its metro."""

    result_key = "ip_reservation"
    kind = "IP reservation"
    path = "ips"
    users_included = "assignments.assigned_to"
    created_by = "its tags or details"
    attributes = ATTRIBUTES
    returned = ("id", "state", "address", "netmask", "gateway", "address_family", "public", "global_ip", "created_at")
    update_method = "PATCH"
    """Addresses are updated by PATCH only (vendor's OpenAPI text)."""
    new_fields: ClassVar[Mapping[str, Any]] = {"state": "pending"}

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        cidr = params["cidr"] if params["netmask"] is None else prefix_length(params["netmask"])
        # The API takes a quantity for IPv4 blocks.
        size = {"cidr": cidr} if params["type"] == "vrf" or cidr is None else {"cidr": None, "quantity": quantity({"cidr": cidr})}
        super().__init__(client, {**params, **size})

    @property
    def title(self) -> str:
        params = self.params
        return f"IP reservation {params['id'] or ' '.join(params['tags'] or []) or repr(params['details'])}"

    def find_by_options(self) -> Found | None:
        params = self.params
        blocks = self.client.read_list(self.list_path, "ip_addresses", params={"types": params["type"]}, doing=f"read {self.title}")
        same = self._narrowed([block for block in blocks if self._is_match(block)])
        if not same:
            known_by: dict[str, Any] = {"type": params["type"]}
            known_by |= {"tags": params["tags"]} if params["tags"] else {"details": params["details"]}
            if params["metro"]:
                known_by["metro"] = {"code": params["metro"].lower()}
            fail_if_unidentified(blocks, known_by, self._is_match, self.title)
        return only_one(same, f"blocks are {self.title}", "its id, or with tags of its own")

    def _is_match(self, block: Found) -> bool:
        params = self.params
        if block.get("type") != params["type"] or block.get("state") == "denied":
            return False
        if params["metro"] and metro_code(block) != params["metro"].lower():
            return False
        if params["tags"]:
            return has_tags(block, params)
        return bool(params["details"]) and bool(block.get("details") == params["details"])

    def _narrowed(self, same: list[Found]) -> list[Found]:
        """Return the best matches: several are narrowed by the other options, as long as one matches.

        Other blocks may have the same tags and texts: state=absent matches only a block that has all given attributes.
        """
        # A list may leave customdata out.
        desired = {name: value for name, value in self.desired().items() if name != "customdata"}
        if self.params["tags"]:
            same = identified_by_tags(same, self.params["tags"], details=self.params["details"])
        if self.params["state"] == "absent":
            return [block for block in same if not differences(self.comparable(block), desired)]
        for name in ("details", *_OF_A_VRF, "quantity"):
            if len(same) > 1 and name in desired:
                same = [block for block in same if self.comparable(block)[name] == desired[name]] or same
        return same

    def desired(self) -> dict[str, Any]:
        # With an id the type is only the option's default.
        return {name: value for name, value in super().desired().items() if name != "type" or not self.params["id"]}

    def comparable(self, current: Found) -> dict[str, Any]:
        # A pending block has no size yet; it was requested with the desired one.
        return {**super().comparable(current), "quantity": quantity(current) or self.params["quantity"]}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return {**super().result(current), "assignments": references(current.get("assignments"))}

    def creation_problems(self) -> list[str]:
        params = self.params
        of_a_vrf = params["type"] == "vrf"
        problems = super().creation_problems()
        if params["type"] == "public_ipv4" and not params["metro"]:
            problems.append("to create it, metro must be given")
        if params["type"] == "global_ipv4" and params["metro"]:
            problems.append("a global_ipv4 block has no metro")
        if of_a_vrf:
            problems += [f"to create it, {name} must be given" for name in _OF_A_VRF if params[name] is None]
        else:
            problems += [f"{name} needs type=vrf" for name in _OF_A_VRF if params[name] is not None]
            if params["quantity"] not in QUANTITIES[params["type"]]:
                sizes = ", ".join(str(size) for size in QUANTITIES[params["type"]])
                problems.append(f"to create it, quantity must be one of {sizes}, not {params['quantity']} (or the same by cidr or netmask)")
        return problems

    def body(self, names: Container[str] | None = None) -> dict[str, Any]:
        other = ("quantity", "metro", "comments", "fail_on_approval_required") if self.params["type"] == "vrf" else _OF_A_VRF
        return {name: value for name, value in super().body(names).items() if name not in other}

    def pending(self, current: Found) -> list[str]:
        state = current.get("state")
        if state == "denied":
            raise CollectionError(f"{self.title} ({current.get('id')}) was denied. Delete it by its id and request fewer addresses")
        if state == "pending" and self.params["fail_on_approval_required"]:
            text = "Wait for it with fail_on_approval_required=false, or delete it by its id and request fewer addresses"
            raise CollectionError(f"{self.title} ({current.get('id')}) waits for approval by Equinix Metal. {text}")
        return [f"{self.title} waits for approval by Equinix Metal"] if state == "pending" else []

    def check_deletion(self, current: Found) -> None:
        gateway = reference(current.get("metal_gateway"))
        used = references(current.get("assignments"))
        if not used and not gateway:
            return
        users = self._users(current) + ([f"gateway {gateway}"] if gateway else [])
        text = f"Cannot delete {self.title} ({current.get('id')}): it is in use by {', '.join(users)}. Unassign its addresses first"
        raise CollectionError(f"{text}, and delete its gateway" if gateway else text, {"assignments": used, "used_by": users})

    def _users(self, current: Found) -> list[str]:
        """Return each assigned address of the block with the name of its device."""
        users = []
        for assignment in mappings(self.with_users(current).get("assignments")):
            device = mapping(assignment.get("assigned_to"))
            address = (
                f"{assignment['address']}/{assignment.get('cidr')}" if assignment.get("address") else f"assignment {reference(assignment)}"
            )
            owner = " ".join(str(name) for name in (device.get("hostname"), reference(device)) if name)
            users.append(f"{address} on device {owner}" if owner else address)
        return users


def find_ip_reservations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_ip_reservation_info`` returns."""
    listed = client.read_list(
        f"projects/{params['project_id']}/ips",
        "ip_addresses",
        # Without types the API leaves out the blocks it created itself (known from packngo).
        params={"types": params["types"] or TYPES},
        doing="list the project's IP reservations",
    )
    filters = {"id": params["ids"], "type": params["types"], "state": params["states"]}
    filters |= {name: params[name] for name in ("metro", "tags", "details")}
    return {"ip_reservations": [result for result in map(IpReservation.result, listed) if matches(result, filters)]}


def find_available_addresses(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``metal_available_addresses_info`` returns: free subnets of one block, or of all public and global ones."""
    cidr = params["cidr"]
    # Sizes that the API accepts (vendor's OpenAPI text).
    if not 20 <= cidr <= 128:
        raise CollectionError(f"cidr must be 20 to 128, not {cidr}")
    blocks: list[Any]
    if params["ip_reservation_id"]:
        blocks = [params["ip_reservation_id"]]
    else:
        reservations = find_ip_reservations(
            client,
            {
                **dict.fromkeys(("ids", "metro", "tags", "details")),
                "project_id": params["project_id"],
                "types": ["public_ipv4", "global_ipv4"],
                "states": ["created"],
            },
        )
        blocks = [block["id"] for block in reservations["ip_reservations"]]
    available: list[str] = []
    for block in blocks:
        doing = f"list the free addresses of IP reservation {block}"
        available += texts(client.read(f"ips/{block}/available", params={"cidr": cidr}, doing=doing).get("available"))
    return {"available": available}
