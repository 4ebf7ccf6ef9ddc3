"""Scenarios of hardware: reservations, which only move, and the spot market."""

from __future__ import annotations

from typing import Any

from tests.contract.environment import RESERVED_HARDWARE
from tests.contract.scenario import SECRET, WAIT, Scenario

BID = {"devices_min": 1, "devices_max": 2, "max_bid_price": 9.5, "metro": "NY"}
PARAMETERS = {
    "plan": "m3.large.x86",
    "operating_system": "ubuntu_24_04",
    "hostnames": ["spot-1.contract.metal.test", "spot-2.contract.metal.test"],
    "userdata": f"#cloud-config\npassword: {SECRET}\n",
}


def one_reservation(entries: list[dict[str, Any]]) -> dict[str, Any]:
    (reservation,) = entries
    return {"project_id": reservation["project"]["href"].rpartition("/")[2]}


def one_request(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the project, which has no other."""
    assert len(entries) <= 1
    if not entries:
        return {}
    (request,) = entries
    result = {name: request[name] for name in ("devices_min", "devices_max", "max_bid_price")}
    return {**result, "metro": request["metro"]["code"], "plan": request["plan"]["slug"]}


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
    Scenario(
        module="metal_spot_market_request",
        create={**BID, "instance_parameters": PARAMETERS, **WAIT},
        change=None,
        absent={"metro": "ny", "instance_parameters": {"plan": "m3.large.x86"}, "force_termination": True, "state": "absent", **WAIT},
        never={"metro": "sv", "instance_parameters": {"plan": "m3.large.x86"}, "state": "absent"},
        listing="projects/{project}/spot-market-requests?include=plan",
        key="spot_market_requests",
        view=one_request,
    ),
]
