# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the body of a create or update of a device, with the 422 texts for invalid fields.

Texts seen in public issue threads are marked "real"; the others are ours, in the same form ("Field text").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from metal_api import userdata
from metal_api.accounts.members import members
from metal_api.accounts.record import Project
from metal_api.capacity import Capacity
from metal_api.catalogue.data import NETWORK_BOOT, Metro, OperatingSystem, Plan, catalogue
from metal_api.catalogue.places import place_kind, places
from metal_api.core.body import Body, Reader, amount, label
from metal_api.core.errors import is_blank, not_valid
from metal_api.core.world import World
from metal_api.ip_reservations.record import Reservation
from metal_api.ssh_keys import SshKey, project_key

UPDATE = (
    *("hostname", "description", "billing_cycle", "tags", "customdata", "userdata", "ipxe_script_url", "termination_time"),
    *("always_pxe", "locked", "network_frozen"),
)
"""The fields of an update. Plan, operating system and location cannot change (vendor's OpenAPI text), and are ignored."""
CREATE = (*UPDATE, "spot_instance")

BILLING_CYCLES = ("hourly", "daily", "monthly", "yearly")

_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")

_NO_STOCK = "There aren't available servers in that metro"  # real, 2021
_NO_SSH_KEYS = "must have at least one SSH key or explicitly send no_ssh_keys option"  # real
_PUBLIC_NEEDED = "Public IPv4 is required"  # about this (vendor's docs)
_NO_SPACE = (  # real
    "The specified project contains insufficient public IPv4 space to complete the request. Please e-mail support@equinixmetal.com."
)


