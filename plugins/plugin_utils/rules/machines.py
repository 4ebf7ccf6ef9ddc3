# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the machines of an inventory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...module_utils.cluster.devices import joining_machines
from ..boot.pointer import labels_of_administrators
from ..machines.orders import device_orders as orders
from ..machines.pools import pool_hosts

__all__ = ["joining", "orders", "pool_hosts", "with_default_plans"]


def joining(
    devices: Iterable[Mapping[str, Any]], hostnames: Collection[str] | None = None, machines: Iterable[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Return ``machines`` of ``csr_approval`` for devices, see ``joining_machines``, with the labels that a kubelet may not set itself."""
    return joining_machines(devices, hostnames, {machine["hostname"]: labels_of_administrators(machine) for machine in machines})


def with_default_plans(machines: Iterable[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the machines with their default plans, as the lookup ``default_plans`` returns them."""
    return [{**machine, **plans.get(machine["hostname"], {})} for machine in machines]
