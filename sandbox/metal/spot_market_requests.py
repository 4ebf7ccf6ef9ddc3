# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spot market requests: fulfilled as soon as price and stock allow for the minimum number of devices."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from metal_api.accounts.members import project_of
from metal_api.accounts.record import Project
from metal_api.capacity import Capacity
from metal_api.catalogue.data import Metro, catalogue
from metal_api.catalogue.places import place_kind, places
from metal_api.catalogue.rendering import metro_part, plan_part
from metal_api.core.body import amount
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.errors import ApiError, is_blank, unprocessable
from metal_api.core.include import Include
from metal_api.core.rendering import Rendering
from metal_api.core.resource import Resource, drop_with
from metal_api.core.store import JSON, Kind, Record
from metal_api.core.world import World
from metal_api.devices.body import DeviceBody
from metal_api.devices.hostnames import hostnames
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.ordering import order
from metal_api.devices.record import Device
from metal_api.events import record_event, record_project_event


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotMarketRequest(Record):
    """A request for spot devices. ``instance_parameters``: body of a create, without its location."""

    project_id: str
    devices_min: int
    devices_max: int
    max_bid_price: float
    plan: str
    created_at: str
    created_by: str
    metros: tuple[str, ...] = ()
    by_facility: bool = False
    end_at: str | None = None
    instance_parameters: dict[str, Any] = field(default_factory=dict)


def render_spot_market_request(view: Rendering, request: SpotMarketRequest, include: Include) -> JSON:
    known, store = catalogue(), view.store
    plan, metros = known.plans[request.plan], [known.metros[code] for code in request.metros]
    devices = store[Device].matching("spot_market_request", request.id)
    return {
        "id": request.id,
        "devices_min": request.devices_min,
        "devices_max": request.devices_max,
        "max_bid_price": request.max_bid_price,
        "end_at": request.end_at,
        "metro": None if request.by_facility else metro_part(view, include, metros[0], by_default=True),
        "facilities": [{"href": f"{view.base}/facilities/{metro.facility_id}"} for metro in metros] if request.by_facility else None,
        "devices": view.parts(include, "devices", devices),
        "plan": plan_part(view, include, plan),
        "project": view.part(include, "project", store[Project][request.project_id]),
        "created_at": request.created_at,
        "href": view.path("spot-market-requests", request.id),
    }


def create_request(call: Call) -> Reply:
    project, world = project_of(call), call.world
    parameters = call.body.get("instance_parameters")
    if not isinstance(parameters, dict):
        raise unprocessable("Instance parameters can't be blank")
    read = DeviceBody(world, parameters)
    plan = read.plan()
    read.operating_system(plan)
    read.ssh_keys(project)
    # Only to report their problems now: they are read again when devices are ordered.
    read.attributes("tags", "customdata", "userdata", "billing_cycle", "description", "always_pxe", "locked", "ipxe_script_url")
    smallest, largest = _number(call, "devices_min"), _number(call, "devices_max")
    if smallest is None or smallest < 1:
        read.problems.append("Devices min must be greater than 0")
    if largest is None or (smallest is not None and largest < smallest):
        read.problems.append("Devices max must be greater than or equal to devices min")
    bid = amount(call.field("max_bid_price"))
    if bid is None or bid <= 0:
        read.problems.append("Max bid price must be greater than 0")
    metros = _metros(call, read)
    end_at = read.moment("End at", call.field("end_at")) if call.field("end_at") else None
    read.fail()
    assert plan is not None  # noqa: S101 - else fail() has raised
    request = world.store.put(
        SpotMarketRequest(
            id=str(uuid.uuid4()),
            project_id=project.id,
            devices_min=smallest or 0,
            devices_max=largest or 0,
            max_bid_price=bid or 0.0,
            plan=plan.slug,
            metros=tuple(metro.code for metro in metros),
            by_facility=is_blank(call.field("metro")),
            end_at=end_at,
            instance_parameters=parameters,
            created_at=world.now(),
            created_by=call.caller.user_id,
        )
    )
    meet(world, request)
    return Reply(call.shown(request), 201)


