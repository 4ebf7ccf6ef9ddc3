# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices of a cluster by their role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..base.tags import ROLE_TAG
from ..metal.objects import DELETING_STATES
from ..nodes.addresses import vlan_address

ROLES = {"bootstrap": "bootstrap", "control_plane": "control-plane", "workers": "worker", "load_balancer": "load-balancer"}
"""Values of the tag ``openshift-role``, by the group of the inventory."""

Device = Mapping[str, Any]


def devices_by_role(devices: Iterable[Device]) -> dict[str, list[Device]]:
    """Return the devices of each role, sorted by host name."""
    ordered = sorted(devices, key=lambda device: str(device["hostname"]))
    return {group: [device for device in ordered if ROLE_TAG + role in device["tags"]] for group, role in ROLES.items()}


def joining_machines(
    devices: Iterable[Device], hostnames: Collection[str] | None = None, labels: Mapping[str, Mapping[str, str]] | None = None
) -> list[dict[str, Any]]:
    """Return ``machines`` of ``csr_approval`` for devices as ``metal_device_info`` returns them; ``hostnames``: only these.

    Names are those of Nodes, in lower case. ``labels``: of their Nodes, by these names. A device that is being deleted is left out when
    another device has its host name.
    """
    devices = [{**device, "hostname": str(device["hostname"]).lower()} for device in devices]
    known_labels = {name.lower(): dict(node_labels) for name, node_labels in (labels or {}).items()}
    staying = {device["hostname"] for device in devices if device.get("state") not in DELETING_STATES}
    return [
        {
            "name": device["hostname"],
            "id": device["id"],
            "addresses": [*(entry["address"] for entry in device["ip_addresses"]), *filter(None, [vlan_address(device)])],
            "created_at": device.get("provisioning_started_at") or device["created_at"],
            **({"labels": known_labels[device["hostname"]]} if known_labels.get(device["hostname"]) else {}),
        }
        for device in devices
        if (hostnames is None or device["hostname"] in hostnames)
        and (device.get("state") not in DELETING_STATES or device["hostname"] not in staying)
    ]
