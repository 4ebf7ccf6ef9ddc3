# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control API's calls for the Metal API: journal, settings, faults, and objects that the real API cannot create."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from metal_api.accounts.members import add_user
from metal_api.accounts.record import ApiKey, Project, User
from metal_api.bgp import BgpConfig
from metal_api.catalogue.data import Metro, Plan, catalogue
from metal_api.core.addressing import ExhaustedError
from metal_api.core.bodies import Bounded
from metal_api.core.errors import ApiError, not_found, not_valid, unprocessable
from metal_api.devices import provisioning
from metal_api.devices.addresses import equip
from metal_api.devices.ordering import new_device
from metal_api.devices.record import Device
from metal_api.events import Event
from metal_api.hardware_reservations import HardwareReservation
from metal_api.ip_reservations import routes as ip_reservations
from metal_api.ip_reservations.record import Reservation
from metal_api.metal_gateways import MetalGateway
from metal_api.virtual_networks import VirtualNetwork
from metal_api.vrfs import Vrf
from sandbox.control import LARGEST, Call, ControlApp, ControlError, Endpoint, Field, Values, checked
from sandbox.metal.faults import FIELDS as FAULT_FIELDS
from sandbox.metal.settings import HELP as SETTINGS_HELP
from sandbox.metal.world import SandboxWorld

# Devices created in one transaction: other requests run between two transactions.
_AT_ONCE = 200
# The number of addresses.
_MOST_DEVICES = 16_384
# A simulated second in eleven days.
_SLOWEST = 1e-6

_COUNT = Field("how many", "whole number", most=_MOST_DEVICES)
_PLAN, _METRO = Field("slug or id of the plan"), Field("code or id of the metro")
_PROJECT = Field("id of the project; without it that of the first user")
_SETTINGS = {
    name: Field(text, "number", least=_SLOWEST, most=LARGEST) if name == "speed" else Field(text, "object")
    for name, text in SETTINGS_HELP.items()
}
_CHANGE = "change settings; a group or a value that is not given stays as it is"

CALLS = (
    Call(
        "GET",
        "/journal",
        "list requests with time, method, path, status, who, seconds, request_id and fault, oldest first; no secrets, no bodies",
        query={
            "service": Field("whose requests", choices=("metal", "boot", "metadata", "outside", "mirror-registry", "proxy", "all")),
            "method": Field("methods, separated by commas"),
            "path": Field("found in path or query", "pattern"),
            "since": Field("begun at this time or later, in seconds since 1970", "number", most=1e11),
            "after": Field("with a larger n than this entry's", "whole number"),
            "newest": Field("only the last of them, this many", "whole number"),
        },
    ),
    Call("DELETE", "/journal", "empty the journal; it then has the requests that begin afterwards"),
    Call("GET", "/settings", "show all settings"),
    Call("PATCH", "/settings", _CHANGE, body=_SETTINGS, example={"speed": 600, "latency": {"write": 0.5}}, checks_body=True),
    Call(
        "PUT",
        "/settings",
        "the same as PATCH",
        body=_SETTINGS,
        example={"quotas": {"devices": 10}},
        checks_body=True,
    ),
    Call("DELETE", "/settings", "put all settings but the speed back to their defaults"),
    Call(
        "POST",
        "/devices",
        "make active devices at once, without machines, beside quota and stock",
        body={
            "count": _COUNT,
            "plan": _PLAN,
            "metro": _METRO,
            "operating_system": Field("slug or id of the operating system"),
            "project_id": _PROJECT,
            "hostname": Field("{{index}} in it is the number, from 1"),
            "tags": Field("the devices' tags", "texts"),
            "customdata": Field("the devices' custom data", "object"),
            "description": Field("the devices' description"),
        },
        example={"count": 3, "plan": "c3.small.x86", "metro": "da", "hostname": "seeded-{{index}}", "tags": ["mine"]},
    ),
    Call(
        "POST",
        "/hardware_reservations",
        "make reserved machines",
        body={
            "count": _COUNT,
            "plan": _PLAN,
            "metro": _METRO,
            "project_id": _PROJECT,
            "spare": Field("they are spares", "flag"),
            "need_of_service": Field("they are in need of service", "flag"),
            "custom_rate": Field("their price", "number"),
            "termination_time": Field("when the contract ends", "time"),
        },
        example={"count": 2, "plan": "c3.small.x86", "metro": "da"},
    ),
    Call(
        "POST",
        "/users",
        "make a second user with an organization, a project and a token of their own",
        body={"name": Field("the user's first name, also the name of organization and project"), "email": Field("the user's address")},
        example={"name": "Other"},
    ),
    Call("GET", "/approvals", "list what waits for a person at the vendor's: addresses over the quota, and global BGP"),
    Call(
        "POST",
        "/approvals/{id}",
        "approve or deny one of them",
        body={"approved": Field("false denies it; without a body it is approved", "flag")},
        example={"approved": True},
    ),
    Call("GET", "/faults", "list the faults, with the number of requests that met each (hits)"),
    Call(
        "POST",
        "/faults",
        "make the next matching requests meet a fault",
        body=FAULT_FIELDS,
        example={"method": "POST", "path": "/devices$", "status": 429, "headers": {"Retry-After": "5"}, "times": 2},
        checks_body=True,
    ),
    Call("DELETE", "/faults", "remove all faults"),
    Call("DELETE", "/faults/{id}", "remove one fault"),
    Call("GET", "/inventory", "list everything that exists and would be billed, of all projects"),
)


