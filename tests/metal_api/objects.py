"""One object of each kind, and the path of any route to them."""

from __future__ import annotations

import re
from typing import Any

from metal_api.catalogue.data import catalogue
from tests.metal_api.conftest import Sandbox

ORDER = {
    "metro": "da",
    "plan": "c3.small.x86",
    "operating_system": "ubuntu_24_04",
    "hostname": "one",
    "billing_cycle": "hourly",
    "tags": ["a"],
    "customdata": {"a": 1},
    "userdata": "#!/bin/sh\n",
    "features": {"tpm": "preferred"},
    "project_ssh_keys": [],
    "user_ssh_keys": [],
    "ssh_keys": [{"label": "a", "key": "ssh-rsa AAAA"}],
    "no_ssh_keys": True,
    "ip_addresses": [{"address_family": 4, "public": False, "cidr": 31, "ip_reservations": []}],
    "public_ipv4_subnet_size": 31,
    "hardware_reservation_id": None,
    "spot_instance": False,
    "spot_price_max": 1.0,
    "termination_time": "2099-01-01T00:00:00Z",
    "ipxe_script_url": "http://127.0.0.1/",
    "storage": {},
    "always_pxe": False,
    "locked": False,
    "description": "a",
    "network_frozen": False,
}
REQUEST = {"devices_min": 1, "devices_max": 1, "max_bid_price": 0.01, "metro": "da", "facilities": [], "end_at": "2099-01-01T00:00:00Z"}


async def everything(sandbox: Sandbox) -> dict[str, str]:
    """One of each kind of object: the beginning of its path -> its id."""

    async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await sandbox.api.post(path, json=body)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json() if answer.content else {}
        return made

    project = sandbox.project
    (device_id,) = await sandbox.seed(1)
    reserved = await sandbox.control.post("/hardware_reservations", json={"count": 1, "spare": True})
    device = await sandbox.device(device_id)
    block = await post(f"{project}/ips", {"type": "public_ipv4", "quantity": 8, "metro": "da"})
    assigned = await post(f"/devices/{device_id}/ips", {"address": block["address"]})
    vlan = await post(f"{project}/virtual-networks", {"metro": "da", "vxlan": 7})
    vrf = await post(f"{project}/vrfs", {"name": "v", "metro": "da", "ip_ranges": ["10.1.0.0/16"]})
    inside = await post(f"{project}/ips", {"type": "vrf", "vrf_id": vrf["id"], "network": "10.1.4.0", "cidr": 24})
    gateway = await post(f"{project}/metal-gateways", {"virtual_network_id": vlan["id"], "ip_reservation_id": inside["id"]})
    route = await post(f"/vrfs/{vrf['id']}/routes", {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2"})
    await post(f"{project}/bgp-configs", {"deployment_type": "local", "asn": 65000})
    session = await post(f"/devices/{device_id}/bgp/sessions", {"address_family": "ipv4"})
    port = next(each["id"] for each in device["network_ports"] if each["name"] == "bond0")
    await post(f"/ports/{port}/assign", {"vnid": "7"})
    assignments = (await sandbox.api.get(f"/ports/{port}/vlan-assignments")).json()["vlan_assignments"]
    vlan_batch = await post(f"/ports/{port}/vlan-assignments/batches", {"vlan_assignments": [{"vlan": "7"}]})
    batches = await post(f"{project}/devices/batch", {"batches": [{**ORDER, "quantity": 1, "ipxe_script_url": None}]})
    request = await post(f"{project}/spot-market-requests", {**REQUEST, "instance_parameters": ORDER})
    api_key = await post("/user/api-keys", {"description": "a"})
    user = (await sandbox.api.get("/user")).json()
    memberships = (await sandbox.api.get(f"{project}/memberships")).json()["memberships"]
    store = sandbox.world.store
    return {
        "projects": sandbox.world.project_id,
        "organizations": user["default_organization_id"],
        "users": user["id"],
        "user": api_key["id"],
        "api-keys": api_key["id"],
        "memberships": memberships[0]["id"],
        "ssh-keys": next(iter(store["ssh_keys"])).id,
        "devices": device_id,
        "hardware-reservations": reserved.json()["ids"][0],
        "ips": block["id"],
        "assigned": assigned["id"],
        "virtual-networks": vlan["id"],
        "vrfs": vrf["id"],
        "inside": inside["id"],
        "metal-gateways": gateway["id"],
        "routes": route["id"],
        "bgp": session["id"],
        "ports": port,
        "assignment_id": assignments[0]["id"],
        "batch_id": vlan_batch["id"],
        "batches": batches["batches"][0]["id"],
        "spot-market-requests": request["id"],
        "events": next(iter(store["events"])).id,
        "locations": catalogue().metros["da"].id,
        "facilities": catalogue().metros["da"].facility,
        "plans": "c3.small.x86",
        "operating-systems": "custom_ipxe",
    }


def filled(path: str, ids: dict[str, str]) -> str:
    first = path.split("/")[1]
    named = {"project_id": "projects", "instance_id": "devices", "vrf_id": "vrfs"}
    inner = "inside" if path.startswith("/vrfs/{vrf_id}") else "assigned" if "/ips/{id}/" in path and first != "ips" else first
    return re.sub(r"{(\w+)}", lambda found: ids.get(named.get(found[1], found[1]) if found[1] != "id" else inner, "none"), path)
