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
]
