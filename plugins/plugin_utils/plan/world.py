# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan knows: what the inventory and the settings say, and what each source has.

A source that did not answer is unknown, never empty: nothing is planned to be created or removed for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from ...module_utils.cluster.dns import Owner
from ..machines.removal import Request
from ..machines.replacement import Fleet
from .step import total

Machine = Mapping[str, Any]
Machines = Mapping[str, Sequence[Machine]]


@dataclass(frozen=True)
class Desired:
    """What the inventory and the settings say.

    ``machines``: those of the inventory by group, ``bootstrap``, ``control_plane``, ``workers`` and ``load_balancer``. ``removal``: which
    removals were asked for. ``replacement``: the options of :func:`plan_replacement`. ``replace_not_ready_after``: seconds, 0 is never.
    ``has_dns``: whether records are written by the playbooks. ``orders``: options of ``metal_device_set`` for the machines of a group, with
    the ``ownership_tags``. ``records``: options of :func:`cluster_dns_records`. ``owner``: of the records. ``routers``: ``pool`` and
    ``replicas``. ``time_servers``: of all nodes.
    """

    cluster: str
    machines: Machines
    removal: Request = field(default_factory=Request)
    replacement: Mapping[str, Any] = field(default_factory=dict)
    replace_not_ready_after: int = 0
    replace_failed: int = 0
    replace_at_most: int = 1
    has_dns: bool = False
    orders: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    ownership_tags: Sequence[str] = ()
    records: Mapping[str, Any] = field(default_factory=dict)
    owner: Owner | None = None
    routers: Mapping[str, Any] = field(default_factory=dict)
    time_servers: Sequence[str] = ()

    @property
    def nodes(self) -> list[Machine]:
        """The machines that become Nodes and stay."""
        return [*self.machines["control_plane"], *self.machines["workers"]]


@dataclass(frozen=True)
class Offer:
    """What a machine to order will be. ``price_per_hour``: US dollars, None when not known, 0 for reserved hardware."""

    plan: str
    metro: str
    price_per_hour: float | None = None
    is_reserved: bool = False

    @property
    def text(self) -> str:
        costs = "the price is not known" if self.price_per_hour is None else f"{self.price_per_hour:.2f} USD an hour"
        where = f" in {self.metro}" if self.metro else ""
        return f"{self.plan}{where}, {'reserved hardware' if self.is_reserved else costs}"


@dataclass(frozen=True)
class World:
    """What exists of a cluster.

    ``devices``: as ``metal_device_info`` or ``metal_cluster_info`` returns them, of this cluster by their tags. ``nodes``: as ``node_info``
    returns them. ``objects``: the Node objects, with names, labels, annotations and taints. ``missing``: the machines to order, by group.
    ``offers``: of these, by host name. ``problems``: why a source did not answer, by its name (``Metal API``, ``cluster API``).
    ``records``: the DNS records by name. ``cluster``: what the playbooks have written to the cluster, as preflight reads it.
    ``publishes``: whether boot files are published from the cluster folder. ``others``: ``id`` and ``hostname`` of all devices of the
    project, whatever tags they have; None where no Node has lost its device. ``unread``: topics that only roles compare, with the reason.
    """

    devices: Sequence[Mapping[str, Any]] = ()
    nodes: Sequence[Mapping[str, Any]] = ()
    objects: Sequence[Mapping[str, Any]] = ()
    missing: Machines = field(default_factory=dict)
    offers: Mapping[str, Offer] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)
    publishes: bool = False
    others: Sequence[Mapping[str, Any]] | None = None
    unread: Mapping[str, str] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def knows_devices(self) -> bool:
        return METAL not in self.problems

    @property
    def knows_nodes(self) -> bool:
        return CLUSTER not in self.problems

    def fleet(self, desired: Desired) -> Fleet:
        """Return the machines of the inventory with their devices and Nodes."""
        return Fleet(self.devices, self.nodes, desired.machines)

    @cached_property
    def price_per_hour(self) -> float | None:
        """The price of all devices in US dollars, None when one is not known."""
        return total(map(price_of, self.devices)) if self.knows_devices else None


METAL, CLUSTER = "Metal API", "cluster API"


def price_of(device: Mapping[str, Any]) -> float | None:
    """Return what a device costs an hour in US dollars. Reserved hardware is paid by contract, whether or not it has a device."""
    if device.get("hardware_reservation_id"):
        return 0.0
    price = device.get("price_per_hour")
    return float(price) if isinstance(price, (int, float)) else None
