# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of devices and their ports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from metal_api.core.store import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(Record):
    """A device. ``plan``, ``operating_system`` and ``metro`` are slugs of the catalogue.

    ``machine_address``: the IPv4 address of the device's machine, which never changes: the public address, or, where none
    was ordered or layer 2 removed it, an internal one. ``machine_network``: its block, None if the address is from a reservation.

    ``server_id``: the server that the device is, None for a machine that the backend made.

    ``progress``: type of each recorded provisioning event -> its id. ``machine``: ``none`` (never switched on, or a
    record alone), ``on``, ``off``. ``rescuing``: whether it boots the rescue system. ``pending``: the current operation (``provision``,
    ``power_off``, ..., ``deprovision``, ``vanish``), continued after a restart of the server; its options are ``pending_options``.
    """

    project_id: str
    hostname: str
    state: str
    plan: str
    operating_system: str
    metro: str
    created_at: str
    updated_at: str
    created_by: str
    description: str | None = None
    billing_cycle: str = "hourly"
    tags: tuple[str, ...] = ()
    locked: bool = False
    customdata: dict[str, Any] = field(default_factory=dict)
    userdata: str = ""
    ipxe_script_url: str | None = None
    always_pxe: bool = False
    allow_pxe: bool = True
    network_frozen: bool = False
    storage: dict[str, Any] | None = None
    spot_instance: bool = False
    spot_price_max: float | None = None
    termination_time: str | None = None
    ssh_key_ids: tuple[str, ...] = ()
    wanted_addresses: tuple[dict[str, Any], ...] = ()
    root_password: str | None = None
    switch_uuid: str = ""
    hardware_reservation_id: str | None = None
    server_id: str | None = None
    spot_market_request_id: str | None = None
    progress: dict[str, str] = field(default_factory=dict)
    machine: str = "none"
    rescuing: bool = False
    machine_address: str | None = None
    machine_network: str | None = None
    pending: str | None = None
    pending_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(Record):
    """A port. ``bond_id`` and ``bond_name``: the bond of an eth port, also while it is disbonded; None for a bond itself."""

    device_id: str
    name: str
    mac: str | None = None
    bond_id: str | None = None
    bond_name: str | None = None
    bonded: bool = True
    layer: int = 3
    vlan_ids: tuple[str, ...] = ()
    native_vlan_id: str | None = None

    @property
    def is_bond(self) -> bool:
        return self.bond_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed(Record):
    """An on-demand device whose provisioning failed and that left its project: first 403, later 404 (public issue threads)."""

    project_id: str
