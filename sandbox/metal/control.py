# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control path /_sandbox/: what tests and demos do to the sandbox itself. On loopback, without token, never in the journal."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.metal import ip_reservations, provisioning
from sandbox.metal.devices import new_device
from sandbox.metal.errors import ApiError, not_found, unprocessable
from sandbox.metal.records import ApiKey, Event, HardwareReservation
from sandbox.metal.world import MetalWorld

# Devices made in one transaction: others get a turn in between.
_AT_ONCE = 200

Endpoint = Callable[[Request], Awaitable[Response]]


def routes(world: MetalWorld) -> list[Route]:
    control = Control(world)
    table: list[tuple[str, str, Endpoint]] = [
        ("GET", "/journal", control.read_journal),
        ("DELETE", "/journal", control.clear_journal),
        ("GET", "/settings", control.read_settings),
        ("PUT", "/settings", control.change_settings),
        ("POST", "/devices", control.seed_devices),
        ("GET", "/faults", control.list_faults),
        ("POST", "/faults", control.add_fault),
        ("DELETE", "/faults", control.remove_faults),
        ("DELETE", "/faults/{id}", control.remove_faults),
        ("GET", "/inventory", control.inventory),
        ("POST", "/hardware_reservations", control.add_hardware_reservations),
        ("POST", "/users", control.add_user),
        ("GET", "/approvals", control.list_approvals),
        ("POST", "/approvals/{id}", control.decide),
    ]
    return [Route(f"/_sandbox{path}", _answering(endpoint), methods=[method]) for method, path, endpoint in table]


