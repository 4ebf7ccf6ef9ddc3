"""Every route called, so that its answers can be read by the models of foreign clients."""

import asyncio
from typing import Any

from sandbox.metal.resources import ROUTES
from tests.metal_api.conftest import Sandbox
from tests.metal_api.objects import BODIES, everything, filled

INCLUDED = (
    "project.organization,organization.projects,members,memberships,devices,device,plan,metro,facility.metro,available_in,available_in_metros,"
    "ssh_keys,hardware_reservation.facility,network_ports.virtual_networks,network_ports.native_virtual_network,ip_addresses.assigned_to,"
    "assignments,assigned_to,requested_by,created_by,instances,port,virtual_network,virtual_networks,native_virtual_network,metal_gateways,"
    "metal_gateway,ip_reservation,vrf"
)
EXCLUDED = "plan,metro,facility,operating_system,network_ports,vrf"
READS: list[dict[str, str]] = [{}, {"include": INCLUDED}, {"exclude": EXCLUDED}, {"types": "vrf"}]
VLANS = ("7", "8")


class Walk:
    """Calls of :attr:`Sandbox.api`, whose hook reads the answers. ``ids``: of one object of each kind."""

    def __init__(self, sandbox: Sandbox, ids: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.project = sandbox.project
        self.ids = ids

    async def call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        answer = await self.sandbox.api.request(method, path, json=body, params=query)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def idle(self) -> None:
        """Wait until nothing is under way any more."""
        store = self.sandbox.world.store
        await self.sandbox.until(
            lambda: (
                all(each.state == "active" and not each.pending for each in store["devices"])
                and all(each.state in {"ready", "active"} for each in store["metal_gateways"])
                and all(each.status == "active" for each in store["vrf_routes"])
                and not any(each.state in {"queued", "in_progress"} for each in (*store["vlan_batches"], *store["device_batches"]))
            )
        )

    async def until_gone(self, kind: str) -> None:
        await self.sandbox.until(lambda: not len(self.sandbox.world.store[kind]))


async def create(walk: Walk) -> None:
    """Create what ``everything`` has not, and delete it where nothing else needs it."""
    ids, project = walk.ids, walk.project
    organization = await walk.call("POST", "/organizations", BODIES["POST /organizations"])
    inside = await walk.call("POST", f"/organizations/{organization['id']}/projects", {"name": "inside"})
    await walk.call("DELETE", f"/projects/{inside['id']}")
    await walk.call("DELETE", f"/organizations/{organization['id']}")
    other = await walk.call("POST", "/projects", {"name": "other", "tags": ["a"], "customdata": "{}"})
    key = await walk.call("POST", f"{project}/api-keys", {"description": "a", "read_only": True})
    await walk.call("DELETE", f"/api-keys/{key['id']}")
    for owner, letter in (("", "A"), (project, "B")):
        body = {"label": "a", "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + letter * 43}
        made = await walk.call("POST", f"{owner}/ssh-keys", body)
        await walk.call("GET", f"{owner}/ssh-keys")
        await walk.call("DELETE", f"/ssh-keys/{made['id']}")
    for path in ("/capacity", "/capacity/metros"):
        await walk.call("POST", path, BODIES[f"POST {path}"])
    await walk.call("POST", "/userdata/validate", userdata="#cloud-config\n")
    spare = (await walk.sandbox.control.post("/hardware_reservations", json={"count": 1, "spare": True})).json()["ids"][0]
    await walk.call("POST", f"/hardware-reservations/{spare}/move", {"project_id": other["id"]})
    reserved = ids["hardware-reservations"]
    await walk.call("POST", f"/hardware-reservations/{reserved}/activate", {"description": "a"})
    order = {"operating_system": "ubuntu_24_04", "userdata": "#!/bin/sh\n", "customdata": {"a": 1}, "storage": {"disks": []}}
    made = await walk.call("POST", f"{project}/devices", {**order, "hardware_reservation_id": reserved})
    assert (await walk.call("GET", f"/devices/{made['id']}/ssh-keys"))["ssh_keys"]
    await walk.call("POST", f"{project}/virtual-networks", {"metro": "da", "vxlan": 8})
    await walk.call("POST", f"/devices/{ids['devices']}/actions", {"type": "reboot"})


async def read(walk: Walk) -> None:
    for route in ROUTES:
        if route.method == "GET":
            for query in READS:
                await walk.call("GET", filled(route.path, walk.ids), cidr="32", **{"from": "1700000000", "until": "1700000600", **query})


async def update(walk: Walk) -> None:
    for route in ROUTES:
        if route.method in {"PUT", "PATCH"}:
            body = next(BODIES[call] for call in (f"PUT {route.path}", f"PATCH {route.path}") if call in BODIES)
            await walk.call(route.method, filled(route.path, walk.ids), body)
    await walk.call("PUT", f"/bgp/sessions/{walk.ids['bgp']}", body=True)


async def change_ports(walk: Walk) -> None:
    device = f"/devices/{walk.ids['devices']}"
    _eth0, eth1, bond0 = (f"/ports/{each['id']}" for each in (await walk.call("GET", device))["network_ports"])
    await walk.call("POST", f"{bond0}/unassign", {"vnid": VLANS[0]})
    await walk.call("POST", f"{eth1}/disbond")
    for vlan in VLANS:
        await walk.call("POST", f"{eth1}/assign", {"vnid": vlan})
    await walk.call("POST", f"{eth1}/native-vlan", vnid=VLANS[0])
    await walk.call("GET", device, include="network_ports.native_virtual_network")
    await walk.call("DELETE", f"{eth1}/native-vlan")
    for vlan in VLANS:
        await walk.call("POST", f"{eth1}/unassign", {"vnid": vlan})
    await walk.call("POST", f"{eth1}/bond")
    await walk.call("DELETE", f"/ips/{walk.ids['assigned']}")
    await walk.call("POST", f"{bond0}/convert/layer-2", {})
    await walk.call("POST", f"{bond0}/convert/layer-3", {"request_ips": [{"address_family": 4, "public": False}]})


async def delete(walk: Walk) -> None:
    ids = walk.ids
    private = {"virtual_network_id": ids["virtual-networks"], "private_ipv4_subnet_size": 8}
    await walk.call("DELETE", f"/routes/{ids['routes']}")
    await walk.until_gone("vrf_routes")
    await walk.call("DELETE", f"/metal-gateways/{ids['metal-gateways']}")
    await walk.until_gone("metal_gateways")
    gateway = await walk.call("POST", f"{walk.project}/metal-gateways", private)
    await walk.call("GET", f"{walk.project}/metal-gateways", include=INCLUDED)
    await walk.call("DELETE", f"/metal-gateways/{gateway['id']}")
    await walk.until_gone("metal_gateways")
    for path in (
        *(f"/ips/{ids['inside']}", f"/vrfs/{ids['vrfs']}", f"/ips/{ids['ips']}"),
        *(f"/virtual-networks/{ids['virtual-networks']}", f"/bgp/sessions/{ids['bgp']}", f"/user/api-keys/{ids['user']}"),
        *(f"/batches/{ids['batches']}", f"/spot-market-requests/{ids['spot-market-requests']}", f"/devices/{ids['devices']}"),
    ):
        await walk.call("DELETE", path)


async def walk(sandbox: Sandbox) -> None:
    steps = Walk(sandbox, await everything(sandbox))
    async with asyncio.timeout(300):
        await create(steps)
        await steps.idle()
        await read(steps)
        await change_ports(steps)
        await update(steps)
        await delete(steps)
