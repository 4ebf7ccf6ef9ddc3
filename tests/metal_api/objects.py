"""One object of each kind, the path of any route to them, and the body of each write."""

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

# What is in an order within another order is read as in an order itself.
_BRIEF = {name: ORDER[name] for name in ("plan", "operating_system", "hostname", "tags", "customdata", "no_ssh_keys")}
_KEY = {"label": "a", "key": "ssh-ed25519 AAAA", "tags": ["a"]}
_CAPACITY = {"servers": [{"metro": "da", "facility": "da11", "plan": "c3.small.x86", "quantity": 1}]}
_PROJECT: dict[str, Any] = {
    "name": "a",
    "customdata": {},
    "tags": ["a"],
    "organization_id": None,
    "payment_method_id": None,
    "backend_transfer_enabled": False,
}
_ORGANIZATION = {"name": "a", "description": "a", "website": "a", "twitter": "a", "customdata": {}}

# What each write takes, all of it; each part is then spoilt in every way.
BODIES: dict[str, Any] = {
    "POST /organizations": _ORGANIZATION,
    "PUT /organizations/{id}": _ORGANIZATION,
    "POST /organizations/{id}/projects": _PROJECT,
    "POST /projects": _PROJECT,
    "PUT /projects/{id}": _PROJECT,
    "PUT /user": {"first_name": "a", "last_name": "a", "phone_number": "1", "timezone": "UTC", "customdata": {}},
    "POST /ssh-keys": _KEY,
    "POST /projects/{id}/ssh-keys": _KEY,
    "PUT /ssh-keys/{id}": _KEY,
    "POST /user/api-keys": {"description": "a", "read_only": True},
    "POST /projects/{id}/api-keys": {"description": "a", "read_only": True},
    "POST /capacity": _CAPACITY,
    "POST /capacity/metros": _CAPACITY,
    "POST /projects/{id}/devices": ORDER,
    "PUT /devices/{id}": ORDER,
    "POST /devices/{id}/actions": {"type": "rescue", "operating_system": "ubuntu_24_04", "preserve_data": True, "ipxe_script_url": "x"},
    "POST /projects/{id}/devices/batch": {"batches": [{**_BRIEF, "quantity": 1, "hostnames": ["a"]}]},
    "POST /hardware-reservations/{id}/move": {"project_id": "a"},
    "POST /hardware-reservations/{id}/activate": {"description": "a"},
    "POST /projects/{id}/spot-market-requests": {**REQUEST, "instance_parameters": {**_BRIEF, "hostnames": ["a"]}},
    "POST /userdata/validate": {"userdata": "#cloud-config\n"},
    "POST /projects/{id}/ips": {
        "type": "public_ipv4",
        "quantity": 1,
        "metro": "da",
        "facility": "da11",
        "details": "a",
        "comments": "a",
        "tags": ["a"],
        "customdata": {},
        "fail_on_approval_required": True,
        "vrf_id": "a",
        "network": "10.1.0.0",
        "cidr": 29,
    },
    "PATCH /ips/{id}": {"details": "a", "tags": ["a"], "customdata": {}},
    "POST /devices/{id}/ips": {"address": "127.96.0.1", "manageable": True, "customdata": {}},
    "POST /projects/{id}/virtual-networks": {"metro": "da", "facility": "da11", "vxlan": 2, "description": "a", "tags": ["a"]},
    "PUT /virtual-networks/{id}": {"description": "a", "tags": ["a"]},
    "POST /projects/{project_id}/metal-gateways": {"virtual_network_id": "a", "ip_reservation_id": "a", "private_ipv4_subnet_size": 8},
    "POST /projects/{id}/vrfs": {"name": "a", "metro": "da", "local_asn": 1, "ip_ranges": ["10.9.0.0/24"], "description": "a", "tags": []},
    "PUT /vrfs/{id}": {"name": "a", "local_asn": 1, "ip_ranges": ["10.1.0.0/16"], "description": "a", "tags": ["a"]},
    "POST /vrfs/{id}/routes": {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2", "tags": ["a"]},
    "PUT /routes/{id}": {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2", "tags": ["a"]},
    "POST /projects/{id}/bgp-configs": {"deployment_type": "local", "asn": 65000, "md5": "Aa1Aa1Aa1Aa1", "use_case": "a"},
    "POST /devices/{id}/bgp/sessions": {"address_family": "ipv6", "default_route": True},
    "PUT /bgp/sessions/{id}": {"default_route": True},
    "POST /ports/{id}/assign": {"vnid": "7"},
    "POST /ports/{id}/unassign": {"vnid": "7"},
    "POST /ports/{id}/native-vlan": {"vnid": "7"},
    "POST /ports/{id}/bond": {"bulk_enable": True},
    "POST /ports/{id}/disbond": {"bulk_disable": True},
    "POST /ports/{id}/convert/layer-2": {"vnid": "7"},
    "POST /ports/{id}/convert/layer-3": {"request_ips": [{"address_family": 4, "public": False}]},
    "POST /ports/{id}/vlan-assignments/batches": {"vlan_assignments": [{"vlan": "7", "state": "assigned", "native": False}]},
}


async def everything(sandbox: Sandbox) -> dict[str, str]:
    """One of each kind of object: the beginning of its path -> its id."""
    post, project = sandbox.post, sandbox.project
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
