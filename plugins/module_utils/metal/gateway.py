# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metal gateways: the way out of a VLAN.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    RESUME_OPTIONS,
    STATE_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
    identifiers,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    MetalError,
    NotFoundError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import reference
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import delete_once, is_gone, limited

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

PRIVATE_SIZES = (8, 16, 32, 64, 128)
"""How many addresses a private subnet may have (vendor's OpenAPI text)."""

GATEWAY_OPTIONS = Options(
    {
        "id": identifier(),
        "virtual_network_id": identifier(),
        "ip_reservation_id": identifier(),
        "private_ipv4_subnet_size": {"type": "int", "choices": list(PRIVATE_SIZES)},
    },
    required_one_of=[["id", "virtual_network_id", "ip_reservation_id"]],
    mutually_exclusive=[["ip_reservation_id", "private_ipv4_subnet_size"]],
).merge(STATE_OPTIONS, WAIT_OPTIONS.also_known_as(wait_timeout=["timeout"]), RESUME_OPTIONS)

GATEWAY_INFO_OPTIONS = Options({"ids": identifiers(), "virtual_network_id": identifier(), "ip_reservation_id": identifier()})

INCLUDED = {"include": "ip_reservation,virtual_network,vrf"}

_ANOTHER = "delete it and create another"


def gateway_facts(gateway: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_gateway`` and ``metal_gateway_info`` return."""
    network = gateway.get("virtual_network")
    return {
        **{name: gateway.get(name) for name in ("id", "state", "gateway_address", "created_at")},
        "virtual_network_id": reference(network),
        "vxlan": network.get("vxlan") if isinstance(network, Mapping) else None,
        "ip_reservation_id": reference(gateway.get("ip_reservation")),
        "private_ipv4_subnet_size": private_size(gateway),
        "vrf_id": reference(gateway.get("vrf")),
    }


def private_size(gateway: Mapping[str, Any]) -> int | None:
    """How many addresses the private subnet has that was made with the gateway; nothing when it has a block of the project."""
    block = gateway.get("ip_reservation")
    if not isinstance(block, Mapping) or block.get("type") != "private_ipv4":
        return None
    cidr = block.get("cidr")
    if not isinstance(cidr, int):
        # The address is told with its prefix also where the block is not.
        prefix = str(gateway.get("gateway_address") or "").partition("/")[2]
        cidr = int(prefix) if prefix.isdecimal() else None
    return int(2 ** (32 - cidr)) if cidr is not None and 0 <= cidr <= 32 else None


class Gateway:
    """The gateway of a VLAN: by its id, else by its VLAN, else by its block."""

    result_key = "metal_gateway"
    immutable: Mapping[str, str] = {
        "virtual_network_id": f"a gateway stays in its VLAN: {_ANOTHER}",
        "ip_reservation_id": f"a gateway keeps its block: {_ANOTHER}",
        "private_ipv4_subnet_size": f"a gateway keeps its subnet: {_ANOTHER}",
    }
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        params = self._params
        if params["id"]:
            return f"gateway {params['id']}"
        if params["virtual_network_id"]:
            return f"the gateway of VLAN {params['virtual_network_id']}"
        return f"the gateway with IP reservation {params['ip_reservation_id']}"

    def find(self) -> Found | None:
        params = self._params
        if params["id"]:
            try:
                return self._client.read(f"metal-gateways/{params['id']}", params=INCLUDED, doing=f"look for {self.title}")
            except NotFoundError as error:
                if params["state"] == "absent":
                    return None
                raise CollectionError(
                    f"There is no gateway with the id {params['id']}. One is created by its VLAN: leave id out for that", error.details
                ) from error
        found = [gateway for gateway in list_gateways(self._client, params, f"look for {self.title}") if self._is_meant(gateway)]
        # One that is on its way out is what "absent" waits for, and none that could be kept.
        there = [gateway for gateway in found if not self.is_deleting(gateway)]
        if params["state"] == "absent":
            there = there or found
        if len(there) > 1:
            # Several private gateways may share a VLAN: the options may fit only one of them.
            wanted = self.desired()
            there = [gateway for gateway in there if limited(self.comparable(gateway), wanted) == wanted] or there
        if len(there) > 1:
            ids = ", ".join(sorted(str(gateway.get("id")) for gateway in there))
            raise CollectionError(f"{len(there)} gateways are {self.title}: {ids}. Say which one is meant by its id or ip_reservation_id")
        return there[0] if there else None

    def _is_meant(self, gateway: Found) -> bool:
        params = self._params
        block = reference(gateway.get("ip_reservation"))
        same_block = block is not None and block == params["ip_reservation_id"]
        if not params["virtual_network_id"]:
            return same_block
        if reference(gateway.get("virtual_network")) != params["virtual_network_id"]:
            return False
        # Several of a VRF each have a block of their own (vendor's docs); of others, one with another block has drifted.
        return same_block or not params["ip_reservation_id"] or not gateway.get("vrf")

    def desired(self) -> dict[str, Any]:
        names = ("virtual_network_id", "ip_reservation_id", "private_ipv4_subnet_size")
        return {name: self._params[name] for name in names if self._params[name] is not None}

    def comparable(self, found: Found) -> dict[str, Any]:
        facts = gateway_facts(found)
        return {name: facts[name] for name in ("virtual_network_id", "ip_reservation_id", "private_ipv4_subnet_size")}

    def result(self, found: Found) -> dict[str, Any]:
        return gateway_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        block: dict[str, Any] = {"id": self._params["ip_reservation_id"]}
        if size := self._params["private_ipv4_subnet_size"]:
            block = {"type": "private_ipv4", "cidr": 33 - size.bit_length()}
        return {**(found or {"state": "ready"}), "virtual_network": {"id": self._params["virtual_network_id"]}, "ip_reservation": block}

    def check_creation(self) -> None:
        params = self._params
        problems = [] if params["virtual_network_id"] else ["to create it, virtual_network_id must be given"]
        if not params["ip_reservation_id"] and not params["private_ipv4_subnet_size"]:
            problems.append("to create it, ip_reservation_id or private_ipv4_subnet_size must be given")
        if problems:
            raise CollectionError(together(f"Cannot create {self.title}", problems))

    def create(self) -> Found:
        path = f"projects/{self._params['project_id']}/metal-gateways"
        made = self._client.write_one("POST", path, self.desired(), doing=f"create {self.title}", again=False)
        return self.refresh(made)

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        raise CollectionError(f"Nothing of {self.title} can be changed: {_ANOTHER}")

    def refresh(self, found: Found) -> Found:
        return self._client.read(f"metal-gateways/{found['id']}", params=INCLUDED, doing=f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        if self.is_deleting(found):
            raise CollectionError(f"{self.title} ({found.get('id')}) is being deleted. Run this again when it is gone")
        state = found.get("state")
        return [] if state == "active" else [f"{self.title} is {state}"]

    def is_deleting(self, found: Found) -> bool:
        return found.get("state") == "deleting"

    def check_deletion(self, found: Found) -> None:
        return None

    def delete(self, found: Found) -> list[str]:
        """Accepted with 202: it is gone a little later (vendor's OpenAPI text)."""
        delete_once(self._client, f"metal-gateways/{found['id']}", doing=f"delete {self.title}", is_deleting=self.is_deleting)
        return []

    def remaining(self, found: Found) -> list[str]:
        try:
            current = self._client.read(f"metal-gateways/{found['id']}", doing=f"see whether {self.title} is gone")
        except MetalError as error:
            if is_gone(error):
                return []
            raise
        return [f"{self.title} is {current.get('state')}"]


def list_gateways(client: MetalClient, params: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    return client.read_list(f"projects/{params['project_id']}/metal-gateways", "metal_gateways", params=INCLUDED, doing=doing)


def find_gateways(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_gateway_info`` returns."""
    facts = [gateway_facts(gateway) for gateway in list_gateways(client, params, "list the project's gateways")]
    if params["ids"] is not None:
        facts = [each for each in facts if each["id"] in params["ids"]]
    for name in ("virtual_network_id", "ip_reservation_id"):
        if params[name] is not None:
            facts = [each for each in facts if each[name] == params[name]]
    return {"metal_gateways": facts}
