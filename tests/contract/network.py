"""Scenarios of the network: ports, assignments, gateways, VRFs, BGP. Each requires devices, VLANs or blocks."""

import hashlib
import json
from typing import Any

from tests.contract.scenario import TAGS, WAIT, Scenario, is_tagged, machine, of_one


def one_bond(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return bond0 as the diff of ``metal_port`` has it."""
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
    """Return the assignments of the contract tests' block: one at most."""
    found = [each for block in entries if is_tagged(block) for each in block["assignments"]]
    assert len(found) <= 1
    if not found:
        return {}
    (each,) = found
    return {
        "address": f"{each['address']}/{each['cidr']}",
        "cidr": each["cidr"],
        "device_id": each["assigned_to"]["href"].rpartition("/")[2],
        "customdata": diff_of_data(each["customdata"]),
    }


def diff_of_data(data: Any) -> str:
    """Return custom data as a diff has it."""
    if not data:
        return ""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{len(text)} bytes, sha256 {hashlib.sha256(text.encode()).hexdigest()}"


@of_one()
def one_gateway(gateway: dict[str, Any]) -> dict[str, Any]:
    return {
        "virtual_network_id": gateway["virtual_network"]["id"],
        "ip_reservation_id": gateway["ip_reservation"]["id"],
        "private_ipv4_subnet_size": 2 ** (32 - gateway["ip_reservation"]["cidr"]),
    }


@of_one()
def one_vrf(vrf: dict[str, Any]) -> dict[str, Any]:
    plain = {name: vrf[name] for name in ("name", "local_asn", "description")}
    return {**plain, "metro": vrf["metro"]["code"], "ip_ranges": sorted(vrf["ip_ranges"]), "tags": sorted(vrf["tags"])}


def one_config(entries: list[dict[str, Any]]) -> dict[str, Any]:
    (config,) = entries
    return {name: config[name] for name in ("deployment_type", "asn") if name in config}


@of_one()
def one_session(session: dict[str, Any]) -> dict[str, Any]:
    return {
        "device_id": session["device"]["href"].rpartition("/")[2],
        "address_family": session["address_family"],
        "default_route": bool(session["default_route"]),
    }


UNKNOWN = "00000000-0000-0000-0000-000000000000"
PASSWORD = "Swordfish4Bgp"
BOND = {"device_id": "{device.id}", "name": "bond0", **WAIT}

NETWORK_SCENARIOS = [
    Scenario(
        module="metal_port",
        prerequisites={"first": vlan(1101), "second": vlan(1102), "third": vlan(1103), "device": device(5)},
        create={**BOND, "layer2": True, "vlan_ids": ["1101", "1102"], "native_vlan_id": "1102"},
        change={**BOND, "layer2": False, "vlan_ids": ["1102", "1103"], "native_vlan_id": ""},
        listing="ports/{device.network_ports.2.id}?include=virtual_networks,native_virtual_network",
        key="",
        view=one_bond,
        order="vlan-assignments/batches",
    ),
    Scenario(
        module="metal_ip_assignment",
        prerequisites={
            "block": ("metal_ip_reservation", {"metro": "da", "quantity": 2, "tags": TAGS, **WAIT}),
            "first": device(6),
            "second": device(7),
        },
        create={"address": "{block.network}", "device_id": "{first.id}", "customdata": {"a": 1}, **WAIT},
        change={"address": "{block.network}/32", "device_id": "{second.id}", "move": True, "customdata": {"a": 1}, **WAIT},
        absent={"address": "{block.network}", "state": "absent", **WAIT},
        never={"address": "192.0.2.1", "state": "absent"},
        listing="projects/{project}/ips?include=assignments",
        key="ip_addresses",
        view=one_assignment,
    ),
    Scenario(
        module="metal_ip_assignment",
        name="of-a-block",
        prerequisites={"block": ("metal_ip_reservation", {"metro": "da", "quantity": 4, "tags": TAGS, **WAIT}), "device": device(9)},
        create={"ip_reservation_tags": TAGS, "device_id": "{device.id}", "cidr": 31, **WAIT},
        change={"ip_reservation_id": "{block.id}", "device_id": "{device.id}", "cidr": 31, "customdata": {"a": 1}, **WAIT},
        absent={"ip_reservation_tags": TAGS, "device_id": "{device.id}", "cidr": 31, "state": "absent", **WAIT},
        never={"ip_reservation_tags": ["never"], "device_id": "{device.id}", "state": "absent"},
        listing="projects/{project}/ips?include=assignments",
        key="ip_addresses",
        view=one_assignment,
    ),
    Scenario(
        module="metal_gateway",
        prerequisites={"vlan": vlan(1110)},
        create={"virtual_network_id": "{vlan.id}", "private_ipv4_subnet_size": 8, **WAIT},
        absent={"virtual_network_id": "{vlan.id}", "state": "absent", **WAIT},
        never={"virtual_network_id": UNKNOWN, "state": "absent"},
        listing="projects/{project}/metal-gateways?include=ip_reservation,virtual_network",
        key="metal_gateways",
        view=one_gateway,
    ),
    Scenario(
        module="metal_vrf",
        create={"name": "contract", "metro": "da", "ip_ranges": ["192.168.100.0/25"], "description": "contract"},
        change={
            "name": "contract",
            "metro": "DA",
            "ip_ranges": ["192.168.100.0/24", "10.9.0.0/16"],
            "local_asn": 65010,
            "tags": ["b", "a"],
        },
        absent={"name": "contract", "state": "absent"},
        never={"name": "never", "state": "absent"},
        listing="projects/{project}/vrfs",
        key="vrfs",
        view=one_vrf,
    ),
    Scenario(
        module="metal_bgp_config",
        prerequisites={"own": ("POST projects", {"name": "contract-bgp-config"})},
        create={"project_id": "{own.id}", "deployment_type": "local", "asn": 65000, "md5": PASSWORD},
        change={"project_id": "{own.id}", "deployment_type": "local", "asn": 65001, "md5": f"{PASSWORD}x"},
        listing="projects/{own.id}/bgp-config",
        key="",
        view=one_config,
        order="bgp-configs",
        secrets=(PASSWORD,),
    ),
    Scenario(
        module="metal_bgp_session",
        prerequisites={
            "own": ("POST projects", {"name": "contract-bgp-session"}),
            "config": ("POST projects/{own.id}/bgp-configs", {"deployment_type": "local", "asn": 65000}),
            "device": ("metal_device", {**machine(8), "project_id": "{own.id}", **WAIT}),
        },
        create={"device_id": "{device.id}", "address_family": "ipv4", "default_route": False},
        change={"device_id": "{device.id}", "address_family": "ipv4", "default_route": True},
        absent={"device_id": "{device.id}", "address_family": "ipv4", "state": "absent"},
        never={"device_id": UNKNOWN, "address_family": "ipv6", "state": "absent"},
        listing="devices/{device.id}/bgp/sessions",
        key="bgp_sessions",
        view=one_session,
    ),
]
