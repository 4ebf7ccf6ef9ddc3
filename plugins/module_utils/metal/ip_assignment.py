# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""IP assignments: addresses of a project's blocks on its devices."""

from __future__ import annotations

import functools
import ipaddress
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifier
from ..base.errors import CollectionError, NotFoundError, NotYetError, ValidationError
from . import attribute
from .attribute import Attribute, options_of
from .objects import metro_code, project_of, reference
from .resource import Resource, create_once, delete_once, identified_by_tags

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

BY_BLOCK = ("ip_reservation_id", "ip_reservation_tags", "ip_reservation_details")

TRIES = 10
"""Free addresses to try when other clients take them first."""


def normal_address(text: str) -> str:
    """Return address and prefix in canonical form; an address without a prefix is a single one. Raises CollectionError.

    >>> normal_address("198.51.100.4")
    '198.51.100.4/32'
    """
    try:
        return str(ipaddress.ip_interface(text.strip()))
    except ValueError as error:
        raise CollectionError(f"address must be an address with or without a prefix, such as 198.51.100.4/32, not {text!r}") from error


def _of(assignment: Mapping[str, Any]) -> str | None:
    """Return address and prefix of an assignment, None when it has none."""
    address, cidr = assignment.get("address"), assignment.get("cidr")
    return normal_address(f"{address}/{cidr}") if isinstance(address, str) and isinstance(cidr, int) else None


ATTRIBUTES = (
    Attribute(name="address", option={"type": "str"}, read=_of, normal=lambda address: normal_address(address) if address else None),
    Attribute(name="cidr", option={"type": "int"}),
    attribute.link("device_id", "assigned_to"),
    Attribute(name="manageable", option={"type": "bool"}, immutable="the API sets it: leave the option out"),
    attribute.customdata(),
)

IP_ASSIGNMENT_OPTIONS = Options(
    {
        "id": identifier(),
        "ip_reservation_id": identifier(),
        "ip_reservation_tags": {"type": "list", "elements": "str"},
        "ip_reservation_details": {"type": "str"},
        **options_of(ATTRIBUTES),
        "move": {"type": "bool", "default": False},
    },
    required_one_of=[["id", "address", *BY_BLOCK]],
    mutually_exclusive=[["id", "address", name] for name in BY_BLOCK] + [["id", "cidr"], ["address", "cidr"]],
    required_if=[["state", "present", ["device_id"]]],
    required_by={name: ["device_id"] for name in BY_BLOCK},
).merge(STATE_OPTIONS, WAIT_OPTIONS)


def _order(assignment: Mapping[str, Any]) -> tuple[int, int]:
    interface = ipaddress.ip_interface(str(_of(assignment)))
    return interface.version, int(interface)


