# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of blocks of addresses, and of addresses on devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metal_api.core.store import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Record):
    """A block of addresses of a project. ``network`` (``a.b.c.d/nn``) is None while the request waits for approval.

    ``type``: public_ipv4, global_ipv4, private_ipv4, public_ipv6, vrf. ``metro`` is None for global_ipv4. ``requested`` is False for the
    blocks that the first device in a metro creates. ``vrf_id``: of a ``vrf`` block; its addresses are the customer's own. ``for_gateway``:
    a private block that a metal gateway created and that is deleted with it.
    """

    project_id: str
    type: str
    quantity: int
    network: str | None
    metro: str | None
    state: str
    created_at: str
    requested_by: str
    requested: bool = True
    vrf_id: str | None = None
    for_gateway: bool = False
    tags: tuple[str, ...] = ()
    details: str | None = None
    customdata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Record):
    """Addresses on a device: ``network`` is ``a.b.c.d/nn``; ``reservation_id`` is None for the device's own public IPv4 subnet."""

    device_id: str
    port_id: str
    network: str
    address: str
    gateway: str
    public: bool
    management: bool
    metro: str
    created_at: str
    reservation_id: str | None = None
    global_ip: bool = False
    customdata: dict[str, Any] = field(default_factory=dict)
