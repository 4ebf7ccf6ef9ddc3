"""Scenarios of the network: ports, assignments, gateways, VRFs, BGP. Each stands on machines, VLANs or blocks that are made before it."""

from __future__ import annotations

from typing import Any

from tests.laws.scenario import TAGS, WAIT, Scenario, machine


def one_bond(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """bond0 as the diff of ``metal_port`` tells it."""
    (port,) = entries
    native = port["native_virtual_network"]
    return {
        "bonded": port["data"]["bonded"],
        "layer2": port["network_type"].startswith("layer2"),
        "vlan_ids": sorted(str(each["vxlan"]) for each in port["virtual_networks"]),
        "native_vlan_id": str(native["vxlan"]) if native else "",
    }


def vlan(number: int) -> tuple[str, dict[str, Any]]:
    return "metal_vlan", {"metro": "da", "vxlan": number, "description": f"ground {number}"}


def device(number: int) -> tuple[str, dict[str, Any]]:
    return "metal_device", {**machine(number), "tags": TAGS, **WAIT}


def one_assignment(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The assignments of the block of laws, of which there is one at most."""
    found = [each for block in entries if set(TAGS) <= set(block["tags"]) for each in block["assignments"]]
    assert len(found) <= 1
    if not found:
        return {}
    (each,) = found
    return {"address": f"{each['address']}/{each['cidr']}", "device_id": each["assigned_to"]["href"].rpartition("/")[2]}


BOND = {"device_id": "{device.id}", "name": "bond0", **WAIT}

NETWORK_SCENARIOS = [
    Scenario(
        module="metal_port",
        ground={"first": vlan(1101), "second": vlan(1102), "third": vlan(1103), "device": device(5)},
        create={**BOND, "layer2": True, "vlan_ids": ["1101", "1102"], "native_vlan_id": "1102"},
        change={**BOND, "layer2": False, "vlan_ids": ["1102", "1103"], "native_vlan_id": ""},
        absent=None,
        never=None,
        listing="ports/{device.network_ports.0.id}?include=virtual_networks,native_virtual_network",
        key="",
        view=one_bond,
        order="vlan-assignments/batches",
    ),
    Scenario(
        module="metal_ip_assignment",
        ground={
            "block": ("metal_ip_reservation", {"metro": "da", "quantity": 2, "tags": TAGS, **WAIT}),
            "first": device(6),
            "second": device(7),
        },
        create={"address": "{block.network}", "device_id": "{first.id}"},
        change={"address": "{block.network}/32", "device_id": "{second.id}"},
        absent={"address": "{block.network}", "state": "absent"},
        never={"address": "192.0.2.1", "state": "absent"},
        listing="projects/{project}/ips?include=assignments",
        key="ip_addresses",
        view=one_assignment,
    ),
]