def _answering(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ApiError as problem:
            return JSONResponse({"errors": list(problem.texts)}, problem.status)

    return answer


class Control:
    def __init__(self, world: MetalWorld) -> None:
        self._world = world

    async def read_journal(self, request: Request) -> Response:
        """``{"journal": [...]}``, oldest first, of the Metal API.

        Query: ``since`` (seconds since 1970), ``after`` (an entry's n), ``method`` (a list), ``path`` (regular expression), ``service``
        (metal, boot, metadata, all), ``newest`` (only so many, the last of them).
        """
        query = request.query_params
        service = query.get("service", "metal")
        try:
            newest = int(query.get("newest") or 0)
            entries = self._world.journal.read(
                since=float(query.get("since") or 0),
                after=int(query.get("after") or 0),
                service=None if service == "all" else service,
                method=query.get("method"),
                path=query.get("path"),
            )
        except (ValueError, re.error) as problem:
            raise unprocessable(str(problem)) from problem
        return JSONResponse({"journal": entries[-newest:] if newest else entries})

    async def clear_journal(self, request: Request) -> Response:
        self._world.journal.clear()
        return Response(status_code=204)

    async def read_settings(self, request: Request) -> Response:
        return JSONResponse({"speed": self._world.clock.speed, **self._world.settings})

    async def change_settings(self, request: Request) -> Response:
        """What is not given stays. The speed holds until the sandbox is started again."""
        change = await _body(request)
        speed = change.pop("speed", None)
        if speed is not None and (not isinstance(speed, int | float) or isinstance(speed, bool) or speed <= 0):
            raise unprocessable("speed must be a number greater than 0")
        self._world.change_settings(change)
        if speed is not None:
            self._world.clock.speed = float(speed)
        return await self.read_settings(request)

    async def seed_devices(self, request: Request) -> Response:
        """Make ``count`` active devices at once, without machines and beside quota and stock.

        Fields: count, plan, metro, operating_system, project_id, hostname (``{{index}}`` is the number, from 1), tags, customdata,
        description. Answers ``{"count", "ids"}``.
        """
        body = await _body(request)
        world = self._world
        plan = world.catalogue.plan(body.get("plan", "c3.small.x86"))
        metro = world.catalogue.metro(body.get("metro", "da"))
        system = world.catalogue.operating_system(body.get("operating_system", "ubuntu_24_04"))
        project = world.store.projects.get(body.get("project_id") or world.project_id)
        count, pattern = body.get("count", 1), str(body.get("hostname", "seeded-{{index}}"))
        if plan is None or metro is None or system is None or not isinstance(count, int):
            raise unprocessable("count, plan, metro or operating_system is not valid")
        if project is None:
            raise not_found()
        user_id = next(iter(world.store.users)).id
        attributes = {
            "tags": tuple(map(str, body.get("tags") or ())),
            "customdata": dict(body.get("customdata") or {}),
            "description": body.get("description"),
            "wanted_addresses": (
                {"address_family": 4, "public": True, "cidr": system.subnet, "ip_reservations": []},
                {"address_family": 6, "public": True, "cidr": 127, "ip_reservations": []},
                {"address_family": 4, "public": False, "cidr": 31, "ip_reservations": []},
            ),
        }
        ids: list[str] = []
        for start in range(0, count, _AT_ONCE):
            with world.store.transaction():
                for number in range(start + 1, min(start + _AT_ONCE, count) + 1):
                    hostname = pattern.replace("{{index}}", str(number))
                    device = new_device(world, project, (plan, system, metro), {**attributes, "hostname": hostname}, user_id=user_id)
                    device = world.addresses.equip(device)
                    progress = {}
                    for type_ in provisioning.types(device):
                        event = Event(
                            id=str(uuid.uuid4()),
                            type=type_,
                            body=provisioning.EVENTS[type_],
                            created_at=device.created_at,
                            project_id=project.id,
                            device_id=device.id,
                        )
                        progress[type_] = world.store.put(event).id
                    world.store.put(replace(device, state="active", allow_pxe=False, progress=progress))
                    ids.append(device.id)
            await asyncio.sleep(0)
        return JSONResponse({"count": len(ids), "ids": ids}, 201)

    async def add_hardware_reservations(self, request: Request) -> Response:
        """Make reserved machines: count, plan, metro, project_id, spare, need_of_service, custom_rate, termination_time."""
        body, world = await _body(request), self._world
        plan = world.catalogue.plan(body.get("plan", "c3.small.x86"))
        metro = world.catalogue.metro(body.get("metro", "da"))
        count = body.get("count", 1)
        if plan is None or metro is None or not isinstance(count, int):
            raise unprocessable("count, plan or metro is not valid")
        project_id = body.get("project_id") or world.project_id
        if world.store.projects.get(project_id) is None:
            raise not_found()
        ids = []
        with world.store.transaction():
            for _number in range(count):
                reservation = HardwareReservation(
                    id=str(uuid.uuid4()),
                    project_id=project_id,
                    plan=plan.slug,
                    metro=metro.code,
                    created_at=world.now(),
                    switch_uuid=uuid.uuid4().hex[:8],
                    spare=bool(body.get("spare")),
                    need_of_service=bool(body.get("need_of_service")),
                    custom_rate=body.get("custom_rate"),
                    termination_time=body.get("termination_time"),
                )
                ids.append(world.store.put(reservation).id)
        return JSONResponse({"count": count, "ids": ids}, 201)

    async def add_user(self, request: Request) -> Response:
        """A second user, with an organization and a project of their own. Fields: name, email. Answers ids and a token."""
        body, world = await _body(request), self._world
        name = str(body.get("name") or "Other")
        ids = (str(uuid.uuid4()), str(uuid.uuid4()), str(uuid.uuid4()))
        now = world.now()
        with world.store.transaction():
            world.add_user(name, "User", str(body.get("email") or f"{name.lower()}@sandbox.test"), ids, project_name=name.lower())
            key = world.store.put(
                ApiKey(
                    id=str(uuid.uuid4()),
                    token=secrets.token_urlsafe(24),
                    description=name,
                    read_only=False,
                    user_id=ids[0],
                    created_at=now,
                    updated_at=now,
                )
            )
        return JSONResponse({"user_id": ids[0], "organization_id": ids[1], "project_id": ids[2], "token": key.token}, 201)

    async def list_approvals(self, request: Request) -> Response:
        """What waits for a person at the vendor's: requests for addresses, and for global BGP."""
        store = self._world.store
        waiting = [
            {"id": each.id, "kind": "ip_reservation", "type": each.type, "quantity": each.quantity, "project_id": each.project_id}
            for each in store.reservations
            if each.state == "pending"
        ]
        waiting += [
            {"id": each.id, "kind": "bgp_config", "asn": each.asn, "project_id": each.project_id}
            for each in store.bgp_configs
            if each.status == "requested"
        ]
        return JSONResponse({"approvals": waiting})

    async def decide(self, request: Request) -> Response:
        """``{"approved": true|false}`` on one of them; without a body it is approved."""
        body, world = await _body(request), self._world
        id_, approved = request.path_params["id"], body.get("approved", True) is not False
        with world.store.transaction():
            reservation, config = world.store.reservations.get(id_), world.store.bgp_configs.get(id_)
            if reservation is not None:
                state = ip_reservations.decide(world, reservation, approved=approved).state
            elif config is not None and config.status == "requested":
                state = world.store.put(replace(config, status="enabled" if approved else "disabled")).status
            else:
                raise not_found()
        return JSONResponse({"id": id_, "state": state})

    async def list_faults(self, request: Request) -> Response:
        return JSONResponse({"faults": [each.shown() for each in self._world.faults.all()]})

    async def add_fault(self, request: Request) -> Response:
        return JSONResponse(self._world.faults.add(await _body(request)).shown(), 201)

    async def remove_faults(self, request: Request) -> Response:
        self._world.faults.remove(request.path_params.get("id"))
        return Response(status_code=204)

    async def inventory(self, request: Request) -> Response:
        """Everything that exists and would be billed, of all projects. Blocks that came by themselves cost nothing."""
        store = self._world.store
        return JSONResponse(
            {
                "devices": [
                    {
                        "id": each.id,
                        "hostname": each.hostname,
                        "state": each.state,
                        "plan": each.plan,
                        "metro": each.metro,
                        "tags": list(each.tags),
                        "project_id": each.project_id,
                        "address": each.machine_address,
                        "price_per_hour": self._world.catalogue.plans[each.plan].price_hour,
                    }
                    for each in store.devices
                ],
                "ip_reservations": [
                    {
                        "id": each.id,
                        "type": each.type,
                        "state": each.state,
                        "network": each.network,
                        "metro": each.metro,
                        "tags": list(each.tags),
                        "project_id": each.project_id,
                    }
                    for each in store.reservations
                    if each.requested
                ],
                "virtual_networks": [
                    {
                        "id": each.id,
                        "vxlan": each.vxlan,
                        "metro": each.metro,
                        "description": each.description,
                        "tags": list(each.tags),
                        "project_id": each.project_id,
                    }
                    for each in store.virtual_networks
                ],
                "metal_gateways": [{"id": each.id, "state": each.state, "project_id": each.project_id} for each in store.metal_gateways],
                "vrfs": [{"id": each.id, "name": each.name, "project_id": each.project_id} for each in store.vrfs],
            }
        )


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body() or b"{}")
    except ValueError:
        raise unprocessable("the body is not JSON") from None
    if not isinstance(body, dict):
        raise unprocessable("the body is not a JSON object")
    return body