def control_app(world: SandboxWorld, further: Sequence[tuple[Call, Endpoint]] = ()) -> ASGIApp:
    """Return the control API. ``further``: calls of other parts of the sandbox, with their handlers."""
    return Bounded(ControlApp([*calls(world), *further]))


def calls(world: SandboxWorld) -> list[tuple[Call, Endpoint]]:
    """Return the calls with their handlers."""
    control = Control(world)
    handlers: dict[tuple[str, str], Endpoint] = {
        ("GET", "/journal"): control.read_journal,
        ("DELETE", "/journal"): control.clear_journal,
        ("GET", "/settings"): control.read_settings,
        ("PATCH", "/settings"): control.change_settings,
        ("PUT", "/settings"): control.change_settings,
        ("DELETE", "/settings"): control.reset_settings,
        ("POST", "/devices"): control.seed_devices,
        ("POST", "/hardware_reservations"): control.add_hardware_reservations,
        ("POST", "/users"): control.add_user,
        ("GET", "/approvals"): control.list_approvals,
        ("POST", "/approvals/{id}"): control.decide,
        ("GET", "/faults"): control.list_faults,
        ("POST", "/faults"): control.add_fault,
        ("DELETE", "/faults"): control.remove_faults,
        ("DELETE", "/faults/{id}"): control.remove_faults,
        ("GET", "/inventory"): control.inventory,
    }
    return [(call, _answering(handlers[call.method, call.path])) for call in CALLS]


def _answering(endpoint: Endpoint) -> Endpoint:
    async def answer(values: Values, params: Mapping[str, str]) -> Response:
        try:
            return await endpoint(values, params)
        except ApiError as problem:
            raise ControlError(problem.status, *problem.texts) from problem

    return answer


