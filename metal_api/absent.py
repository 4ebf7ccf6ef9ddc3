# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the vendor's API that this one lacks: answers to calls without a resource, and refusals in place of a resource's answer.

The network of a rack of one's own is neither switched nor routed by this API. Accepted and ignored, a VLAN or an elastic address would fail
much later, on the machine. Virtual networks themselves can be created: they are names without an effect, which clients keep locks in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from starlette.routing import compile_path

from metal_api.accounts.members import organization_of, project_of
from metal_api.core.call import Call, Handler, Reply, Route
from metal_api.core.errors import ApiError, not_found, unprocessable
from metal_api.devices.record import Device, Port
from metal_api.metal_gateways import MetalGateway
from metal_api.servers import Servers

Place = Callable[[Call], str]
"""Returns the plain network that a call is about, as words; empty for none. Raises 404 for what the caller does not see."""


def _of_device(call: Call, device: Device) -> str:
    server = call.world.service(Servers).of_device(device.id)
    return f"{device.hostname} is server {server.name} in the plain network {server.network}" if server and server.is_plain else ""


def _device(call: Call) -> str:
    return _of_device(call, call.find(Device))


def _port(call: Call) -> str:
    port = call.world.store[Port].get(call.id)
    return _of_device(call, call.find(Device, port.device_id)) if port is not None else ""


def _everywhere(call: Call) -> str:
    return "all metros here have plain networks" if call.world.environment.is_plain else ""


_PORT: Final = ("Layer 2 and VLANs", _port)
REFUSED: Final[Mapping[tuple[str, str], tuple[str, Place]]] = {
    ("POST", "/ports/{id}/assign"): _PORT,
    ("POST", "/ports/{id}/unassign"): _PORT,
    ("POST", "/ports/{id}/bond"): _PORT,
    ("POST", "/ports/{id}/disbond"): _PORT,
    ("POST", "/ports/{id}/convert/layer-2"): _PORT,
    ("POST", "/ports/{id}/convert/layer-3"): _PORT,
    ("POST", "/ports/{id}/native-vlan"): _PORT,
    ("POST", "/ports/{id}/vlan-assignments/batches"): _PORT,
    ("POST", "/devices/{id}/ips"): ("Elastic addresses", _device),
    ("POST", "/projects/{id}/ips"): ("Elastic addresses", _everywhere),
    ("POST", "/projects/{project_id}/metal-gateways"): ("Metal Gateways", _everywhere),
    ("POST", "/projects/{id}/vrfs"): ("VRFs", _everywhere),
    ("POST", "/projects/{id}/bgp-configs"): ("BGP", _everywhere),
    ("POST", "/devices/{id}/bgp/sessions"): ("BGP", _device),
    ("POST", "/projects/{id}/spot-market-requests"): ("The spot market", _everywhere),
}
"""Method and path -> what is refused with 422, and how the network is found. docs/your-own-rack.md has the same list."""