def _number(call: Call, name: str) -> int | None:
    value = call.field(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _metros(call: Call, read: DeviceBody) -> list[Metro]:
    fields = {name: call.field(name) for name in ("metro",) if name in call.body or name in call.query}
    if "facilities" in call.body:
        fields["facility"] = call.body["facilities"]
    kind = place_kind(fields)
    return places(read, kind, fields.get(kind))


def _price(world: World, metro: str, plan: str) -> float:
    price = world.policy.spot_price(metro, plan)
    return math.inf if price is None else price


def meet(world: World, request: SpotMarketRequest) -> None:
    """Order devices up to the maximum number, if at least the minimum is available; in a transaction."""
    now = datetime.now(UTC)
    if request.end_at is not None and datetime.fromisoformat(request.end_at) <= now:
        return
    present = world.store[Device].matching("spot_market_request", request.id)
    for code in request.metros:
        room = min(request.devices_max - len(present), world.service(Capacity).available_servers(code, request.plan))
        if room < 1 or len(present) + room < request.devices_min or _price(world, code, request.plan) > request.max_bid_price:
            continue
        names = hostnames(request.instance_parameters, request.devices_max)
        body = {
            **request.instance_parameters,
            "metro": code,
            "facility": None,
            "hardware_reservation_id": None,
            "spot_instance": True,
            "spot_price_max": request.max_bid_price,
        }
        for number in range(len(present), len(present) + room):
            device_body: dict[str, Any] = {**body, **({"hostname": names[number]} if names[number] else {})}
            try:
                order(
                    world,
                    device_body,
                    world.store[Project][request.project_id],
                    user_id=request.created_by,
                    spot_market_request_id=request.id,
                )
            except ApiError as problem:
                # A valid request became invalid (a deleted key, a reached quota): an event of the project has the reason.
                record_project_event(world, request.project_id, "spot_market_request.failed", ", ".join(problem.texts))
                return
        return


def list_requests(call: Call) -> Reply:
    requests = call.world.store[SpotMarketRequest].matching("project", project_of(call).id)
    return Reply({"spot_market_requests": [call.shown(request) for request in requests]})


def show_request(call: Call) -> Reply:
    return Reply(call.shown(call.find(SpotMarketRequest)))


def delete_request(call: Call) -> Reply:
    """Delete a request. Its devices stay, unless ``force_termination`` is set."""
    request = call.find(SpotMarketRequest)
    if call.flag("force_termination"):
        for device in call.world.store[Device].matching("spot_market_request", request.id):
            call.world.service(Lifecycle).end(device, "The spot market request was deleted")
    call.world.store.drop(request)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", list_requests, "/projects/{id}/spot-market-requests"),
    *paths("POST", create_request, "/projects/{id}/spot-market-requests"),
    *paths("GET", show_request, "/spot-market-requests/{id}"),
    *paths("DELETE", delete_request, "/spot-market-requests/{id}"),
]


def market_changed(world: World, notice: float) -> None:
    """Evict devices with a bid below the new price, and fulfil requests that the new stock allows. ``notice``: real seconds of an eviction.

    An eviction sets the device's termination time (vendor's docs), which stays if the price falls again (ours).
    """
    with world.store.transaction():
        for device in world.store[Device].matching("spot", True):
            price = _price(world, device.metro, device.plan)
            if device.termination_time or device.spot_price_max is None or device.spot_price_max >= price:
                continue
            # Termination times have whole seconds of the real clock: the first one after the notice.
            moment = datetime.now(UTC) + timedelta(seconds=1 + notice)
            record_event(world, device, "instance.spot_eviction", f"The market price is {price:g} now: the instance will be terminated")
            world.store.put(replace(device, termination_time=moment.strftime("%Y-%m-%dT%H:%M:%SZ"), updated_at=world.now()))
        for request in list(world.store[SpotMarketRequest]):
            meet(world, request)
    world.service(Lifecycle).check_termination_times()


def _device_erased(world: World, device: Device) -> None:
    """Fulfil requests with the server that a deleted device returned to the stock."""
    if not device.hardware_reservation_id:
        for request in list(world.store[SpotMarketRequest]):
            if request.plan == device.plan and device.metro in request.metros:
                meet(world, request)


RESOURCE = Resource(
    routes=ROUTES,
    kinds=[
        Kind(
            SpotMarketRequest,
            "spot_market_requests",
            "spot-market-requests",
            render_spot_market_request,
            keys={"project": lambda r: r.project_id},
        )
    ],
    on_erase={Project: drop_with(SpotMarketRequest, "project"), Device: _device_erased},
)
