"""Scenario of hardware reservations, which only move."""

from __future__ import annotations

from typing import Any

from tests.contract.environment import RESERVED_HARDWARE
from tests.contract.scenario import Scenario


def one_reservation(entries: list[dict[str, Any]]) -> dict[str, Any]:
    (reservation,) = entries
    return {"project_id": reservation["project"]["href"].rpartition("/")[2]}


HARDWARE_SCENARIOS = [
    Scenario(
        module="metal_hardware_reservation",
        prerequisites={
            "own": ("POST projects", {"name": "contract-hardware"}),
            "hardware": (RESERVED_HARDWARE, {"plan": "m3.large.x86", "metro": "ny"}),
        },
        create={"id": "{hardware.ids.0}", "project_id": "{own.id}"},
        change={"id": "{hardware.ids.0}", "project_id": "{project}"},
        absent=None,
        never=None,
        listing="hardware-reservations/{hardware.ids.0}",
        key="",
        view=one_reservation,
        order="move",
    ),
]
