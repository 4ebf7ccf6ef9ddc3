# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware of one's own, and what hardware of the spot market costs. All of it is only read.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device import metro_code, plan_name, reference

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_client import MetalClient

HARDWARE_RESERVATION_INFO_OPTIONS = Options(
    {
        "ids": {"type": "list", "elements": "str"},
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
        {"metro": code, "plan": plan, "price_per_hour": float(entry["price"])}
        for code, plans in (told.items() if isinstance(told, Mapping) else ())
        for plan, entry in (plans.items() if isinstance(plans, Mapping) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("price"), (int, float))
    ]
    chosen = [each for each in prices if metro in (None, each["metro"]) and params["plan"] in (None, each["plan"])]
    return {"spot_prices": sorted(chosen, key=lambda each: (each["price_per_hour"], each["metro"], each["plan"]))}