EMPTY: Final[Mapping[str, Mapping[str, Any]]] = {
    "/invitations": {"invitations": []},
    "/projects/{id}/invitations": {"invitations": []},
    "/organizations/{id}/invitations": {"invitations": []},
    "/organizations/{id}/payment-methods": {"payment_methods": []},
    "/organizations/{id}/invoices": {"invoices": []},
    "/organizations/{id}/transfers": {"transfers": []},
    "/projects/{id}/licenses": {"licenses": []},
    "/projects/{id}/self-service/reservations": {"reservations": []},
    "/projects/{id}/spot-market-requests": {"spot_market_requests": []},
    "/metal-gateways/{id}/ips": {"ip_addresses": []},
    "/metal-gateways/{id}/bgp-dynamic-neighbors": {"bgp_dynamic_neighbors": []},
    "/market/spot/prices": {"spot_market_prices": {}},
    "/market/spot/prices/metros": {"spot_market_prices": {}},
    "/devices/{id}/firmware-sets": {"record": None},
}
"""Path of a GET -> its answer, of lists that are always empty here (shapes: vendor's OpenAPI text)."""
EMPTY_PAGES: Final[Mapping[str, str]] = {
    "/projects/{id}/connections": "interconnections",
    "/organizations/{id}/connections": "interconnections",
}
"""Path of a GET whose answer is an empty page -> the key of its list."""
UNKNOWN_IDS: Final = frozenset({("GET", "/spot-market-requests/{id}"), ("DELETE", "/spot-market-requests/{id}")})
"""Method and path of calls that are answered with 404: no object has such an id."""
MISSING: Final[Mapping[str, str]] = {
    "interconnections and their virtual circuits: there is no other network to connect to": r"/connections\b|/virtual-circuits\b",
    "baseboard controllers of machines, with their screens and sensors": r"/diagnostics/",
    "traffic of single ports": r"/traffic$",
    "dynamic BGP neighbours of metal gateways": r"/bgp-dynamic-neighbors\b",
    "elastic addresses of metal gateways": r"/metal-gateways/[^/]+/ips\b",
    "events of VRF routes": r"/routes/[^/]+/events$",
    "reservations that customers buy themselves": r"/self-service/",
    "prices of the past": r"/spot/prices/history$",
    "billing, licences and transfers of projects": r"/(licenses|payment-methods|invoices|transfers)\b",
    "support": r"/(support-requests|incidents)\b",
    "invitations, sign-up, sign-in and roles of users": (
        r"/(invitations|emails|otp|reset-password|verify-email|roles|members)\b|(POST|PUT|PATCH) /users$|(PUT|PATCH|DELETE) /memberships/"
    ),
    "volumes: storage that could be attached to devices was gone long before": r"/(storage|volumes)\b",
}
"""Parts of the real service that are answered with 501 -> their other calls (regular expression on method and path)."""


def completed(routes: Iterable[Route]) -> list[Route]:
    """Return the routes of the resources, which answer 422 for plain networks where :data:`REFUSED` has them, and those of this table."""
    registered = {(route.method, route.path): route for route in routes}
    answers: dict[tuple[str, str], Handler] = {
        **{("GET", path): partial(_empty, body) for path, body in EMPTY.items()},
        **{("GET", path): partial(_empty_page, key) for path, key in EMPTY_PAGES.items()},
        **dict.fromkeys([*UNKNOWN_IDS, *REFUSED], _not_found),
    }
    all_routes = [*registered.values(), *(Route(*call, answer) for call, answer in answers.items() if call not in registered)]
    return [_guard(route) for route in all_routes]


def fallback(routes: Iterable[Route]) -> Handler:
    """Return the handler of calls without a route: 404 for another method of a known path, 501 for a call that this API does not have."""
    patterns = [compile_path(path)[0] for path in dict.fromkeys(route.path for route in routes)]

    def refuse(call: Call) -> Reply:
        requested = f"{call.method} {call.path}"
        missing = next((f"{name} ({requested})" for name, pattern in MISSING.items() if re.search(pattern, requested)), None)
        if missing is None and any(pattern.match(call.path) for pattern in patterns):
            raise not_found()
        # Ours.
        raise ApiError(501, f"This Metal API has no {missing or requested}: {call.world.environment.manual} lists what is missing.")

    return refuse


def _guard(route: Route) -> Route:
    refusal = REFUSED.get((route.method, route.path))
    return route if refusal is None else replace(route, handler=partial(_refuse_or, route.handler, *refusal))


def _refuse_or(handler: Handler, subject: str, place: Place, call: Call) -> Reply:
    if location := place(call):
        verb = "are" if subject.endswith("s") else "is"
        raise unprocessable(f"{subject} {verb} not available: {location}")
    return handler(call)


def _empty(body: Mapping[str, Any], call: Call) -> Reply:
    _check_owner(call)
    return Reply(body)


def _empty_page(key: str, call: Call) -> Reply:
    _check_owner(call)
    return call.page(key, list[None](), lambda entry: entry)


def _not_found(_call: Call) -> Reply:
    raise not_found()


def _check_owner(call: Call) -> None:
    """Raise 403 or 404 unless the object whose list is read is the caller's."""
    kind = call.path.split("/")[1]
    if kind == "projects":
        project_of(call)
    elif kind == "organizations":
        organization_of(call)
    elif kind in {"devices", "metal-gateways"}:
        call.find(Device if kind == "devices" else MetalGateway)
