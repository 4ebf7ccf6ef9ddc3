"""One story that calls every route, so that its answers can be read by the models of foreign clients."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.metal_api.conftest import Sandbox

ORDER = {"metro": "da", "plan": "c3.small.x86", "operating_system": "ubuntu_24_04", "hostname": "one"}


def key(letter: str) -> str:
    return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + letter * 43


class Walk:
    """Calls of one story; the answers are read by the hook of ``Sandbox.api``."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.project = sandbox.project
        self.id = sandbox.world.project_id

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        answer = await self.sandbox.api.request(method, path, json=body, params=query)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def get(self, *paths: str, **query: str) -> Any:
        for path in paths:
            answer = await self.call("GET", path, **query)
        return answer

    async def update(self, path: str, body: Any) -> None:
        for method in ("PUT", "PATCH"):
            await self.call(method, path, body)

    async def idle(self) -> None:
        """Nothing is under way any more."""
        store = self.sandbox.world.store
        await self.sandbox.until(
            lambda: (
                all(each.state == "active" and not each.pending for each in store["devices"])
                and all(each.state in {"ready", "active"} for each in store["metal_gateways"])
                and all(each.status == "active" for each in store["vrf_routes"])
                and not any(each.state in {"queued", "in_progress"} for each in (*store["vlan_batches"], *store["device_batches"]))
            )
        )


async def accounts(walk: Walk) -> None:
    user = await walk.get("/user")
    await walk.update("/user", {"timezone": "UTC", "customdata": {"a": 1}})
    await walk.get("/users", f"/users/{user['id']}", f"/users/{user['id']}/customdata")
    organization = await walk.call("POST", "/organizations", {"name": "Another", "description": "a", "website": "http://a", "twitter": "a"})
    path = f"/organizations/{organization['id']}"
    await walk.update(path, {"name": "Other", "customdata": {"a": 1}})
    await walk.get("/organizations", path, f"{path}/customdata", f"{path}/projects", f"{path}/devices", f"{path}/plans")
    await walk.get(f"{path}/operating-systems", f"{path}/capacity/metros", f"{path}/firmware-sets", f"{path}/events")
    await walk.get(f"{path}/facilities", f"{path}/capacity", f"{path}/connections", f"{path}/invitations", f"{path}/payment-methods")
    await walk.get(f"{path}/invoices", f"{path}/transfers", "/invitations")
    made = await walk.call("POST", f"{path}/projects", {"name": "one"})
    await walk.get(path, f"{path}/projects", include="projects")
    await walk.call("DELETE", f"/projects/{made['id']}")
    await walk.call("DELETE", path)
    project = await walk.call("POST", "/projects", {"name": "two", "tags": ["a"], "customdata": "{}"})
    path = f"/projects/{project['id']}"
    await walk.update(path, {"name": "three", "backend_transfer_enabled": True})
    await walk.get(
        "/projects", path, f"{path}/customdata", f"{path}/plans", f"{path}/facilities", f"{path}/firmware-sets", f"{path}/events"
    )
    await walk.get(f"{path}/connections", f"{path}/invitations", f"{path}/licenses", f"{path}/self-service/reservations")
    members = await walk.get(f"{path}/memberships")
    await walk.get(f"/memberships/{members['memberships'][0]['id']}")
    await walk.get(path, include="organization,members,memberships")
    for owner in ("/user", path):
        made = await walk.call("POST", f"{owner}/api-keys", {"description": "a", "read_only": True})
        await walk.get(f"{owner}/api-keys")
        await walk.call("DELETE", f"/api-keys/{made['id']}" if owner == path else f"/user/api-keys/{made['id']}")
    for owner, letter in (("", "A"), (path, "B")):
        made = await walk.call("POST", f"{owner}/ssh-keys", {"label": "a", "key": key(letter)})
        await walk.update(f"/ssh-keys/{made['id']}", {"label": "b"})
        await walk.get(f"{owner}/ssh-keys", f"/ssh-keys/{made['id']}")
        await walk.call("DELETE", f"/ssh-keys/{made['id']}")


