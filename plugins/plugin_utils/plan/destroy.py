# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of destroy.yml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .step import Plan, Step
from .world import price_of

PHASES = (
    "List what will be deleted",
    "Delete DNS records",
    "Delete devices",
    "Delete the network",
    "Delete published files and cluster files",
    "Verify that nothing is left",
)


def plan_destroy(
    cluster: Mapping[str, Any],
    records: Iterable[Mapping[str, Any]] = (),
    *,
    files: Mapping[str, str],
    project: Mapping[str, Any],
    by_hand: bool = False,
) -> Plan:
    """Return the plan.

    ``cluster``: what ``metal_cluster_info`` has of it. ``records``: its DNS records, with ``name`` and the values ``before``. ``files``:
    where they are, by what they are. ``project``: ``name`` and ``id`` of the project that install.yml created, else empty. ``by_hand``:
    whether the records have to be deleted by hand.
    """
    _list, names, devices, network, folder, left = PHASES
    steps = [
        *(_step(names, "records", str(record["name"]), " ".join(map(str, record.get("before") or ()))) for record in records),
        *(_device(devices, device) for device in cluster.get("devices") or ()),
        *(_gateway(network, metal_gateway) for metal_gateway in cluster["metal_gateways"]),
        *(
            _step(network, "vlan", f"VLAN {virtual_network.get('vxlan')}", f"in {virtual_network.get('metro')}", virtual_network)
            for virtual_network in cluster["virtual_networks"]
        ),
        *(_addresses(network, ip_reservation) for ip_reservation in cluster["ip_reservations"]),
        *(_step(folder, "files", what, where) for what, where in files.items()),
        *(
            [replace(_step(left, "project", f"project {project['name']}", "", project), reason="unless something else is in it")]
            if project
            else ()
        ),
    ]
    notes = [f"DNS records of {cluster['name']} have to be deleted by hand"] if by_hand else []
    return Plan(str(cluster["name"]), "destroy.yml", PHASES, steps, cluster.get("price_per_hour"), notes=notes, is_long=True)


def _step(phase: str, kind: str, name: str, text: str, existing: Mapping[str, Any] | None = None) -> Step:
    known = existing or {}
    since = f"since {known['created_at']}" if known.get("created_at") else ""
    identity = f"({known['id']})" if known.get("id") else ""
    detail = " ".join(filter(None, [", ".join(filter(None, [text, since])), identity]))
    before = {"id": known["id"]} if known.get("id") else None
    return Step(phase, "remove", kind, name, reason="", detail=detail, before=before)


def _device(phase: str, device: Mapping[str, Any]) -> Step:
    price = price_of(device)
    locked = ", locked against deletion" if device.get("locked") else ""
    text = f"{device.get('plan')} in {device.get('metro')}, {device.get('state')}{locked}"
    step = _step(phase, "device", str(device.get("hostname")), text, device)
    return replace(step, price_per_hour=None if price is None else -price)


def _gateway(phase: str, gateway: Mapping[str, Any]) -> Step:
    return _step(phase, "gateway", f"gateway {gateway.get('gateway_address')}", f"of VLAN {gateway.get('vxlan')}", gateway)


def _addresses(phase: str, block: Mapping[str, Any]) -> Step:
    size = f"/{block['cidr']}" if block.get("cidr") else ""
    return _step(
        phase, "addresses", f"{block.get('network') or 'pending addresses'}{size}", f"in {block.get('metro') or 'all metros'}", block
    )
