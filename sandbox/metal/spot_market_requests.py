# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standing orders for spot devices: met as soon as price and stock allow for the smallest number asked for."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sandbox.metal import spot_prices
from sandbox.metal.calls import Call, Reply, Route, paths
from sandbox.metal.catalogue import Metro
from sandbox.metal.device_input import DeviceInput, Order, amount, place_kind
from sandbox.metal.devices import order
from sandbox.metal.errors import ApiError, is_blank, unprocessable
from sandbox.metal.hostnames import hostnames
from sandbox.metal.records import SpotMarketRequest

if TYPE_CHECKING:
    from sandbox.metal.world import MetalWorld


def create_request(call: Call) -> Reply:
    project, world = call.project(), call.world
    parameters = call.body.get("instance_parameters")
    if not isinstance(parameters, dict):
        raise unprocessable("Instance parameters can't be blank")
    read = DeviceInput(Order(world, parameters))
    plan = read.plan()
    read.operating_system(plan)
    read.ssh_keys(project)
    # Only to hear what is wrong with them now: they are read again when devices are ordered.
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
            metros=tuple(each.code for each in metros),
            by_facility=is_blank(call.field("metro")),
            end_at=end_at,
            instance_parameters=parameters,
            created_at=world.now(),
            created_by=call.caller.user_id,
        )
    )
    meet(world, request)
    return Reply(call.rendering.spot_market_request(request, call.wanted), 201)


def _number(call: Call, name: str) -> int | None:
    value = call.field(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _metros(call: Call, read: DeviceInput) -> list[Metro]:
    fields = {name: call.field(name) for name in ("metro",) if name in call.body or name in call.query}
    if "facilities" in call.body:
        fields["facility"] = call.body["facilities"]
    kind = place_kind(fields)
    return read.places(kind, fields.get(kind))


def meet(world: MetalWorld, request: SpotMarketRequest) -> None:
    """Order what is missing of the most, if at least the least can be had; in a transaction."""
    now = datetime.now(UTC)
    if request.end_at is not None and datetime.fromisoformat(request.end_at) <= now:
        return
    present = world.store.devices.by("spot_market_request", request.id)
    for code in request.metros:
        room = min(request.devices_max - len(present), world.available_servers(code, request.plan))
        if room < 1 or len(present) + room < request.devices_min or spot_prices.price(world, code, request.plan) > request.max_bid_price:
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
            one: dict[str, Any] = {**body, **({"hostname": names[number]} if names[number] else {})}
            try:
                order(world, one, world.store.projects[request.project_id], user_id=request.created_by, spot_market_request_id=request.id)
            except ApiError as problem:
                # What was good when it was asked for is not any more (a key is gone, a quota reached): told as an event of the project.
                world.record_project_event(request.project_id, "spot_market_request.failed", ", ".join(problem.texts))
                return
        return


def list_requests(call: Call) -> Reply:
    found = call.world.store.spot_market_requests.by("project", call.project().id)
    return Reply({"spot_market_requests": [call.rendering.spot_market_request(each, call.wanted) for each in found]})


def _request(call: Call) -> SpotMarketRequest:
    found: SpotMarketRequest = call.find(call.world.store.spot_market_requests)
    return found


def show_request(call: Call) -> Reply:
    return Reply(call.rendering.spot_market_request(_request(call), call.wanted))


def delete_request(call: Call) -> Reply:
    """Its devices stay, unless ``force_termination`` is said."""
    request = _request(call)
    if call.flag("force_termination"):
        for device in call.world.store.devices.by("spot_market_request", request.id):
            call.world.lifecycle.end(device, "The spot market request was deleted")
    call.world.store.drop(request)
    return Reply(status=204)


ROUTES: list[Route] = [
    *paths("GET", list_requests, "/projects/{id}/spot-market-requests"),
    *paths("POST", create_request, "/projects/{id}/spot-market-requests"),
    *paths("GET", show_request, "/spot-market-requests/{id}"),
    *paths("DELETE", delete_request, "/spot-market-requests/{id}"),
]