async def catalogue(walk: Walk) -> None:
    await walk.get("/plans", include="available_in,available_in_metros")
    await walk.get("/plans", "/locations/metros", "/locations/metros/da", "/metros", "/facilities", "/operating-systems")
    await walk.get("/facilities/da11", "/plans/c3.small.x86", "/operating-systems/ubuntu_24_04")
    await walk.get("/operating-system-versions", "/capacity", "/capacity/metros", "/market/spot/prices", "/market/spot/prices/metros")
    await walk.call("POST", "/capacity/metros", {"servers": [{"metro": "da", "plan": "c3.small.x86", "quantity": "1"}]})
    await walk.call("POST", "/capacity", {"servers": [{"facility": "da11", "plan": "c3.small.x86", "quantity": 1}]})
    await walk.call("POST", "/userdata/validate", userdata="#cloud-config\n")


async def devices(walk: Walk) -> str:
    project, made = walk.project, await walk.sandbox.control.post("/hardware_reservations", json={"count": 2, "spare": True})
    reserved, moved = made.json()["ids"]
    await walk.call("POST", f"/hardware-reservations/{reserved}/activate", {"description": "a"})
    body = {**ORDER, "hardware_reservation_id": reserved, "userdata": "#!/bin/sh\n", "customdata": {"a": 1}, "storage": {"disks": []}}
    first = await walk.call("POST", f"{project}/devices", body)
    path = f"/devices/{first['id']}"
    await walk.idle()
    included = "project,ssh_keys,hardware_reservation.facility,network_ports.virtual_networks,ip_addresses.assigned_to,plan,metro"
    await walk.get(path, f"{project}/devices", include=included)
    await walk.get(path, exclude="plan,metro,facility,operating_system,network_ports")
    await walk.get(f"{project}/hardware-reservations", f"/hardware-reservations/{reserved}", include="device,facility.metro,project")
    await walk.get(f"{project}/hardware-reservations", f"/hardware-reservations/{reserved}")
    other = await walk.call("POST", "/projects", {"name": "other"})
    await walk.call("POST", f"/hardware-reservations/{moved}/move", {"project_id": other["id"]})
    await walk.update(path, {"tags": ["a"], "locked": False, "termination_time": "2099-01-01T00:00:00Z"})
    await walk.call("POST", f"{path}/actions", {"type": "reboot"})
    await walk.get(path, f"{path}/userdata", f"{path}/customdata", f"{path}/metadata", f"{path}/ssh-keys", f"{path}/usages", f"{path}/ips")
    await walk.get(f"{path}/bandwidth", **{"from": "1700000000", "until": "1700000600"})
    events = await walk.get(f"{path}/events")
    await walk.get(f"/events/{events['events'][0]['id']}", "/events", f"{project}/events", f"{project}/usages", f"{project}")
    await walk.idle()
    batches = await walk.call("POST", f"{project}/devices/batch", {"batches": [{**ORDER, "hostname": "b{{index}}", "quantity": 2}]})
    await walk.idle()
    await walk.get(f"{project}/batches", f"/batches/{batches['batches'][0]['id']}", include="devices")
    await walk.call("DELETE", f"/batches/{batches['batches'][0]['id']}", remove_associated_instances="true")
    parameters = {name: value for name, value in ORDER.items() if name != "metro"}
    body = {"devices_min": 1, "devices_max": 2, "max_bid_price": 1, "metro": "da", "instance_parameters": parameters}
    request = await walk.call("POST", f"{project}/spot-market-requests", body)
    await walk.get(f"{project}/spot-market-requests", f"/spot-market-requests/{request['id']}", include="devices,project,plan")
    await walk.idle()
    await walk.get(f"{project}/devices")
    await walk.call("DELETE", f"/spot-market-requests/{request['id']}", force_termination="true")
    return str(first["id"])