def assignments_of(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the assignments of a block that have an address. In a block they may have no id, but a href."""
    listed = block.get("assignments") or []
    return [{**stub, "id": reference(stub)} for stub in listed if isinstance(stub, Mapping) and _of(stub)]


def _all_assigned_listed(block: Mapping[str, Any]) -> bool:
    """Return whether the API returned the device of every assignment of this block; if not, one may already be the desired one."""
    listed = block.get("assignments")
    if not isinstance(listed, list):
        return False
    return all(_of(stub) and reference(stub.get("assigned_to")) for stub in listed if isinstance(stub, Mapping))


class IpAssignment(Resource):
    """An address, or a subnet, on a device.

    By its id, else by its address on any device of the project, else by its block and device: then any address of that block, the one that
    the device has if there is one.
    """

    result_key = "ip_assignment"
    kind = "IP assignment"
    path = "ips"
    created_by = "its address"
    attributes = ATTRIBUTES

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        super().__init__(client, params)
        self._address = normal_address(params["address"]) if params["address"] else None
        self._block: Found = {}
        self._off: str | None = None
        """The device that a move has unassigned it from."""
        if not params["move"]:
            remedy = "set move=true to unassign it there, or unassign it first"
            self.immutable = {**self.immutable, "device_id": remedy}

    @property
    def title(self) -> str:
        params = self.params
        if self._address:
            return f"assignment of {self._address}"
        if params["id"]:
            return f"IP assignment {params['id']}"
        return f"address of {self._block_title} on device {params['device_id']}"

    @property
    def _block_title(self) -> str:
        params = self.params
        name = params["ip_reservation_id"] or " ".join(params["ip_reservation_tags"] or []) or repr(params["ip_reservation_details"])
        return f"block {name}"

    @property
    def _any_of_a_block(self) -> bool:
        return not self.params["id"] and not self._address

    def find(self) -> Found | None:
        current = super().find()
        absent = self.params["state"] == "absent"
        if current is not None and absent and self.params["device_id"] not in (None, reference(current.get("assigned_to"))):
            return None  # on another device, so absent from this one
        return self.complete(current) if current is not None else None

    def find_by_id(self) -> Found | None:
        current = super().find_by_id()
        # Blocks are read under the same path (vendor's OpenAPI text).
        if current is not None and reference(current.get("assigned_to")) is None:
            raise CollectionError(f"{self.params['id']} is a block, not an assignment. Use metal_ip_reservation for blocks")
        self._address = self._address or _of(current or {})
        return current

    def find_by_options(self) -> Found | None:
        return self._by_address() if self._address else self._by_block()

    def _by_address(self) -> Found | None:
        for block in self._blocks(f"read {self.title}"):
            for assignment in assignments_of(block):
                if _of(assignment) == self._address:
                    return assignment
        return None

    @functools.cached_property
    def _project(self) -> str | None:
        """The device's project, since its addresses come from there; without a device the project of the options."""
        project, device = self.params["project_id"], self.params["device_id"]
        # A project of the task cannot be distinguished from one of the environment or of module_defaults.
        return (project_of(self.client, device) if device else None) or project

    def _blocks(self, doing: str) -> list[dict[str, Any]]:
        try:
            path = f"projects/{self._project}/ips"
        except NotFoundError:
            if self.params["state"] == "absent":
                return []  # its addresses were unassigned with the device
            raise
        return self.client.read_list(path, "ip_addresses", params={"include": "assignments"}, doing=doing)

    def _by_block(self) -> Found | None:
        """Return the device's lowest address of the block, with the prefix length of the options."""
        if not self._choose_block():
            return None
        cidr, device = self._cidr(), self.params["device_id"]
        here = [
            assignment
            for assignment in assignments_of(self._block)
            if reference(assignment.get("assigned_to")) == device
            and assignment.get("cidr") == cidr
            and assignment.get("management") is not True
        ]
        if len(here) > 1 and self.params["state"] == "absent":
            listed = ", ".join(str(_of(assignment)) for assignment in sorted(here, key=_order))
            text = f"device {device} has {len(here)} addresses of {self._block_title}: {listed}. Set address"
            raise CollectionError(f"Cannot unassign the address: {text}")
        if not here and not _all_assigned_listed(self._block):
            raise CollectionError(f"Cannot identify {self.title}: the API returned assignments of the block without a device")
        return min(here, key=_order, default=None)

    def _choose_block(self) -> bool:
        """Find the block that the options name; returns False when there is none and none is needed."""
        params = self.params
        same: list[Found] = [block for block in self._blocks(f"read {self._block_title}") if self._is_match(block)]
        if params["ip_reservation_tags"] and len(same) > 1:
            same = identified_by_tags(same, params["ip_reservation_tags"]) or same
        if not same and params["state"] == "absent":
            return False
        if not same:
            raise CollectionError(
                f"Cannot assign an address of {self._block_title}: not in this project. Create it with metal_ip_reservation"
            )
        if len(same) > 1:
            ids = ", ".join(sorted(str(block.get("id")) for block in same))
            text = f"{len(same)} blocks are {self._block_title}: {ids}. Set ip_reservation_id"
            raise CollectionError(f"Cannot assign an address: {text}")
        self._block = same[0]
        return True

    def _is_match(self, block: Found) -> bool:
        params = self.params
        if params["ip_reservation_id"]:
            return bool(block.get("id") == params["ip_reservation_id"])
        if block.get("state") == "denied" or not set(params["ip_reservation_tags"] or []) <= set(block.get("tags") or []):
            return False
        return params["ip_reservation_details"] in (None, block.get("details"))

    def _cidr(self) -> int:
        return int(self.params["cidr"] or (128 if self._block.get("address_family") == 6 else 32))

    def complete(self, current: Found) -> Found:
        """Return the assignment with its customdata, if that is compared: a list may leave it out."""
        if self.params["customdata"] is None or "customdata" in current:
            return current
        return self.client.read(f"ips/{current['id']}", doing=f"read {self.title}")

    def desired(self) -> dict[str, Any]:
        # An assignment given by its id has its address once it was found.
        return {**super().desired(), **({"address": self._address} if self._address else {})}

    def comparable(self, current: Found) -> dict[str, Any]:
        return {**super().comparable(current), "manageable": current.get("manageable", self.params["manageable"])}

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        names = (
            "id",
            "address",
            "network",
            "netmask",
            "gateway",
            "cidr",
            "address_family",
            "public",
            "management",
            "manageable",
            "global_ip",
        )
        return {
            **{name: current.get(name) for name in names},
            "metro": metro_code(current),
            "device_id": reference(current.get("assigned_to")),
            "ip_reservation_id": reference(current.get("parent_block")),
        }

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        planned: dict[str, Any] = {"cidr": self._cidr(), "parent_block": self._block}
        if self._address:
            interface = ipaddress.ip_interface(self._address)
            planned = {"address": str(interface.ip), "cidr": interface.network.prefixlen, "address_family": interface.version}
        # A move creates a new assignment with another id.
        moved = {"id": None, "assigned_to": {"id": self.params["device_id"]}} if not current or "device_id" in changes else {}
        return {**planned, **(current or {}), **moved}

    def creation_problems(self) -> list[str]:
        cidr, block = self.params["cidr"], self._block.get("cidr")
        problems = []
        if cidr is not None and isinstance(block, int) and not block <= cidr <= (128 if self._block.get("address_family") == 6 else 32):
            problems.append(f"cidr must be a prefix length within the block (/{block}), not {cidr}")
        return problems

    def create(self) -> Found:
        if not self._any_of_a_block:
            return self._assign(str(self._address), self.params["customdata"])
        if self._block.get("state") == "pending":
            self._choose_block()
        if self._block.get("state") == "pending":
            texts = [f"{self._block_title} waits for approval by Equinix Metal"]
            raise NotYetError(f"Cannot create {self.title}: {texts[0]}. Use wait=true", texts)
        refusal: ValidationError | None = None
        for attempt in range(TRIES):
            free = self._free()
            if not free:
                break
            try:
                # Concurrent clients all try the first one; a random next one avoids further collisions.
                return self._assign(free[0] if attempt == 0 else random.choice(free), self.params["customdata"])  # noqa: S311 - hides nothing
            except ValidationError as error:
                if not error.mentions("already been taken"):
                    raise
                refusal = error
        if refusal is not None and free:
            raise refusal
        raise CollectionError(
            f"Cannot create {self.title}: the block has no free /{self._cidr()}. Unassign one or reserve another block",
            {"ip_reservation_id": self._block.get("id"), "cidr": self._cidr()},
        )

    def _free(self) -> list[str]:
        doing = f"list the free addresses of {self._block_title}"
        answer = self.client.read(f"ips/{self._block['id']}/available", params={"cidr": self._cidr()}, doing=doing)
        return [address for address in answer.get("available") or [] if isinstance(address, str)]

    def _assign(self, address: str, customdata: Any) -> Found:
        path = f"devices/{self.params['device_id']}/ips"
        body = {"address": address, **({"customdata": customdata} if customdata else {})}
        if self.params["manageable"] is not None:
            body["manageable"] = self.params["manageable"]
        doing = f"assign {address} to device {self.params['device_id']}"
        return self.client.write_one("POST", path, body, doing=doing, again=False)

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        """Change or move the assignment. The API has no call for a move: the address is unassigned, then assigned to the other device."""
        if "device_id" not in changes:
            # Addresses are updated by PATCH only (vendor's OpenAPI text).
            doing = f"change {', '.join(sorted(changes))} of {self.title}"
            return self.client.write_one("PATCH", f"ips/{current['id']}", {"customdata": self.params["customdata"]}, doing=doing)
        self.client.read(f"devices/{self.params['device_id']}", doing=f"read the device that {self._address} is moved to")
        self.check_deletion(current)
        self._refuse_to_lose_customdata(current)
        # An address can be assigned to one device only.
        self.delete(current)
        self._off = reference(current.get("assigned_to"))
        try:
            return create_once(lambda: self._assign(str(self._address), self.params["customdata"]), self._here).current
        except CollectionError as error:
            error.acted = True
            error.message += f". The address is unassigned from device {self._off}. Run again to assign it to the other device"
            raise

    def _refuse_to_lose_customdata(self, current: Found) -> None:
        """Raise CollectionError when a move would lose customdata: the API deletes it with the old assignment."""
        if self.params["customdata"] is None and self.client.read(f"ips/{current['id']}", doing=f"read {self.title}").get("customdata"):
            raise CollectionError(
                f"Cannot move {self._address}: it has customdata, which the API does not keep. "
                "Set customdata for the other device, or customdata={} for none"
            )

    def _here(self) -> Found | None:
        current = self._by_address() if self._project else None
        return current if current is not None and reference(current.get("assigned_to")) == self.params["device_id"] else None

    def refresh(self, current: Found) -> Found:
        fresh = self._by_address() if self._project and self._address else None
        if fresh is None and self._any_of_a_block:
            return self.client.read(f"ips/{current['id']}", doing=f"read {self.title}")
        if fresh is None:
            error = CollectionError(f"Cannot read {self.title}: it no longer exists")
            error.acted = self._off is not None
            raise error
        return self.complete(fresh)

    def check_deletion(self, current: Found) -> None:
        if current.get("management") is True:
            text = "it is a management address of its device. Convert the device's bond to layer 2 to remove those (metal_port)"
            raise CollectionError(f"Cannot delete {self.title}: {text}")

    def delete(self, current: Found) -> list[str]:
        self.check_deletion(current)
        device = reference(current.get("assigned_to"))
        delete_once(self.client, f"ips/{current['id']}", doing=f"unassign {self._address or current['id']} from device {device}")
        return []