class Control:
    """The handlers of the calls. Arguments: the checked fields of query and body, and the parameters of the path."""

    def __init__(self, world: SandboxWorld) -> None:
        self._world = world

    async def read_journal(self, values: Values, _params: Mapping[str, str]) -> Response:
        service = values.get("service", "metal")
        entries = self._world.journal.read(
            earliest=values.get("since", 0),
            after=values.get("after", 0),
            service=None if service == "all" else service,
            method=values.get("method"),
            path=values.get("path"),
        )
        return JSONResponse({"journal": entries[-values["newest"] :] if values.get("newest") else entries})

    async def clear_journal(self, _values: Values, _params: Mapping[str, str]) -> Response:
        self._world.journal.clear()
        return Response(status_code=204)

    async def read_settings(self, _values: Values, _params: Mapping[str, str]) -> Response:
        return JSONResponse({"speed": self._world.clock.speed, **self._world.settings})

    async def change_settings(self, values: Values, params: Mapping[str, str]) -> Response:
        speed = values.pop("speed", None)
        checked({"speed": speed}, _SETTINGS)
        self._world.change_settings(values)
        if speed is not None:
            self._world.clock.speed = float(speed)
        return await self.read_settings(values, params)

    async def reset_settings(self, values: Values, params: Mapping[str, str]) -> Response:
        self._world.reset_settings()
        return await self.read_settings(values, params)

    async def seed_devices(self, values: Values, _params: Mapping[str, str]) -> Response:
        """Create active devices. Returns ``{"count", "ids"}``."""
        world = self._world
        plan, metro = self._plan(values), self._metro(values)
        name = values.get("operating_system", "ubuntu_24_04")
        system = catalogue().operating_system(name)
        if system is None:
            raise unprocessable(not_valid(name, "operating system"))
        project = self._project(values)
        count, pattern = values.get("count", 1), values.get("hostname", "seeded-{{index}}")
        user_id = next(iter(world.store[User])).id
        attributes = {
            "tags": tuple(values.get("tags", ())),
            "customdata": values.get("customdata", {}),
            "description": values.get("description"),
            "wanted_addresses": (
                {"address_family": 4, "public": True, "cidr": system.subnet, "ip_reservations": []},
                {"address_family": 6, "public": True, "cidr": 127, "ip_reservations": []},
                {"address_family": 4, "public": False, "cidr": 31, "ip_reservations": []},
            ),
        }
        ids: list[str] = []
        for start in range(0, count, _AT_ONCE):
            try:
                with world.store.transaction():
                    for number in range(start + 1, min(start + _AT_ONCE, count) + 1):
                        hostname = pattern.replace("{{index}}", str(number))
                        device = new_device(world, project, (plan, system, metro), {**attributes, "hostname": hostname}, user_id=user_id)
                        device = equip(world, device)
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
            except ExhaustedError as problem:
                raise unprocessable(f"{start} devices were made, then there were no addresses: {problem}") from problem
            await asyncio.sleep(0)
        return JSONResponse({"count": len(ids), "ids": ids}, 201)

    async def add_hardware_reservations(self, values: Values, _params: Mapping[str, str]) -> Response:
        """Create hardware reservations. Returns ``{"count", "ids"}``."""
        world, count = self._world, values.get("count", 1)
        plan, metro, project = self._plan(values), self._metro(values), self._project(values)
        ids = []
        with world.store.transaction():
            for _number in range(count):
                reservation = HardwareReservation(
                    id=str(uuid.uuid4()),
                    project_id=project.id,
                    plan=plan.slug,
                    metro=metro.code,
                    created_at=world.now(),
                    switch_uuid=uuid.uuid4().hex[:8],
                    spare=values.get("spare", False),
                    need_of_service=values.get("need_of_service", False),
                    custom_rate=values.get("custom_rate"),
                    termination_time=values.get("termination_time"),
                )
                ids.append(world.store.put(reservation).id)
        return JSONResponse({"count": count, "ids": ids}, 201)

    def _plan(self, values: Values) -> Plan:
        name = values.get("plan", "c3.small.x86")
        plan = catalogue().plan(name)
        if plan is None:
            raise unprocessable(not_valid(name, "plan"))
        return plan

    def _metro(self, values: Values) -> Metro:
        name = values.get("metro", "da")
        metro = catalogue().metro(name)
        if metro is None:
            raise unprocessable(not_valid(name, "metro"))
        return metro

    def _project(self, values: Values) -> Project:
        project = self._world.store[Project].get(values.get("project_id", self._world.project_id))
        if project is None:
            raise not_found()
        return project

    async def add_user(self, values: Values, _params: Mapping[str, str]) -> Response:
        """Create a user. Returns ids and a token."""
        world = self._world
        name = values.get("name", "Other")
        ids = (str(uuid.uuid4()), str(uuid.uuid4()), str(uuid.uuid4()))
        now = world.now()
        with world.store.transaction():
            add_user(world, name, "User", values.get("email", f"{name.lower()}@sandbox.test"), ids, project_name=name.lower())
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

    async def list_approvals(self, _values: Values, _params: Mapping[str, str]) -> Response:
        store = self._world.store
        waiting = [
            {
                "id": reservation.id,
                "kind": "ip_reservation",
                "type": reservation.type,
                "quantity": reservation.quantity,
                "project_id": reservation.project_id,
            }
            for reservation in store[Reservation]
            if reservation.state == "pending"
        ]
        waiting += [
            {"id": config.id, "kind": "bgp_config", "asn": config.asn, "project_id": config.project_id}
            for config in store[BgpConfig]
            if config.status == "requested"
        ]
        return JSONResponse({"approvals": waiting})

    async def decide(self, values: Values, params: Mapping[str, str]) -> Response:
        """Approve or deny a request. Returns ``{"id", "state"}``."""
        world, id_, approved = self._world, params["id"], values.get("approved", True)
        with world.store.transaction():
            reservation, config = world.store[Reservation].get(id_), world.store[BgpConfig].get(id_)
            if reservation is not None:
                state = ip_reservations.decide(world, reservation, approved=approved).state
            elif config is not None and config.status == "requested":
                state = world.store.put(replace(config, status="enabled" if approved else "disabled")).status
            else:
                raise not_found()
        return JSONResponse({"id": id_, "state": state})

    async def list_faults(self, _values: Values, _params: Mapping[str, str]) -> Response:
        return JSONResponse({"faults": [fault.as_json() for fault in self._world.faults.all()]})

    async def add_fault(self, values: Values, _params: Mapping[str, str]) -> Response:
        return JSONResponse(self._world.faults.add(values).as_json(), 201)

    async def remove_faults(self, _values: Values, params: Mapping[str, str]) -> Response:
        self._world.faults.remove(params.get("id"))
        return Response(status_code=204)

    async def inventory(self, _values: Values, _params: Mapping[str, str]) -> Response:
        """Return all billed objects. Blocks that the service created itself are free, and not included."""
        store = self._world.store
        return JSONResponse(
            {
                "devices": [
                    {
                        "id": device.id,
                        "hostname": device.hostname,
                        "state": device.state,
                        "plan": device.plan,
                        "metro": device.metro,
                        "tags": list(device.tags),
                        "project_id": device.project_id,
                        "address": device.machine_address,
                        "price_per_hour": catalogue().plans[device.plan].price_hour,
                    }
                    for device in store[Device]
                ],
                "ip_reservations": [
                    {
                        "id": reservation.id,
                        "type": reservation.type,
                        "state": reservation.state,
                        "network": reservation.network,
                        "metro": reservation.metro,
                        "tags": list(reservation.tags),
                        "project_id": reservation.project_id,
                    }
                    for reservation in store[Reservation]
                    if reservation.requested
                ],
                "virtual_networks": [
                    {
                        "id": vlan.id,
                        "vxlan": vlan.vxlan,
                        "metro": vlan.metro,
                        "description": vlan.description,
                        "tags": list(vlan.tags),
                        "project_id": vlan.project_id,
                    }
                    for vlan in store[VirtualNetwork]
                ],
                "metal_gateways": [
                    {"id": gateway.id, "state": gateway.state, "project_id": gateway.project_id} for gateway in store[MetalGateway]
                ],
                "vrfs": [{"id": vrf.id, "name": vrf.name, "project_id": vrf.project_id} for vrf in store[Vrf]],
            }
        )