async def bgp(walk: Walk, device_id: str) -> None:
    project, path = walk.project, f"/devices/{device_id}"
    await walk.get(f"{project}/bgp-config")
    await walk.call("POST", f"{project}/bgp-configs", {"deployment_type": "local", "asn": 65000, "md5": "Aa1Aa1Aa1Aa1"})
    session = await walk.call("POST", f"{path}/bgp/sessions", {"address_family": "ipv4"})
    await walk.call("PUT", f"/bgp/sessions/{session['id']}", body=True)
    await walk.call("PATCH", f"/bgp/sessions/{session['id']}", {"default_route": False})
    await walk.get(f"/bgp/sessions/{session['id']}", f"{project}/bgp-config", include="device,project")
    await walk.get(f"{project}/bgp/sessions", f"{path}/bgp/sessions", f"{path}/bgp/neighbors", f"{project}/global-bgp-ranges")
    await walk.get(f"/bgp/sessions/{session['id']}", f"{path}/metadata", f"{project}/bgp-config")
    await walk.call("DELETE", f"/bgp/sessions/{session['id']}")


async def network(walk: Walk, device_id: str) -> None:
    project = walk.project
    block = await walk.call("POST", f"{project}/ips", {"type": "public_ipv4", "quantity": 8, "metro": "da"})
    await walk.update(f"/ips/{block['id']}", {"tags": ["a"], "details": "a", "customdata": {"a": 1}})
    free = await walk.get(f"/ips/{block['id']}/available", cidr="32")
    assigned = await walk.call("POST", f"/devices/{device_id}/ips", {"address": free["available"][0]})
    await walk.get(f"/ips/{block['id']}", f"/ips/{assigned['id']}", f"/devices/{device_id}/ips", include="assigned_to,project")
    await walk.get(f"/ips/{assigned['id']}/customdata", f"/devices/{device_id}/ips/{assigned['id']}/customdata")
    await walk.get(f"{project}/ips/{block['id']}/customdata")
    await walk.update(f"/ips/{assigned['id']}", {"customdata": {"a": 1}})
    await walk.get(f"{project}/ips", include="assignments,project,facility,metro,requested_by")
    await walk.call("DELETE", f"/ips/{assigned['id']}")
    vlan = await walk.call("POST", f"{project}/virtual-networks", {"metro": "da", "vxlan": 7})
    path = f"/virtual-networks/{vlan['id']}"
    await walk.update(path, {"description": "a", "tags": ["a"]})
    second = await walk.call("POST", f"{project}/virtual-networks", {"metro": "da", "vxlan": 8})
    gateway = await walk.call("POST", f"{project}/metal-gateways", {"virtual_network_id": vlan["id"], "ip_reservation_id": block["id"]})
    private = await walk.call("POST", f"{project}/metal-gateways", {"virtual_network_id": second["id"], "private_ipv4_subnet_size": 8})
    await walk.get(f"{project}/metal-gateways", f"/metal-gateways/{gateway['id']}", include="ip_reservation,virtual_network,project")
    await walk.get(f"{project}/metal-gateways", f"/metal-gateways/{private['id']}", f"/ips/{block['id']}", f"{project}/ips")
    await walk.get(f"/metal-gateways/{gateway['id']}/ips", f"/metal-gateways/{gateway['id']}/bgp-dynamic-neighbors")
    await walk.get(f"/devices/{device_id}/firmware-sets")
    await ports(walk, device_id, [path, "7", "8"])
    for each in (gateway, private):
        await walk.idle()
        await walk.call("DELETE", f"/metal-gateways/{each['id']}")
    await walk.sandbox.until(lambda: not len(walk.sandbox.world.store["metal_gateways"]))
    await vrfs(walk, vlan["id"])
    await walk.call("DELETE", path)
    await walk.call("DELETE", f"/ips/{block['id']}")


