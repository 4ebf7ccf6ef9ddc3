# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be in the body of a create or update of a device, and the 422 texts for what may not.

Texts seen in public issue threads are marked "real"; those that are not marked are ours, in the same manner ("Field text").
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from sandbox.metal import spot_prices, userdata
from sandbox.metal.calls import Call
from sandbox.metal.catalogue import Metro, OperatingSystem, Plan
from sandbox.metal.errors import is_blank, not_valid, unprocessable
from sandbox.metal.records import Project

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld

BILLING_CYCLES = ("hourly", "daily", "monthly", "yearly")

_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")

_NO_STOCK = "There aren't available servers in that metro"  # real, 2021
_NO_SSH_KEYS = "must have at least one SSH key or explicitly send no_ssh_keys option"  # real
_PUBLIC_NEEDED = "Public IPv4 is required"  # about this (vendor's docs)
_NO_SPACE = (  # real
    "The specified project contains insufficient public IPv4 space to complete the request. Please e-mail support@equinixmetal.com."
)


@dataclass(frozen=True)
class Order:
    """A body that came by another way than a call of its own: one of a batch, or of a spot market request."""

    world: MetalWorld
    body: dict[str, Any]


class DeviceInput:
    """Reads a body field by field and gathers what is wrong, so that all of it is told at once."""

    def __init__(self, call: Call | Order) -> None:
        self._world = call.world
        self._body = call.body
        self.problems: list[str] = []

    def fail(self) -> None:
        """Raises 422 if anything was wrong."""
        if self.problems:
            raise unprocessable(*self.problems)

    def attributes(self, *names: str, blank: Collection[str] = ()) -> dict[str, Any]:
        """Fields that a create and an update share, of those in ``names`` that were sent, ready for the record.

        ``blank``: fields that are left out when they are blank, so that the record's own default holds.
        """
        readers = {
            "hostname": self._hostname,
            "description": self._text,
            "billing_cycle": self._billing_cycle,
            "tags": self._tags,
            "customdata": self._customdata,
            "userdata": self._userdata,
            "ipxe_script_url": self._url,
            "termination_time": self._time,
            **dict.fromkeys(("always_pxe", "locked", "network_frozen", "spot_instance"), self._flag),
        }
        return {
            name: readers[name](name, self._body[name])
            for name in names
            if name in self._body and name in readers and not (name in blank and is_blank(self._body[name]))
        }

    def _hostname(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) or not _HOSTNAME.fullmatch(value):
            # No underscores (vendor's docs).
            self.problems.append("Hostname is invalid")
        return value

    def _text(self, name: str, value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            self.problems.append(f"{_field(name)} is invalid")
        return value

    def _flag(self, name: str, value: Any) -> bool:
        if is_blank(value):
            return False
        if isinstance(value, bool) or str(value).lower() in {"true", "false", "1", "0"}:
            return str(value).lower() in {"true", "1"}
        self.problems.append(f"{_field(name)} is invalid")
        return False

    def _billing_cycle(self, name: str, value: Any) -> Any:
        if is_blank(value):
            return "hourly"
        if value not in BILLING_CYCLES:
            self.problems.append(not_valid(value, "billing cycle"))
        return value

    def _tags(self, name: str, value: Any) -> tuple[str, ...]:
        """A list of strings; packet-python sends ``{}`` for none."""
        if not value:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.problems.append("Tags must be a list of strings")
            return ()
        return tuple(value)

    def _customdata(self, name: str, value: Any) -> dict[str, Any]:
        """An object; packngo and packet-python send it as a JSON string, and it comes back as an object."""
        if not value:
            return {}
        if isinstance(value, str):
            try:
                value = orjson.loads(value)
            except ValueError:
                value = None
        if not isinstance(value, dict):
            self.problems.append("Customdata must be a JSON object")
            return {}
        return value

    def _userdata(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        wrong = userdata.problem(value) if isinstance(value, str) else userdata.UNRECOGNIZED
        if wrong:
            self.problems.append(wrong)
        return str(value)

    def _url(self, name: str, value: Any) -> str | None:
        if not value:
            return None
        try:
            parts = urlsplit(str(value))
            good = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            good = False
        if not good:
            self.problems.append(f"{_field(name)} is not a valid URL")
        return str(value)

    def _time(self, name: str, value: Any) -> str | None:
        """Without a zone it is UTC (vendor's OpenAPI text)."""
        return self.moment(_field(name), value) if value else None

    def moment(self, label: str, value: Any) -> str | None:
        """A time to come, as the API writes it."""
        try:
            moment = datetime.fromisoformat(str(value))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.problems.append(f"{label} is invalid")
            return None
        if moment <= datetime.now(UTC):
            self.problems.append(f"{label} must be in the future")
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    # What is ordered

    def plan(self) -> Plan | None:
        value = self._body.get("plan")
        plan = self._world.catalogue.plan(value)
        if plan is None:
            self.problems.append(not_valid(value, "plan"))
        return plan

    def operating_system(self, plan: Plan | None) -> OperatingSystem | None:
        value = self._body.get("operating_system")
        system = self._world.catalogue.operating_system(value)
        if system is None:
            self.problems.append(not_valid(value, "operating system"))
        elif plan is not None and plan.slug not in system.on:
            self.problems.append(f"Operating system {system.slug} is not provisionable on {plan.slug}")
            return None
        return system

    def metro(self, plan: Plan | None) -> Metro | None:
        """The first metro of the list that has a server of the plan; ``any`` is all of them. Facilities were taken until 2025.

        Without ``plan`` nobody asks for stock.
        """
        kind = place_kind(self._body)
        found = self.places(kind, self._body.get(kind))
        if plan is None or not found:
            return found[0] if found else None
        for metro in found:
            if self._world.available_servers(metro.code, plan.slug):
                return metro
        if self._body.get("spot_instance"):
            self.problems.append(f"No available servers with plan {plan.slug} in facility {found[0].facility}")  # real, 2024
        elif kind == "facility" and len(found) > 1:
            self.problems.append(not_valid(None, kind))  # real, 2018
        elif kind == "facility":
            self.problems.append(
                f"The facility {found[0].facility} has no provisionable {plan.slug} servers matching your criteria"
            )  # real
        else:
            self.problems.append(_NO_STOCK)
        return None

    def places(self, kind: str, asked: Any) -> list[Metro]:
        """The metros that a name, or a list of them in order of preference, stands for; empty when that was refused."""
        catalogue = self._world.catalogue
        find = catalogue.metro_of_facility if kind == "facility" else catalogue.metro
        names = [None] if is_blank(asked) else asked if isinstance(asked, list) else [asked]
        found = [list(catalogue.metros.values()) if isinstance(name, str) and name.lower() == "any" else [find(name)] for name in names]
        unknown = [name for name, (first, *_more) in zip(names, found, strict=True) if first is None]
        if kind == "facility" and len(unknown) == len(names) > 1:
            # Of several facilities none exists: the service blamed the field (packngo#121).
            unknown = [None]
        if unknown:
            self.problems.append(not_valid(unknown[0], kind))
            return []
        return [metro for metros in found for metro in metros if metro is not None]

    def features(self, plan: Plan | None) -> None:
        """A list (all of them required) or a map of name to required or preferred (vendor's OpenAPI text); ``{}`` is none.

        A plan without one that is required has no server that would do: told as if none was in stock (ours).
        """
        asked = self._body.get("features") or {}
        wanted = dict.fromkeys(asked, "required") if isinstance(asked, list) and all(isinstance(each, str) for each in asked) else asked
        if not isinstance(wanted, dict) or not all(each in ("required", "preferred") for each in wanted.values()):
            self.problems.append("Features must be a list of names, or names with required or preferred")
        elif plan is not None and any(each == "required" and not plan.specs["features"].get(name) for name, each in wanted.items()):
            self.problems.append(_NO_STOCK)

    def spot_price(self, plan: Plan | None, metro: Metro | None) -> float | None:
        """What is bid for a spot instance: it has to reach today's price of its plan and metro."""
        bid = amount(self._body.get("spot_price_max"))
        if not self._body.get("spot_instance") or plan is None or metro is None:
            return bid
        price = spot_prices.price(self._world, metro.code, plan.slug)
        if bid is None or bid <= 0:
            self.problems.append("Spot price max must be greater than 0")
            return None
        if bid < price:
            self.problems.append(f"Spot price max is below the current market price of {price:g}")
        return bid

    def ssh_keys(self, project: Project) -> tuple[str, ...]:
        """Ids of the keys for the device. All lists empty: every key of the project and of its members (vendor's OpenAPI text)."""
        store = self._world.store
        if self._flag("no_ssh_keys", self._body.get("no_ssh_keys")):
            return ()
        chosen: list[str] = []
        for id_ in self._ids("project_ssh_keys", self._body):
            key = store.ssh_keys.get(id_)
            if key is None or key.project_id != project.id:
                self.problems.append(f"Project ssh keys: {id_} is not a key of this project")
            else:
                chosen.append(key.id)
        for id_ in self._ids("user_ssh_keys", self._body):
            if id_ not in {each.id for each in self._world.members(project)}:
                self.problems.append(f"User ssh keys: {id_} is not a user of this project")
            else:
                chosen += [key.id for key in store.ssh_keys.by("user", id_)]
        # In addition to those; an unknown one becomes a key of the project (vendor's OpenAPI text: "new or existing").
        for each in self._keys_sent():
            try:
                chosen.append(self._world.project_key(project, each["label"], each["key"]).id)
            except ValueError:
                self.problems.append("Ssh keys: key is invalid")
        if not (self._body.get("project_ssh_keys") or self._body.get("user_ssh_keys") or self._body.get("ssh_keys")):
            chosen = [key.id for key in store.ssh_keys.by("project", project.id)]
            chosen += [key.id for user in self._world.members(project) for key in store.ssh_keys.by("user", user.id)]
            if not chosen:
                self.problems.append(_NO_SSH_KEYS)
        return tuple(dict.fromkeys(chosen))

    def _keys_sent(self) -> list[dict[str, str]]:
        sent = self._body.get("ssh_keys") or []
        names = ("label", "key")
        if isinstance(sent, list) and all(
            isinstance(each, dict) and all(isinstance(each.get(name), str) for name in names) for each in sent
        ):
            return sent
        self.problems.append("Ssh keys must be a list of labels and keys")
        return []

    def _ids(self, name: str, holder: dict[str, Any]) -> list[str]:
        asked = holder.get(name) or []
        if isinstance(asked, list) and all(isinstance(each, str) for each in asked):
            return asked
        self.problems.append(f"{_field(name)} must be a list of ids")
        return []

    def addresses(self, project: Project, system: OperatingSystem | None, metro: Metro | None) -> tuple[dict[str, Any], ...]:
        """What ``ip_addresses`` asks for; by default public IPv4 and IPv6 and private IPv4 (vendor's OpenAPI text)."""
        smallest = system.subnet if system else 31
        default = [
            {"address_family": 4, "public": True, "cidr": self._subnet("public_ipv4_subnet_size", smallest)},
            {"address_family": 6, "public": True},
            {"address_family": 4, "public": False, "cidr": self._subnet("private_ipv4_subnet_size", 31)},
        ]
        asked = self._body.get("ip_addresses") or default
        if not isinstance(asked, list) or not all(isinstance(each, dict) for each in asked):
            self.problems.append("Ip addresses must be a list of objects")
            return ()
        wanted = [self._address(each, project, smallest, metro) for each in asked]
        kinds = [(each["address_family"], each["public"]) for each in wanted]
        if (4, False) not in kinds:
            self.problems.append("Private IPv4 is required")
        if smallest < 31 and (4, True) not in kinds:
            self.problems.append(_PUBLIC_NEEDED)
        if len(set(kinds)) < len(kinds):
            self.problems.append("Ip addresses can have one entry of each kind")
        return tuple(wanted)

    def _subnet(self, name: str, default: int) -> int:
        value = self._body.get(name)
        return min(value, default) if isinstance(value, int) and value else default

    def _address(self, asked: dict[str, Any], project: Project, smallest: int, metro: Metro | None) -> dict[str, Any]:
        family = asked.get("address_family")
        public = asked.get("public", True) is not False
        if family not in (4, 6):
            self.problems.append("Address family must be 4 or 6")
            family = 4
        if family == 6 and not public:
            self.problems.append("Private IPv6 is not supported")
        prefix = asked.get("cidr") or (127 if family == 6 else smallest if public else 31)
        low, high = (28, 32) if family == 4 else (124, 127)
        if not isinstance(prefix, int) or not low <= prefix <= high:
            self.problems.append(f"Cidr must be between {low} and {high}")
            prefix = high
        blocks = self._ids("ip_reservations", asked)
        for id_ in blocks:
            block = self._world.store.reservations.get(id_)
            if block is None or block.project_id != project.id or (metro is not None and block.metro != metro.code):
                self.problems.append(f"Ip reservations: {id_} is not a reservation of this project in this metro")
        if family == 4 and public and prefix < min(30, smallest) and not blocks:
            self.problems.append(_NO_SPACE)
        return {"address_family": family, "public": public, "cidr": prefix, "ip_reservations": blocks}


def place_kind(body: Mapping[str, Any]) -> str:
    """Which of the two fields says where: ``metro``, or for clients from before 2025 ``facility``."""
    without_metro = is_blank(body.get("metro"))
    return "facility" if without_metro and (not is_blank(body.get("facility")) or ("facility" in body and "metro" not in body)) else "metro"


def one_place(call: Call, read: DeviceInput) -> Metro | None:
    """Where something is that is in one place only, as the body or the query says."""
    fields = {name: call.field(name) for name in ("metro", "facility") if name in call.body or name in call.query}
    kind = place_kind(fields)
    metro = call.world.catalogue.metro_of_facility(fields.get(kind)) if kind == "facility" else call.world.catalogue.metro(fields.get(kind))
    if metro is None:
        read.problems.append(not_valid(fields.get(kind), kind))
    return metro


def amount(value: Any) -> float | None:
    """A sum of money: a number, or its text, as packngo sends it. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _field(name: str) -> str:
    return name.replace("_", " ").capitalize()
