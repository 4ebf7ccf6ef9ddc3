# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the store keeps: one frozen dataclass per kind of object, of JSON values only.

A record never changes; ``dataclasses.replace`` makes the next version of it, which the store puts in its place. So a
transaction that fails is undone by putting the old versions back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    first_name: str
    last_name: str
    email: str
    created_at: str
    updated_at: str
    organization_id: str
    project_id: str
    customdata: dict[str, Any] = field(default_factory=dict)
    phone_number: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    id: str
    name: str
    created_at: str
    updated_at: str
    customdata: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    website: str = ""
    twitter: str = ""
    # Users who see all of its projects. Empty in state folders of before there could be a second user: then everybody is.
    member_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A token. ``project_id`` is set for a project's key, ``user_id`` for a user's."""

    id: str
    token: str
    description: str
    read_only: bool
    created_at: str
    updated_at: str
    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: str
    name: str
    organization_id: str
    created_at: str
    updated_at: str
    customdata: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    backend_transfer_enabled: bool = False
    payment_method_id: str | None = None
    # Users who see it though they are not in its organization.
    member_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SshKey:
    """A public key of a user or of a project."""

    id: str
    label: str
    key: str
    fingerprint: str
    created_at: str
    updated_at: str
    tags: tuple[str, ...] = ()
    user_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """``plan``, ``operating_system`` and ``metro`` are slugs of the catalogue.

    ``machine_address``: the IPv4 address its machine has on the loopback, for the whole life of the device: the public address, or, where
    none was asked for or layer 2 took it away, one that is not shown. ``machine_network``: the block it is from, None if that is of a
    reservation.

    ``progress``: type of each provisioning event that has happened -> its id. ``machine``: ``none`` (never switched on, or seeded
    without one), ``on``, ``off``. ``pending``: the lifecycle under way (``provision``, ``power_off``, ..., ``deprovision``, ``vanish``),
    taken up again when the sandbox starts; its options in ``pending_options``.
    """

    id: str
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
    spot_market_request_id: str | None = None
    progress: dict[str, str] = field(default_factory=dict)
    machine: str = "none"
    machine_address: str | None = None
    machine_network: str | None = None
    pending: str | None = None
    pending_options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """``bond_id`` and ``bond_name`` are the bond an eth port belongs to, also while it is out of it; None for a bond itself."""

    id: str
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
class VirtualNetwork:
    id: str
    project_id: str
    vxlan: int
    metro: str
    created_at: str
    # Asked for by its building, as older clients do: shown with that and without a metro.
    by_facility: bool = False
    description: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VlanBatch:
    """A request to change the VLANs of one port: ``assignments`` as ``{"vlan_id", "vlan", "state", "native"}``."""

    id: str
    port_id: str
    project_id: str
    state: str
    created_at: str
    updated_at: str
    assignments: tuple[dict[str, Any], ...] = ()
    error_messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A block of addresses of a project. ``network`` (``a.b.c.d/nn``) is None while the request waits for approval.

    ``type``: public_ipv4, global_ipv4, private_ipv4, public_ipv6, vrf. ``metro`` is None for global_ipv4. ``requested`` is False for the
    blocks that come by themselves with the first device in a metro. ``vrf_id``: of a ``vrf`` block; its addresses are the customer's own.
    ``for_gateway``: a private block that a metal gateway made for itself and that goes with it.
    """

    id: str
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
class Assignment:
    """Addresses on a device: ``network`` is ``a.b.c.d/nn``; ``reservation_id`` is None for a public IPv4 subnet of the device's own."""

    id: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a device or a project. ``user_id`` is who caused it, None for the service itself or the machine."""

    id: str
    type: str
    body: str
    created_at: str
    project_id: str
    device_id: str | None = None
    user_id: str | None = None
    state: str | None = None
    ip: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed:
    """An on-demand device whose provisioning failed and that is gone from its project: 403 first, later 404 (public issue threads)."""

    id: str
    project_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareReservation:
    """A machine that is the project's own. ``provisionable`` is False while it is in use and until it is wiped after that.

    ``freeing``: given back by a device and being wiped; taken up again when the sandbox starts.
    """

    id: str
    project_id: str
    plan: str
    metro: str
    created_at: str
    switch_uuid: str
    device_id: str | None = None
    provisionable: bool = True
    freeing: bool = False
    spare: bool = False
    need_of_service: bool = False
    custom_rate: float | None = None
    description: str | None = None
    termination_time: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalGateway:
    """A router of one VLAN. ``state``: ready, active, deleting (vendor's OpenAPI text)."""

    id: str
    project_id: str
    vlan_id: str
    reservation_id: str
    state: str
    created_at: str
    updated_at: str
    created_by: str
    vrf_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vrf:
    """A routing table of the customer's own in one metro; blocks of its ``ip_ranges`` are reserved like any other."""

    id: str
    project_id: str
    name: str
    metro: str
    local_asn: int
    created_at: str
    updated_at: str
    created_by: str
    description: str | None = None
    ip_ranges: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VrfRoute:
    """A static default route. ``status``: pending, active, deleting (vendor's OpenAPI text)."""

    id: str
    vrf_id: str
    project_id: str
    gateway_id: str
    prefix: str
    next_hop: str
    status: str
    created_at: str
    updated_at: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpConfig:
    """One for a project, its id is the project's own. ``status``: requested, enabled, disabled."""

    id: str
    project_id: str
    deployment_type: str
    asn: int
    status: str
    requested_at: str
    created_at: str
    md5: str | None = None
    use_case: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BgpSession:
    """``address_family``: ipv4, ipv6. ``status``: unknown, up, down."""

    id: str
    device_id: str
    project_id: str
    address_family: str
    status: str
    created_at: str
    updated_at: str
    default_route: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBatch:
    """An order for several devices, worked off afterwards. ``orders``: bodies of creates that are still to be done."""

    id: str
    project_id: str
    state: str
    quantity: int
    created_at: str
    updated_at: str
    created_by: str
    orders: tuple[dict[str, Any], ...] = ()
    device_ids: tuple[str, ...] = ()
    error_messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotMarketRequest:
    """A standing order for spot devices. ``instance_parameters``: body of a create without its place."""

    id: str
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


Record = (
    User
    | Organization
    | ApiKey
    | Project
    | SshKey
    | Device
    | Port
    | VirtualNetwork
    | VlanBatch
    | Reservation
    | Assignment
    | Event
    | Departed
    | HardwareReservation
    | MetalGateway
    | Vrf
    | VrfRoute
    | BgpConfig
    | BgpSession
    | DeviceBatch
    | SpotMarketRequest
)

T = TypeVar("T", bound=Record)

_TUPLES: dict[type[Any], frozenset[str]] = {}


def to_json(record: Record) -> dict[str, Any]:
    """Field name -> value, ready for ``json.dumps``."""
    return {name: getattr(record, name) for name in record.__slots__}


def from_json(kind: type[T], values: dict[str, Any]) -> T:
    """The record ``to_json`` was given. Fields that are not there take their defaults, so an older state folder opens."""
    tuples = _TUPLES.get(kind)
    if tuples is None:
        tuples = _TUPLES[kind] = frozenset(each.name for each in dataclasses.fields(kind) if str(each.type).startswith("tuple"))
    make: Callable[..., T] = kind
    return make(**{name: tuple(value) if name in tuples else value for name, value in values.items()})
