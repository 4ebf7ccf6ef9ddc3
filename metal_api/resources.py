# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources of a rack, each in a file or package of its name.

A resource imports ``core`` and the resources above it. It reads records of those below it by the name of their table
(``store["devices"]``), and ``Rendering`` renders them.
"""

from __future__ import annotations

from importlib import import_module

from metal_api.core.resource import Resource

NAMES = (
    "accounts.resource",
    "ssh_keys",
    "catalogue.resource",
    "events",
    "userdata",
    "hardware_reservations",
    "servers",
    "capacity",
    "vrfs",
    "virtual_networks",
    "ip_reservations.resource",
    "metal_gateways",
    "vrf_routes",
    "devices.resource",
    "device_services",
    "ports.resource",
    "bgp",
    "metadata",
    "device_batches",
    "usages",
)

RESOURCES: tuple[Resource, ...] = tuple(import_module(f"metal_api.{name}").RESOURCE for name in NAMES)
