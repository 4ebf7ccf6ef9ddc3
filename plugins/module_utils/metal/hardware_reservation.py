# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware of one's own, and what hardware of the spot market costs. The API makes none of it: hardware only moves between projects.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import (
    PRESENT_OPTIONS,
    RESUME_OPTIONS,
    WAIT_OPTIONS,
    Options,
    identifier,
    identifiers,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError, NotFoundError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.metal_answers import number
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import (
    LEAVING,
    metro_code,
    plan_name,
    reference,
    state_of,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.resource import Found

HARDWARE_RESERVATION_OPTIONS = Options({"id": identifier(required=True)}).merge(PRESENT_OPTIONS, WAIT_OPTIONS, RESUME_OPTIONS)

HARDWARE_RESERVATION_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "plan": {"type": "str"},
        "metro": {"type": "str"},
        "provisionable": {"type": "bool"},
    }
)

SPOT_PRICE_OPTIONS = Options({"plan": {"type": "str"}, "metro": {"type": "str"}})


def hardware_reservation_facts(reservation: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of reserved hardware. Its metro is only inside its facility (vendor's OpenAPI text)."""
    facility = reservation.get("facility")
    return {
        "id": reservation.get("id"),
        "plan": plan_name(reservation),
        "metro": metro_code(reservation) or (metro_code(facility) if isinstance(facility, Mapping) else None),
        "device_id": reference(reservation.get("device")),
        "project_id": reference(reservation.get("project")),
        "provisionable": bool(reservation.get("provisionable")),
        "spare": bool(reservation.get("spare")),
        "need_of_service": bool(reservation.get("need_of_service")),
        "termination_time": reservation.get("termination_time"),
        "created_at": reservation.get("created_at"),
    }


class HardwareReservation:
    """Reserved hardware by its id, wherever it is. It is ordered and given back with the vendor, never made or deleted here."""

    result_key = "hardware_reservation"
    immutable: Mapping[str, str] = {}
    after_creation: frozenset[str] = frozenset()

    def __init__(self, client: MetalClient, params: Mapping[str, Any]) -> None:
        self._client = client
        self._params = params

    @property
    def title(self) -> str:
        return f"hardware reservation {self._params['id']}"

    def find(self) -> Found | None:
        if not self._params["project_id"]:
            raise CollectionError(
                f"No project is given for {self.title}: set project_id or the environment variable METAL_PROJECT_ID to where it is to be"
            )
        try:
            found = self._read(f"look for {self.title}")
        except NotFoundError as error:
            text = "Hardware is ordered with the vendor, not by this API. Is the id right, and may the token see its project?"
            raise CollectionError(f"{error.message}. {text}", error.details) from error
        if reference(found.get("project")) is None:
            raise CollectionError(f"Could not look for {self.title}: the service does not tell which project it is in")
        return found

    def _read(self, doing: str) -> Found:
        params = {"include": "device,facility.metro"}
        return self._client.read(f"hardware-reservations/{self._params['id']}", params=params, doing=doing)

    def desired(self) -> dict[str, Any]:
        return {"project_id": self._params["project_id"]}

    def comparable(self, found: Found) -> dict[str, Any]:
        return {"project_id": reference(found.get("project"))}

    def result(self, found: Found) -> dict[str, Any]:
        return hardware_reservation_facts(found)

    def predict(self, found: Found | None, changes: Mapping[str, Any]) -> Found:
        found = found or {}
        self._fail_if_used(found)
        return {**found, "project": {"id": changes["project_id"]}}

    def check_creation(self) -> None:
        raise CollectionError(f"There is no {self.title}, and hardware is ordered with the vendor, not by this API")

    def create(self) -> Found:
        raise CollectionError(f"There is no {self.title}, and hardware is ordered with the vendor, not by this API")

    def _fail_if_used(self, found: Found) -> None:
        device = found.get("device")
        user = reference(device)
        if user and not (isinstance(device, Mapping) and state_of(device) in LEAVING):
            name = device.get("hostname") if isinstance(device, Mapping) else None
            text = f"it is in use by device {' '.join(filter(None, (name, user)))}. Have that deleted first (metal_device, state=absent)"
            raise CollectionError(f"Cannot move {self.title}: {text}", {"device_id": user})

    def blockers(self, found: Found, changes: Mapping[str, Any]) -> list[str]:
        """A device on it is an error, one that is leaving it has to be gone first, and the hardware is wiped then."""
        self._fail_if_used(found)
        kept = found.get("spare") or found.get("need_of_service")
        if reference(found.get("device")) or not (found.get("provisionable", True) or kept):
            return [f"{self.title} is being freed: its last device is gone or going"]
        return []

    def update(self, found: Found, changes: Mapping[str, Any]) -> Found:
        body = {"project_id": changes["project_id"]}
        doing = f"move {self.title} to project {changes['project_id']}"
        self._client.write_one("POST", f"hardware-reservations/{found['id']}/move", body, doing=doing)
        return self._read(f"look at {self.title}")

    def refresh(self, found: Found) -> Found:
        return self._read(f"look at {self.title}")

    def pending(self, found: Found) -> list[str]:
        return []

    def is_deleting(self, found: Found) -> bool:
        return False

    def check_deletion(self, found: Found) -> None:
        raise CollectionError(f"{self.title} is given back with the vendor, not by this API")

    def delete(self, found: Found) -> list[str]:
        raise CollectionError(f"{self.title} is given back with the vendor, not by this API")

    def remaining(self, found: Found) -> list[str]:
        return []


def find_hardware_reservations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_hardware_reservation_info`` returns."""
    listed = client.read_list(
        f"projects/{params['project_id']}/hardware-reservations",
        "hardware_reservations",
        params={"include": "facility.metro"},
        doing="list the project's reserved hardware",
    )
    facts = [hardware_reservation_facts(reservation) for reservation in listed]
    if params["ids"] is not None:
        facts = [reservation for reservation in facts if reservation["id"] in params["ids"]]
    metro = params["metro"].lower() if params["metro"] else None
    for name, value in (("plan", params["plan"]), ("metro", metro), ("provisionable", params["provisionable"])):
        if value is not None:
            facts = [reservation for reservation in facts if reservation[name] == value]
    return {"hardware_reservations": sorted(facts, key=lambda reservation: str(reservation["id"]))}


def spot_prices(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metal_spot_price_info`` returns: the cheapest first. An odd price is left out."""
    metro = params["metro"].lower() if params["metro"] else None
    answer = client.read("market/spot/prices/metros", params={"metro": metro, "plan": params["plan"]}, doing="read the spot prices")
    told = answer.get("spot_market_prices")
    prices = [
        {"metro": code, "plan": plan, "price_per_hour": float(price)}
        for code, plans in (told.items() if isinstance(told, Mapping) else ())
        for plan, entry in (plans.items() if isinstance(plans, Mapping) else ())
        if isinstance(entry, Mapping) and (price := number(entry.get("price"))) is not None
    ]
    chosen = [each for each in prices if metro in (None, each["metro"]) and params["plan"] in (None, each["plan"])]
    return {"spot_prices": sorted(chosen, key=lambda each: (each["price_per_hour"], each["metro"], each["plan"]))}