class DeviceBody(Body):
    """Reads the body of a create or update of a device; also one of a batch."""

    def __init__(self, world: World, body: Mapping[str, Any]) -> None:
        super().__init__(body)
        self._world = world

    def readers(self) -> dict[str, Reader]:
        return {
            **super().readers(),
            "hostname": self._hostname,
            "billing_cycle": self._billing_cycle,
            "userdata": self._userdata,
            "ipxe_script_url": self.url,
            "termination_time": self._time,
            **dict.fromkeys(("always_pxe", "locked", "network_frozen", "spot_instance"), self.flag),
        }

    def _hostname(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) or not _HOSTNAME.fullmatch(value):
            # No underscores (vendor's docs).
            self.problems.append("Hostname is invalid")
        return value

    def _billing_cycle(self, name: str, value: Any) -> Any:
        if is_blank(value):
            return "hourly"
        if value not in BILLING_CYCLES:
            self.problems.append(not_valid(value, "billing cycle"))
        return value

    def _userdata(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        wrong = userdata.problem(value) if isinstance(value, str) else userdata.UNRECOGNIZED
        if wrong:
            self.problems.append(wrong)
        return str(value)

    def _time(self, name: str, value: Any) -> str | None:
        """Read a time, in UTC unless it has a time zone (vendor's OpenAPI text)."""
        return self.moment(label(name), value) if value else None

    # What is ordered

    def plan(self) -> Plan | None:
        value = self._body.get("plan")
        plan = catalogue().plan(value)
        if plan is None:
            self.problems.append(not_valid(value, "plan"))
        return plan

    def operating_system(self, plan: Plan | None) -> OperatingSystem | None:
        value = self._body.get("operating_system")
        system = catalogue().operating_system(value)
        if system is None:
            self.problems.append(not_valid(value, "operating system"))
        elif plan is not None and plan.slug not in system.on:
            self.problems.append(f"Operating system {system.slug} is not provisionable on {plan.slug}")
            return None
        return system

    def storage(self) -> dict[str, Any] | None:
        """Return the custom partitioning, None for none."""
        storage = self._body.get("storage")
        if is_blank(storage):
            return None
        if not isinstance(storage, dict):
            self.problems.append("Storage is invalid")
            return None
        return storage

    def on_plain_server(self, plan: Plan | None, system: OperatingSystem | None) -> None:
        """Refuse what a server in a plain network cannot be installed with: images of the vendor, and custom partitioning."""
        if plan is not None and system is not None and system.slug != NETWORK_BOOT:
            self.problems.append(
                f"Operating system {system.slug} is not provisionable on {plan.slug}: its servers boot {NETWORK_BOOT} only"
            )
        if not is_blank(self._body.get("storage")):
            self.problems.append(
                f"Storage is not available: servers boot {NETWORK_BOOT} only, and what that installs partitions their disks"
            )

    def metro(self, plan: Plan | None) -> Metro | None:
        """Return the first metro of the list that has a server of the plan; ``any`` is all metros. Facilities were accepted until 2025.

        Without ``plan`` the stock is not checked.
        """
        kind = place_kind(self._body)
        metros = places(self, kind, self._body.get(kind))
        if plan is None or not metros:
            return metros[0] if metros else None
        for metro in metros:
            if self._world.service(Capacity).available_servers(metro.code, plan.slug):
                return metro
        if self._body.get("spot_instance"):
            self.problems.append(f"No available servers with plan {plan.slug} in facility {metros[0].facility}")  # real, 2024
        elif kind == "facility" and len(metros) > 1:
            self.problems.append(not_valid(None, kind))  # real, 2018
        elif kind == "facility":
            self.problems.append(
                f"The facility {metros[0].facility} has no provisionable {plan.slug} servers matching your criteria"
            )  # real
        else:
            self.problems.append(_NO_STOCK)
        return None

    def features(self, plan: Plan | None) -> None:
        """Check the features: a list (all required) or a map of name to required or preferred (vendor's OpenAPI text); ``{}`` is none.

        For a plan without a required feature the error is the one for no stock (ours).
        """
        features = self._body.get("features") or {}
        requested = (
            dict.fromkeys(features, "required")
            if isinstance(features, list) and all(isinstance(name, str) for name in features)
            else features
        )
        if not isinstance(requested, dict) or not all(preference in ("required", "preferred") for preference in requested.values()):
            self.problems.append("Features must be a list of names, or names with required or preferred")
        elif plan is not None and any(
            preference == "required" and not plan.specs["features"].get(name) for name, preference in requested.items()
        ):
            self.problems.append(_NO_STOCK)

    def spot_price(self, plan: Plan | None, metro: Metro | None, *, is_server: bool) -> float | None:
        """Return the bid for a spot instance, which must be at least the current price of its plan and metro. Servers have no price."""
        bid = amount(self._body.get("spot_price_max"))
        if not self._body.get("spot_instance") or plan is None or metro is None:
            return bid
        price = None if is_server else self._world.policy.spot_price(metro.code, plan.slug)
        if price is None:
            self.problems.append(f"Spot instance is not available: there is no spot market for {plan.slug}")
            return None
        if bid is None or bid <= 0:
            self.problems.append("Spot price max must be greater than 0")
            return None
        if bid < price:
            self.problems.append(f"Spot price max is below the current market price of {price:g}")
        return bid

    def ssh_keys(self, project: Project) -> tuple[str, ...]:
        """Return the ids of the device's keys. All lists empty: every key of the project and of its members (vendor's OpenAPI text)."""
        store = self._world.store
        if self.flag("no_ssh_keys", self._body.get("no_ssh_keys")):
            return ()
        chosen: list[str] = []
        for id_ in self.ids("project_ssh_keys", self._body):
            key = store[SshKey].get(id_)
            if key is None or key.project_id != project.id:
                self.problems.append(f"Project ssh keys: {id_} is not a key of this project")
            else:
                chosen.append(key.id)
        for id_ in self.ids("user_ssh_keys", self._body):
            if id_ not in {user.id for user in members(self._world.store, project)}:
                self.problems.append(f"User ssh keys: {id_} is not a user of this project")
            else:
                chosen += [key.id for key in store[SshKey].matching("user", id_)]
        # In addition to those above; an unknown key becomes a key of the project (vendor's OpenAPI text: "new or existing").
        for entry in self._keys_sent():
            try:
                chosen.append(project_key(self._world, project, entry["label"], entry["key"]).id)
            except ValueError:
                self.problems.append("Ssh keys: key is invalid")
        if not (self._body.get("project_ssh_keys") or self._body.get("user_ssh_keys") or self._body.get("ssh_keys")):
            chosen = [key.id for key in store[SshKey].matching("project", project.id)]
            chosen += [key.id for user in members(self._world.store, project) for key in store[SshKey].matching("user", user.id)]
            if not chosen:
                self.problems.append(_NO_SSH_KEYS)
        return tuple(dict.fromkeys(chosen))

    def _keys_sent(self) -> list[dict[str, str]]:
        sent = self._body.get("ssh_keys") or []
        names = ("label", "key")
        if isinstance(sent, list) and all(
            isinstance(entry, dict) and all(isinstance(entry.get(name), str) for name in names) for entry in sent
        ):
            return sent
        self.problems.append("Ssh keys must be a list of labels and keys")
        return []

    def plain_addresses(self, metro: Metro) -> tuple[dict[str, Any], ...]:
        """Return the address of a server on the plain network of its metro, and refuse requests for others, which it does not have."""
        address = {"address_family": 4, "public": True, "cidr": 32, "ip_reservations": []}
        for entry in self._body.get("ip_addresses") or []:
            fields = entry if isinstance(entry, dict) else {}
            if fields.get("address_family") != 4 or fields.get("public", True) is False or fields.get("ip_reservations"):
                self.problems.append(
                    f"Ip addresses: servers in metro {metro.code} have one public IPv4 address each, without IPv6, private addresses and "
                    "reservations"
                )
                break
        return (address,)

    def addresses(self, project: Project, system: OperatingSystem | None, metro: Metro | None) -> tuple[dict[str, Any], ...]:
        """Return the addresses of ``ip_addresses``, by default public IPv4 and IPv6 and private IPv4 (vendor's OpenAPI text)."""
        smallest = system.subnet if system else 31
        default = [
            {"address_family": 4, "public": True, "cidr": self._subnet("public_ipv4_subnet_size", smallest)},
            {"address_family": 6, "public": True},
            {"address_family": 4, "public": False, "cidr": self._subnet("private_ipv4_subnet_size", 31)},
        ]
        entries = self._body.get("ip_addresses") or default
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.problems.append("Ip addresses must be a list of objects")
            return ()
        requested = [self._address(entry, project, smallest, metro) for entry in entries]
        kinds = [(address["address_family"], address["public"]) for address in requested]
        if (4, False) not in kinds:
            self.problems.append("Private IPv4 is required")
        if smallest < 31 and (4, True) not in kinds:
            self.problems.append(_PUBLIC_NEEDED)
        if len(set(kinds)) < len(kinds):
            self.problems.append("Ip addresses can have one entry of each kind")
        return tuple(requested)

    def _subnet(self, name: str, default: int) -> int:
        value = self._body.get(name)
        return min(value, default) if isinstance(value, int) and value else default

    def _address(self, entry: dict[str, Any], project: Project, smallest: int, metro: Metro | None) -> dict[str, Any]:
        family = entry.get("address_family")
        public = entry.get("public", True) is not False
        if family not in (4, 6):
            self.problems.append("Address family must be 4 or 6")
            family = 4
        if family == 6 and not public:
            self.problems.append("Private IPv6 is not supported")
        prefix = entry.get("cidr") or (127 if family == 6 else smallest if public else 31)
        low, high = (28, 32) if family == 4 else (124, 127)
        if not isinstance(prefix, int) or not low <= prefix <= high:
            self.problems.append(f"Cidr must be between {low} and {high}")
            prefix = high
        blocks = self.ids("ip_reservations", entry)
        for id_ in blocks:
            block = self._world.store[Reservation].get(id_)
            if block is None or block.project_id != project.id or (metro is not None and block.metro != metro.code):
                self.problems.append(f"Ip reservations: {id_} is not a reservation of this project in this metro")
        if family == 4 and public and prefix < min(30, smallest) and not blocks:
            self.problems.append(_NO_SPACE)
        return {"address_family": family, "public": public, "cidr": prefix, "ip_reservations": blocks}
