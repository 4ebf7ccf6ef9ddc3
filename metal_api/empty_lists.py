# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists that are empty by nature: nobody can add anything to them here, and an empty list is what clients read then.

Their shapes: vendor's OpenAPI text. What changes these objects is not imitated (docs/sandbox.md).
"""

from __future__ import annotations

from collections.abc import Callable

from metal_api.accounts.members import organization_of, project_of
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.resource import Resource
from metal_api.devices.record import Device
from metal_api.metal_gateways import MetalGateway


def _owner(call: Call) -> None:
    """Check that the object whose list is read is the caller's."""
    if call.path.startswith("/projects/"):
        project_of(call)
    elif call.path.startswith("/organizations/"):
        organization_of(call)
    elif call.path.startswith("/metal-gateways/"):
        call.find(MetalGateway)


def _empty(key: str) -> Callable[[Call], Reply]:
    def handler(call: Call) -> Reply:
        _owner(call)
        return Reply({key: []})

    return handler


def list_interconnections(call: Call) -> Reply:
    """Return an empty page."""
    _owner(call)
    return call.page("interconnections", list[None](), lambda each: each)


def firmware_set(call: Call) -> Reply:
    """Return that a device has neither a firmware set of its own nor a default one."""
    call.find(Device)
    return Reply({"record": None})


ROUTES: list[Route] = [
    *paths("GET", list_interconnections, "/projects/{id}/connections", "/organizations/{id}/connections"),
    *paths("GET", _empty("invitations"), "/invitations", "/projects/{id}/invitations", "/organizations/{id}/invitations"),
    *paths("GET", _empty("payment_methods"), "/organizations/{id}/payment-methods"),
    *paths("GET", _empty("invoices"), "/organizations/{id}/invoices"),
    *paths("GET", _empty("transfers"), "/organizations/{id}/transfers"),
    *paths("GET", _empty("licenses"), "/projects/{id}/licenses"),
    *paths("GET", _empty("reservations"), "/projects/{id}/self-service/reservations"),
    *paths("GET", _empty("ip_addresses"), "/metal-gateways/{id}/ips"),
    *paths("GET", _empty("bgp_dynamic_neighbors"), "/metal-gateways/{id}/bgp-dynamic-neighbors"),
    *paths("GET", firmware_set, "/devices/{id}/firmware-sets"),
]

RESOURCE = Resource(routes=ROUTES)
