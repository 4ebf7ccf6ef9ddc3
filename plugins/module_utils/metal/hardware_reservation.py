# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardware reservations. The API can only move reserved hardware between projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..base.argspec import PRESENT_OPTIONS, WAIT_OPTIONS, Options, identifier, identifiers
from ..base.errors import CollectionError, NotFoundError
from ..base.json_objects import mapping
from . import attribute
from .objects import DELETING_STATES, metro_code, plan_name, reference, state_of
from .resource import Resource, matches

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from .resource import Found

HARDWARE_RESERVATION_OPTIONS = Options({"id": identifier(required=True)}).merge(PRESENT_OPTIONS, WAIT_OPTIONS)

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
    """Reserved hardware by its id, in any project. It is ordered and cancelled at the vendor, never created or deleted here."""

    result_key = "hardware_reservation"
    kind = "hardware reservation"
    path = "hardware-reservations"
    attributes = (attribute.link("project_id", "project"),)
    returned = ("id", "termination_time", "created_at")
    included: ClassVar[Mapping[str, str]] = {"include": "device,facility.metro"}

    @property
    def title(self) -> str:
        return f"hardware reservation {self.params['id']}"

    def find(self) -> Found | None:
        if not self.params["project_id"]:
            raise CollectionError(
                f"Cannot move {self.title}: set project_id or the environment variable METAL_PROJECT_ID to its target project"
            )
        try:
            current = self.read(self.params["id"], f"read {self.title}")
        except NotFoundError as error:
            text = "Check the id, and that the token can read its project. Hardware is ordered at the vendor, not by this API"
            raise CollectionError(f"{error.message}. {text}", error.details) from error
        if reference(current.get("project")) is None:
            raise CollectionError(f"Cannot move {self.title}: the API returned no project for it")
        return current

    @classmethod
    def result(cls, current: Found) -> dict[str, Any]:
        return {
            **super().result(current),
            **{name: bool(current.get(name)) for name in ("provisionable", "spare", "need_of_service")},
            "plan": plan_name(current),
            "metro": reserved_metro(current),
            "device_id": reference(current.get("device")),
        }

    def predict(self, current: Found | None, changes: Mapping[str, Any]) -> Found:
        self._fail_if_used(current or {})
        return super().predict(current, changes)

    def _fail_if_used(self, current: Found) -> None:
        device = mapping(current.get("device"))
        user = reference(device)
        if user and state_of(device) not in DELETING_STATES:
            name = " ".join(filter(None, (device.get("hostname"), user)))
            text = f"it is in use by device {name}. Delete the device first (metal_device, state=absent)"
            raise CollectionError(f"Cannot move {self.title}: {text}", {"device_id": user})

    def blockers(self, current: Found, changes: Mapping[str, Any]) -> list[str]:
        """Return the text of a device that is being deleted, or of hardware that is being wiped. Raises CollectionError for a device."""
        self._fail_if_used(current)
        kept = current.get("spare") or current.get("need_of_service")
        if reference(current.get("device")) or not (current.get("provisionable", True) or kept):
            return [f"{self.title} is being freed: its last device is deleted or being deleted"]
        return []

    def update(self, current: Found, changes: Mapping[str, Any]) -> Found:
        body = {"project_id": changes["project_id"]}
        doing = f"move {self.title} to project {changes['project_id']}"
        self.client.write_one("POST", f"hardware-reservations/{current['id']}/move", body, doing=doing)
        return self.refresh(current)


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
