"""What info modules read: a project with resources of each kind, and the options of each module."""

from collections.abc import Mapping
from typing import Any

from tests.contract.environment import RESERVED_HARDWARE
from tests.contract.scenario import TAGS, WAIT, machine

OWN = {"project_id": "{own.id}"}

Prerequisites = dict[str, tuple[str, Mapping[str, Any]]]


def _several(count: int) -> Prerequisites:
    """More of each than one page holds, when a page holds two."""
    prerequisites: Prerequisites = {}
    for number in range(1, count + 1):
        prerequisites[f"device{number}"] = ("metal_device", {**OWN, **machine(20 + number), "tags": TAGS, **WAIT})
        prerequisites[f"vlan{number}"] = (
            "metal_vlan",
            {**OWN, "metro": "da", "vxlan": 1200 + number, "description": "reading", "tags": TAGS},
        )
        prerequisites[f"gateway{number}"] = (
            "metal_gateway",
            {**OWN, "virtual_network_id": f"{{vlan{number}.id}}", "private_ipv4_subnet_size": 8, **WAIT},
        )
    return prerequisites


PREREQUISITES: Prerequisites = {
    "own": ("POST projects", {"name": "reading"}),
    "other": ("POST projects", {"name": "reading-nothing"}),
    "hardware": (RESERVED_HARDWARE, {**OWN, "plan": "m3.large.x86", "metro": "sv", "count": 3}),
    "config": ("POST projects/{own.id}/bgp-configs", {"deployment_type": "local", "asn": 65000}),
    **_several(3),
    "session": ("metal_bgp_session", {**OWN, "device_id": "{device1.id}", "address_family": "ipv4"}),
    "block": ("metal_ip_reservation", {**OWN, "metro": "da", "quantity": 4, "tags": TAGS, "details": "reading", **WAIT}),
    "vrf": ("metal_vrf", {**OWN, "name": "reading", "metro": "da", "ip_ranges": ["192.168.200.0/25"]}),
    "key": (
        "metal_ssh_key",
        {**OWN, "label": "reading", "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBubkULyBKDqIk9QaI3Bf8A2CDzf8m/kgZmpRldCe0vT"},
    ),
}

READINGS: dict[str, dict[str, Any]] = {
    "metal_available_addresses_info": {**OWN, "ip_reservation_id": "{block.id}"},
    "metal_bgp_info": OWN,
    "metal_capacity_info": {**OWN, "servers": [{"plan": "c3.small.x86", "metro": "da", "quantity": 2}]},
    "metal_cluster_info": OWN,
    "metal_device_event_info": {**OWN, "device_id": "{device1.id}"},
    "metal_device_info": {**OWN, "tags": TAGS},
    "metal_gateway_info": OWN,
    "metal_hardware_reservation_info": OWN,
    "metal_ip_reservation_info": OWN,
    "metal_metro_info": OWN,
    "metal_operating_system_info": OWN,
    "metal_organization_info": OWN,
    "metal_plan_info": OWN,
    "metal_port_info": {**OWN, "device_id": "{device1.id}"},
    "metal_project_info": OWN,
    "metal_ssh_key_info": OWN,
    "metal_vlan_info": OWN,
    "metal_vrf_info": OWN,
}
"""A reader is added with one entry here; without one the suite fails."""
