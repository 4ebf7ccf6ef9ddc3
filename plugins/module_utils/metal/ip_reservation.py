# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IP reservations: blocks of elastic addresses of a project.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    RESUME_OPTIONS,
    STATE_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    MetalError,
    NotFoundError,
    ValidationError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import metro_code, normal_data, normal_tags, reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import (
    delete_once,
    is_gone,
    meant_by_tags,
    refuse_to_guess,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

IP_RESERVATION_OPTIONS = Options(
    {
        "id": identifier(),
        "type": {"type": "str", "choices": ["public_ipv4", "global_ipv4", "vrf"], "default": "public_ipv4"},
        "quantity": {"type": "int"},
        "vrf_id": identifier(),
        "network": {"type": "str"},
        "cidr": {"type": "int"},
        "netmask": {"type": "str"},
        "metro": {"type": "str"},
        "details": {"type": "str"},
        "comments": {"type": "str"},
        "tags": {"type": "list", "elements": "str"},
        "customdata": {"type": "dict"},
        "fail_on_approval_required": {"type": "bool", "default": False},
    },
    required_one_of=[["id", "tags", "details"]],
    mutually_exclusive=[["quantity", "cidr", "netmask"]],
).merge(STATE_OPTIONS, WAIT_OPTIONS, RESUME_OPTIONS)

_ANOTHER = "delete it and reserve another"
_OF_A_VRF = ("vrf_id", "network", "cidr")

QUANTITIES = {"public_ipv4": (1, 2, 4, 8, 16, 32, 64, 128, 256), "global_ipv4": (1, 2, 4)}
"""What can be asked for at once (known from packngo and the vendor's pages)."""


def ip_reservation_facts(block: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_ip_reservation`` returns of a block; no customdata."""
    return {
        **{name: block.get(name) for name in ("id", "type", "state", "network", "address", "netmask", "gateway", "cidr")},
        **{name: block.get(name) for name in ("address_family", "public", "global_ip", "details", "created_at")},
        "quantity": quantity(block),
        "metro": metro_code(block),
        "vrf_id": reference(block.get("vrf")),
        "tags": sorted(block.get("tags") or []),
        "assignments": [item for item in map(reference, block.get("assignments") or []) if item],
    }


def quantity(block: Mapping[str, Any]) -> int | None:
    """How many IPv4 addresses a block has; nothing while it has none yet (state pending)."""
    cidr = block.get("cidr")
    return int(2 ** (32 - cidr)) if isinstance(cidr, int) and 0 <= cidr <= 32 else None


def prefix_length(netmask: str) -> int:
    """Of a network mask (``255.255.255.252``) or a prefix (``/30``). Raises CollectionError."""
    try:
        return ipaddress.IPv4Network(f"0.0.0.0/{netmask.strip().lstrip('/')}").prefixlen
    except ValueError as error:
        raise CollectionError(f"netmask is no network mask: {netmask!r}. Write it as 255.255.255.252, or give cidr or quantity") from error


class IpReservation:
    """A block by its id, else by its tags, else by its details, of its type and in its metro."""

    result_key = "ip_reservation"
    immutable: Mapping[str, str] = {
        "type": f"a block keeps its type: {_ANOTHER}",
        "quantity": f"a block keeps its size: {_ANOTHER}",
        "metro": f"a block stays in its metro: {_ANOTHER}",
        **dict.fromkeys(_OF_A_VRF, f"a block of a VRF stays as it is: {_ANOTHER}"),
    }
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        cidr = params["cidr"] if params["netmask"] is None else prefix_length(params["netmask"])
        self._params = {**params, "cidr": cidr}
        if params["type"] != "vrf" and cidr is not None:
            # The API asks for these by their number; of an IPv4 block both say the same.
            self._params |= {"cidr": None, "quantity": quantity({"cidr": cidr})}

    @property
    def title(self) -> str:
        params = self._params
        return f"IP reservation {params['id'] or ' '.join(params['tags'] or []) or repr(params['details'])}"

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._client.read(f"ips/{params['id']}", doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                text = (
                    f"There is no IP reservation with the id {params['id']}. One is created by its tags or details: leave id out for that"
                )
                raise CollectionError(text, error.details) from error
        blocks = self._client.read_list(
            f"projects/{params['project_id']}/ips", "ip_addresses", params={"types": params["type"]}, doing=f"look for {self.title}"
        )
        same = self._narrowed([block for block in blocks if self._is_meant(block)])
        if len(same) > 1:
            ids = ", ".join(sorted(str(block.get("id")) for block in same))
            raise CollectionError(
                f"{len(same)} blocks are {self.title}: {ids}. Say which one is meant by its id, or give each tags of its own"
            )
        if not same:
            marks: dict[str, Any] = {"type": params["type"]}
            marks |= {"tags": params["tags"]} if params["tags"] else {"details": params["details"]}
            if params["metro"]:
                marks["metro"] = {"code": params["metro"].lower()}
            refuse_to_guess(blocks, marks, self._is_meant, self.title)
        return same[0] if same else None

    def _is_meant(self, block: Found) -> bool:
        params = self._params
        if block.get("type") != params["type"] or block.get("state") == "denied":
            return False
        if params["metro"] and metro_code(block) != params["metro"].lower():
            return False
        if params["tags"]:
            return set(params["tags"]) <= set(block.get("tags") or [])
        return bool(params["details"]) and bool(block.get("details") == params["details"])

    def _narrowed(self, same: list[Found]) -> list[Found]:
        """Several that fit are told apart by what else was given, as long as one fits that as well.

        Tags and texts may be another's as well: only what is all that was given is deleted by them.
        """
        # A list may leave customdata out.
        wanted = {name: value for name, value in self.desired().items() if name != "customdata"}
        if self._params["tags"]:
            same = meant_by_tags(same, self._params["tags"], details=self._params["details"])
        if self._params["state"] == "absent":
            return [block for block in same if not differences(self.comparable(block), wanted)]
        for name in ("details", *_OF_A_VRF, "quantity"):
            if len(same) > 1 and name in wanted:
                same = [block for block in same if self.comparable(block)[name] == wanted[name]] or same
        return same

    def desired(self) -> dict[str, Any]:
        params = self._params
        wanted = {
            **{name: params[name] for name in _OF_A_VRF},
            # Found by its id a block may be of any type: the option has a default then, which was not given.
            "type": None if params["id"] else params["type"],
            "quantity": params["quantity"],
            "metro": params["metro"].lower() if params["metro"] else None,
            "details": params["details"],
            "tags": None if params["tags"] is None else normal_tags(params["tags"]),
            "customdata": None if params["customdata"] is None else normal_data(params["customdata"]),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {
            "type": found.get("type"),
            # A pending block has no size to tell yet; it was asked for with the one that is wanted.
            "quantity": quantity(found) or self._params["quantity"],
            "metro": metro_code(found),
            "details": found.get("details") or "",
            "tags": normal_tags(found.get("tags") or []),
            "customdata": normal_data(found.get("customdata")),
            "vrf_id": reference(found.get("vrf")),
            "network": found.get("network"),
            "cidr": found.get("cidr"),
        }

    def result(self, found: Found) -> dict[str, Any]:
        return ip_reservation_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        predicted: dict[str, Any] = {**(found or {"state": "pending"}), **{k: v for k, v in changes.items() if k != "customdata"}}
        if "metro" in changes:
            predicted["metro"] = {"code": changes["metro"]}
        if "quantity" in changes:
            predicted["cidr"] = 33 - changes["quantity"].bit_length()
        if "vrf_id" in changes:
            predicted["vrf"] = {"id": changes["vrf_id"]}
        return predicted

    def check_creation(self) -> None:
        params = self._params
        of_a_vrf = params["type"] == "vrf"
        problems = []
        if params["type"] == "public_ipv4" and not params["metro"]:
            problems.append("to create it, metro must be given")
        if params["type"] == "global_ipv4" and params["metro"]:
            problems.append("a global_ipv4 block is in no metro")
        if of_a_vrf:
            problems += [f"to create it, {name} must be given" for name in _OF_A_VRF if params[name] is None]
        else:
            problems += [f"{name} is for blocks of type vrf" for name in _OF_A_VRF if params[name] is not None]
            if params["quantity"] not in QUANTITIES[params["type"]]:
                sizes = ", ".join(str(size) for size in QUANTITIES[params["type"]])
                problems.append(f"to create it, quantity must be one of {sizes}, not {params['quantity']} (cidr and netmask say the same)")
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        common = ("type", "details", "tags", "customdata")
        own = _OF_A_VRF if self._params["type"] == "vrf" else ("quantity", "metro", "comments", "fail_on_approval_required")
        body = {name: self._params[name] for name in (*common, *own) if self._params[name] is not None}
        path = f"projects/{self._params['project_id']}/ips"
        return self._client.write_one("POST", path, body, doing=f"create {self.title}", again=False)

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        body = {name: self._params[name] for name in changes}
        doing = f"change {', '.join(sorted(body))} of {self.title}"
        # The one update the API takes as PATCH only (vendor's OpenAPI text).
        return self._client.write_one("PATCH", f"ips/{found['id']}", body, doing=doing)

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"ips/{found['id']}", doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        state = found.get("state")
        if state == "denied":
            raise CollectionError(f"{self.title} ({found.get('id')}) was denied by the service. Delete it by its id and ask for less")
        if state == "pending" and self._params["fail_on_approval_required"]:
            text = "Wait for a person there, with fail_on_approval_required=false, or delete it by its id and ask for less"
            raise CollectionError(f"{self.title} ({found.get('id')}) waits for the service's approval. {text}")
        return [f"{self.title} waits for the service's approval"] if state == "pending" else []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        gateway = reference(found.get("metal_gateway"))
        used = ip_reservation_facts(found)["assignments"]
        if not used and not gateway:
            return
        users = self._users(found) + ([f"gateway {gateway}"] if gateway else [])
        text = f"Cannot delete {self.title} ({found.get('id')}): it is in use by {', '.join(users)}. Unassign its addresses first"
        raise CollectionError(f"{text}, and delete its gateway" if gateway else text, {"assignments": used, "used_by": users})

    def _users(self, found: Found) -> list[str]:
        """Each address of it with its device, by name."""
        users = []
        for each in self._named(found).get("assignments") or []:
            if not isinstance(each, Mapping):
                continue
            device = each.get("assigned_to")
            hostname = device.get("hostname") if isinstance(device, Mapping) else None
            address = f"{each['address']}/{each.get('cidr')}" if each.get("address") else f"assignment {reference(each)}"
            owner = " ".join(str(name) for name in (hostname, reference(device)) if name)
            users.append(f"{address} on device {owner}" if owner else address)
        return users

    def _named(self, found: Found) -> Found:
        """The block with its addresses and the names of their devices. Ids will do where those cannot be had."""
        params = {"include": "assignments.assigned_to"}
        try:
            return self._client.read(f"ips/{found['id']}", params=params, doing=f"see who uses {self.title}")
        except MetalError:
            return found

    def delete(self, found: Found) -> list[str]:
        try:
            delete_once(self._client, f"ips/{found['id']}", doing=f"delete {self.title}")
        except ValidationError:
            # Say by whom it is used, if that can be seen by now.
            self.check_deletion(self.refresh(found))
            raise
        return []

    def remaining(self, found: Found) -> list[str]:
        try:
            self._client.read(f"ips/{found['id']}", doing=f"see whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return []
            raise
        return [f"{self.title} is still there"]
