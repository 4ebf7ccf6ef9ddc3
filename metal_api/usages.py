# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage and traffic of devices and projects: values are computed from the age of a device, shapes are recorded answers."""

from __future__ import annotations

from datetime import UTC, datetime

from metal_api.accounts.members import organization_of, project_of
from metal_api.catalogue.data import catalogue
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import unprocessable
from metal_api.core.resource import Resource
from metal_api.devices.record import Device

# One datapoint per minute (recorded answers), at most a day of them (ours).
_STEP = 60
_MOST = 1440
# Digits of a Unix time: Python refuses to parse thousands of them.
_DIGITS = 12


def device_usages(call: Call) -> Reply:
    device = call.find(Device)
    return Reply({"usages": [{"quantity": _hours(device), "total": _total(call, device), "unit": "hour"}]})


def project_usages(call: Call) -> Reply:
    devices = call.world.store[Device].matching("project", project_of(call).id)
    return Reply({"usages": [_usage(call, device) for device in devices]})


def _usage(call: Call, device: Device) -> dict[str, str]:
    return {
        "facility": catalogue().metros[device.metro].facility,
        "name": device.hostname,
        "plan": device.plan,
        "plan_version": "1",
        "price": f"{catalogue().plans[device.plan].price_hour:.2f}",
        "quantity": _hours(device),
        "total": _total(call, device),
        "type": "Instance",
        "unit": "hour",
    }


def _seconds(device: Device) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(device.created_at)).total_seconds()


def _hours(device: Device) -> str:
    """Return the started hours, of the real clock: which is that of billing."""
    return str(int(_seconds(device) // 3600) + 1)


def _total(call: Call, device: Device) -> str:
    return f"{int(_hours(device)) * catalogue().plans[device.plan].price_hour:.2f}"


def bandwidth(call: Call) -> Reply:
    """Return the traffic between ``from`` and ``until`` (Unix time, both required). Every rate is null, as for intervals without sample."""
    call.find(Device)
    start, end = _moment(call, "from"), _moment(call, "until")
    points = [[None, timestamp] for timestamp in range(start, end, _STEP)[:_MOST]]
    shown = [
        {"target": direction, "datapoints": points, "tags": {"aggregatedBy": "average", "name": direction}}
        for direction in ("inbound", "outbound")
    ]
    return Reply({"bandwidth": shown})


def _moment(call: Call, name: str) -> int:
    text = call.query.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise unprocessable(f"{name} must be a number of seconds since 1970")
    return int(text)


def firmware_sets(call: Call) -> Reply:
    """Return an empty list, which has a shape of its own (vendor's OpenAPI text)."""
    if "/organizations/" in call.path:
        organization_of(call)
    else:
        project_of(call)
    empty = {"page": 1, "page_size": 0, "page_count": 0, "total_pages": 0, "total_record_count": 0, "records": []}
    return Reply(empty)


ROUTES: list[Route] = [
    *paths("GET", device_usages, "/devices/{id}/usages"),
    *paths("GET", project_usages, "/projects/{id}/usages"),
    *paths("GET", bandwidth, "/devices/{id}/bandwidth"),
    *paths("GET", firmware_sets, "/projects/{id}/firmware-sets", "/organizations/{id}/firmware-sets"),
]


RESOURCE = Resource(
    routes=ROUTES,
)
