# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware reservations, which are read alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options, identifiers
from ..base.json_objects import mapping
from . import attribute
from .objects import metro_code, plan_name, reference
from .resource import Resource, matches

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

HARDWARE_RESERVATION_INFO_OPTIONS = Options(
    {
        "ids": identifiers(),
        "plan": {"type": "str"},
        "metro": {"type": "str"},
        "provisionable": {"type": "bool"},
    }
)


def reserved_metro(reservation: Mapping[str, Any]) -> str | None:
    """Return the metro of reserved hardware, which is only inside its facility (vendor's OpenAPI text)."""
    return metro_code(reservation) or metro_code(mapping(reservation.get("facility")))


class HardwareReservation(Resource):
    """Reserved hardware, which is ordered at the vendor or listed in a rack file, and only read here."""

    result_key = "hardware_reservation"
    kind = "hardware reservation"
    path = "hardware-reservations"
    attributes = (attribute.link("project_id", "project"),)
    returned = ("id", "termination_time", "created_at")

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return {
            **super().result(current),
            **{name: bool(current.get(name)) for name in ("provisionable", "spare", "need_of_service")},
            "plan": plan_name(current),
            "metro": reserved_metro(current),
            "device_id": reference(current.get("device")),
        }


def find_hardware_reservations(client: MetalClient, params: Mapping[str, Any]) -> dict[str, Any]:
    listed = client.read_list(
        f"projects/{params['project_id']}/hardware-reservations",
        "hardware_reservations",
        params={"include": "facility.metro"},
        doing="list the project's reserved hardware",
    )
    filters = {"id": params["ids"], "metro": params["metro"], "plan": params["plan"], "provisionable": params["provisionable"]}
    results = [result for result in map(HardwareReservation.result, listed) if matches(result, filters)]
    return {"hardware_reservations": sorted(results, key=lambda reservation: str(reservation["id"]))}