async def ports(walk: Walk, device_id: str, vlans: list[str]) -> None:
    device = await walk.get(f"/devices/{device_id}")
    _eth0, eth1, bond = device["network_ports"]
    path = f"/ports/{bond['id']}"
    await walk.call("POST", f"{path}/assign", {"vnid": vlans[1]})
    await walk.get(vlans[0], f"{walk.project}/virtual-networks", include="instances,assigned_to,metro,metal_gateways")
    await walk.get(path, include="virtual_networks,native_virtual_network")
    found = await walk.get(f"{path}/vlan-assignments", include="port,virtual_network")
    await walk.get(f"{path}/vlan-assignments/{found['vlan_assignments'][0]['id']}")
    await walk.call("POST", f"{path}/unassign", {"vnid": vlans[1]})
    await walk.call("POST", f"/ports/{eth1['id']}/disbond")
    wanted = [{"vlan": vlan, "state": "assigned"} for vlan in vlans[1:]]
    batch = await walk.call("POST", f"/ports/{eth1['id']}/vlan-assignments/batches", {"vlan_assignments": wanted})
    await walk.idle()
    await walk.get(f"/ports/{eth1['id']}/vlan-assignments/batches", f"/ports/{eth1['id']}/vlan-assignments/batches/{batch['id']}")
    await walk.call("POST", f"/ports/{eth1['id']}/native-vlan", vnid=vlans[1])
    await walk.get(f"/devices/{device_id}", include="network_ports.native_virtual_network")
    await walk.call("DELETE", f"/ports/{eth1['id']}/native-vlan")
    for vlan in vlans[1:]:
        await walk.call("POST", f"/ports/{eth1['id']}/unassign", {"vnid": vlan})
    await walk.call("POST", f"/ports/{eth1['id']}/bond")
    await walk.call("POST", f"{path}/convert/layer-2", {})
    await walk.call("POST", f"{path}/convert/layer-3", {"request_ips": [{"address_family": 4, "public": False}]})


async def vrfs(walk: Walk, vlan_id: str) -> None:
    project = walk.project
    vrf = await walk.call("POST", f"{project}/vrfs", {"name": "a", "metro": "da", "local_asn": 65100, "ip_ranges": ["10.1.0.0/16"]})
    path = f"/vrfs/{vrf['id']}"
    await walk.update(path, {"description": "a", "tags": ["a"], "ip_ranges": ["10.1.0.0/16", "10.2.0.0/24"]})
    await walk.get(f"{project}/vrfs", path, include="project,metro,created_by")
    await walk.get(f"{project}/vrfs", f"{path}/learned-routes", f"{path}/bgp-neighbors", exclude="metro")
    body = {"type": "vrf", "vrf_id": vrf["id"], "network": "10.1.4.0", "cidr": 24}
    block = await walk.call("POST", f"{project}/ips", body)
    await walk.get(f"{path}/ips", f"{path}/ips/{block['id']}", f"/ips/{block['id']}", f"{project}/ips", include="vrf,project")
    await walk.get(f"{path}/ips", f"{project}/ips", types="vrf", exclude="vrf")
    gateway = await walk.call("POST", f"{project}/metal-gateways", {"virtual_network_id": vlan_id, "ip_reservation_id": block["id"]})
    await walk.get(f"/metal-gateways/{gateway['id']}", f"{project}/metal-gateways", include="vrf,ip_reservation,virtual_network,project")
    await walk.get(f"/metal-gateways/{gateway['id']}", f"{project}/metal-gateways", f"{path}/ips")
    route = await walk.call("POST", f"{path}/routes", {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2"})
    await walk.update(f"/routes/{route['id']}", {"next_hop": "10.1.4.3", "tags": ["a"]})
    await walk.get(f"{path}/routes", f"/routes/{route['id']}", include="vrf,metal_gateway,virtual_network")
    await walk.get(f"{path}/routes", f"/routes/{route['id']}")
    await walk.idle()
    await walk.call("DELETE", f"/routes/{route['id']}")
    store = walk.sandbox.world.store
    await walk.sandbox.until(lambda: not len(store["vrf_routes"]))
    await walk.call("DELETE", f"/metal-gateways/{gateway['id']}")
    await walk.sandbox.until(lambda: not len(store["metal_gateways"]))
    await walk.call("DELETE", f"/ips/{block['id']}")
    await walk.call("DELETE", path)


async def walk(sandbox: Sandbox) -> None:
    steps = Walk(sandbox)
    async with asyncio.timeout(60):
        await accounts(steps)
        await catalogue(steps)
        device_id = await devices(steps)
        await bgp(steps, device_id)
        await network(steps, device_id)
        await steps.call("DELETE", f"/devices/{device_id}")
