# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What servers in a plain network do not have, refused before its handler is called.

The network of a rack of one's own is neither switched nor routed by this API. Accepted and ignored, a VLAN or an elastic address would fail
much later, on the machine. Virtual networks themselves can be created: they are names without an effect, which clients keep locks in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from metal_api.core.call import Call, Handler, Reply, Route
from metal_api.core.errors import unprocessable
from metal_api.devices.record import Device, Port
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
"""Method and path -> what is refused, and how the network is found. docs/your-own-rack.md has the same list."""


def guarded(routes: list[Route]) -> list[Route]:
    """Return the routes, with those of :data:`REFUSED` answering 422 for plain networks."""
    unknown = REFUSED.keys() - {(each.method, each.path) for each in routes}
    if unknown:
        raise ValueError(f"routes that do not exist are refused: {sorted(unknown)}")
    return [_guard(each) for each in routes]


def _guard(route: Route) -> Route:
    found = REFUSED.get((route.method, route.path))
    return route if found is None else replace(route, handler=partial(_refuse_or, route.handler, *found))


def _refuse_or(handler: Handler, what: str, place: Place, call: Call) -> Reply:
    if where := place(call):
        verb = "are" if what.endswith("s") else "is"
        raise unprocessable(f"{what} {verb} not available: {where}")
    return handler(call)
