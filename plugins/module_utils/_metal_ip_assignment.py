# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of a project's blocks on its devices.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import STATE_OPTIONS, Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError, NotFoundError
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device import metro_code, reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import create_once

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_client import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import Found

IP_ASSIGNMENT_OPTIONS = Options(
    {
        "id": {"type": "str"},
        "address": {"type": "str"},
        "device_id": {"type": "str"},
    },
    required_one_of=[["id", "address"]],
    mutually_exclusive=[["id", "address"]],
    required_if=[["state", "present", ["device_id"]]],
).merge(STATE_OPTIONS)


def ip_assignment_facts(assignment: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_ip_assignment`` returns."""
    names = ("id", "address", "network", "netmask", "gateway", "cidr", "address_family", "public", "management", "global_ip")
    return {
        **{name: assignment.get(name) for name in names},
        "metro": metro_code(assignment),
        "device_id": reference(assignment.get("assigned_to")),
        "ip_reservation_id": reference(assignment.get("parent_block")),
    }


def normal_address(text: str) -> str:
    """Address and prefix in one form; a bare address is one by itself. Raises CollectionError.

    >>> normal_address("198.51.100.4")
    '198.51.100.4/32'
    """
    try:
        return str(ipaddress.ip_interface(text.strip()))
    except ValueError as error:
        raise CollectionError(f"address is not an address, with or without a prefix: {text!r}. Write it as 198.51.100.4/32") from error


def _of(assignment: Mapping[str, Any]) -> str | None:
    """Address and prefix of an assignment, nothing when it does not tell them."""
    address, cidr = assignment.get("address"), assignment.get("cidr")
    return normal_address(f"{address}/{cidr}") if isinstance(address, str) and isinstance(cidr, int) else None


class IpAssignment:
    """An address, or a subnet, on a device: by its id, else by its address, on whatever device of the project that is."""

    name = "ip_assignment"
    fixed: Mapping[str, str] = {}
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params
        self._address = normal_address(params["address"]) if params["address"] else None

    @property
    def title(self) -> str:
        return f"the assignment of {self._address}" if self._address else f"IP assignment {self._params['id']}"

    def find(self) -> Found | None:
        found = self._by_id() if self._params["id"] else self._by_address()
        absent = self._params["state"] == "absent"
        if found is not None and absent and self._params["device_id"] not in (None, reference(found.get("assigned_to"))):
            return None  # on another device: as absent from this one as can be
        return found

    def _by_id(self) -> Found | None:
        identity = self._params["id"]
        try:
            found = self._client.read(f"ips/{identity}", doing=f"look for {self.title}")
        except NotFoundError as error:
            if self._params["state"] == "absent":
                return None
            raise CollectionError(
                f"There is no IP assignment with the id {identity}. One is made by its address: give that instead", error.details
            ) from error
        # Blocks are read under the same path (vendor's OpenAPI text).
        if reference(found.get("assigned_to")) is None:
            raise CollectionError(f"{identity} is a block, not the assignment of an address. Blocks are for metal_ip_reservation")
        self._address = self._address or _of(found)
        return found

    def _by_address(self) -> Found | None:
        blocks = self._client.read_list(
            f"projects/{self._params['project_id']}/ips",
            "ip_addresses",
            params={"include": "assignments"},
            doing=f"look for {self.title}",
        )
        for block in blocks:
            for assignment in block.get("assignments") or []:
                if isinstance(assignment, Mapping) and _of(assignment) == self._address:
                    # Within its block it may be told without its id, which its address in the API has as well.
                    return {**assignment, "id": reference(assignment)}
        return None

    def wanted(self) -> dict[str, Any]:
        wanted = {"address": self._address, "device_id": self._params["device_id"]}
        return {name: value for name, value in wanted.items() if value is not None}

    def view(self, found: Found) -> dict[str, Any]:
        return {"address": _of(found), "device_id": reference(found.get("assigned_to"))}

    def facts(self, found: Found) -> dict[str, Any]:
        return ip_assignment_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        interface = ipaddress.ip_interface(str(self._address))
        planned = {"address": str(interface.ip), "cidr": interface.network.prefixlen, "address_family": interface.version}
        # What is moved is a new assignment, with an id of its own.
        return {**planned, **(found or {}), "id": None, "assigned_to": {"id": self._params["device_id"]}}

    def check_creation(self) -> None:
        return None

    def create(self) -> Found:
        path = f"devices/{self._params['device_id']}/ips"
        doing = f"assign {self._address} to device {self._params['device_id']}"
        return self._client.write_one("POST", path, {"address": self._address}, doing=doing)

    def hindrances(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        """Move it. The API has no call for that: it is taken off one device, then put on the other."""
        self._client.read(f"devices/{self._params['device_id']}", doing=f"look at the device that {self._address} is moved to")
        self._take_off(found)
        return create_once(self.create, self._here)

    def _take_off(self, found: Found) -> None:
        """For a move: it has to be off before it can be on, so an answer that says yes, or that it is not there, is looked after."""
        self.check_removal(found)
        doing = f"take {self._address} off device {reference(found.get('assigned_to'))}"
        for attempt in range(1, 3):
            try:
                self._client.write("DELETE", f"ips/{found['id']}", None, doing=doing)
            except NotFoundError:
                if self._is_there(found):
                    raise
                return
            if not self._is_there(found):
                return
            if attempt == 2:
                raise CollectionError(f"Could not {doing}: the service accepted it {attempt} times, and it is still there")

    def _is_there(self, found: Found) -> bool:
        try:
            self._client.read(f"ips/{found['id']}", doing=f"see whether {self._address} is off its device")
        except NotFoundError:
            return False
        return True

    def _here(self) -> Found | None:
        found = self._by_address() if self._params["project_id"] else None
        return found if found is not None and self.view(found) == {**self.view(found), **self.wanted()} else None

    def refresh(self, found: Found) -> Found:
        current = self._by_address() if self._params["project_id"] else None
        if current is None:
            raise CollectionError(f"There is no assignment of {self._address} any more")
        return current

    def missing(self, found: Found) -> list[str]:
        return []

    def leaving(self, found: Found) -> bool:
        return False

    def check_removal(self, found: Found) -> None:
        if found.get("management") is True:
            text = "it is a management address of its device; those go when the device's bond goes to layer 2 (metal_port)"
            raise CollectionError(f"Cannot delete {self.title}: {text}")

    def delete(self, found: Found) -> list[str]:
        self.check_removal(found)
        device = reference(found.get("assigned_to"))
        self._client.delete(f"ips/{found['id']}", doing=f"take {self._address or found['id']} off device {device}")
        return []

    def remaining(self, found: Found) -> list[str]:
        return []
