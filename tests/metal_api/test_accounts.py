"""Users, organizations, projects and keys: who sees what, and what may be deleted."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from metal_api.ip_reservations.address_space import AddressSpace
from tests.metal_api.conftest import Sandbox


@pytest.fixture
async def other(sandbox: Sandbox) -> AsyncIterator[tuple[dict[str, str], httpx.AsyncClient]]:
    """A second user: ids of what is theirs, and a client of theirs."""
    ids = (await sandbox.control.post("/users", json={"name": "Other"})).json()
    async with sandbox.caller(ids["token"]) as client:
        yield ids, client


async def names(client: httpx.AsyncClient, path: str, key: str, **query: str) -> list[str]:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()[key]]


async def test_users_see_what_is_theirs(sandbox: Sandbox, other: tuple[dict[str, str], httpx.AsyncClient]) -> None:
    ids, client = other
    assert await names(client, "/projects", "projects") == ["other"]
    assert await names(sandbox.api, "/projects", "projects") == ["sandbox"]
    assert await names(client, "/organizations", "organizations") == ["Other"]
    mine = next(iter(sandbox.world.store["organizations"])).id
    assert (await client.post("/projects", json={"name": "x", "organization_id": mine})).status_code == 404
    assert (await client.get("/user")).json()["id"] == ids["user_id"]
    assert [each["id"] for each in (await client.get("/users")).json()["users"]] == [ids["user_id"]]
    # No keys of others get onto a device.
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "ubuntu_24_04"}
    refused = await client.post(f"/projects/{ids['project_id']}/devices", json=order)
    assert refused.json()["errors"] == ["must have at least one SSH key or explicitly send no_ssh_keys option"]


async def test_a_projects_key_sees_one_project(sandbox: Sandbox) -> None:
    made = (await sandbox.api.post("/projects", json={"name": "second"})).json()
    key = (await sandbox.api.post(f"/projects/{made['id']}/api-keys", json={"description": "one"})).json()
    assert key["project"]["id"] == made["id"]
    assert "user" not in key
    organization = next(iter(sandbox.world.store["organizations"])).id
    async with sandbox.caller(key["token"]) as client:
        assert await names(client, "/projects", "projects") == ["second"]
        assert (await client.get(sandbox.project)).status_code == 404
        for method, path in (
            ("GET", "/organizations"),
            ("GET", f"/organizations/{organization}"),
            ("GET", f"/organizations/{organization}/capacity/metros"),
            ("POST", "/projects"),
            ("GET", "/user/api-keys"),
            ("PATCH", "/user"),
            ("PUT", "/user"),
        ):
            answer = await client.request(method, path, json=None if method == "GET" else {"name": "x", "first_name": "Changed"})
            assert answer.status_code == 403, path
            assert answer.json() == {"errors": ["Access denied for the current authentication token"]}
        assert (await sandbox.api.get("/user")).json()["first_name"] == "Sandbox"
        # Not the keys of the user.
        assert (await sandbox.api.get("/ssh-keys")).json()["ssh_keys"]
        assert (await client.get("/ssh-keys")).json()["ssh_keys"] == []
        own = {"label": "own", "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk7Q3zhcLkYHUs9cDLU6yDp+hmcTBv6vA4CEb7Wd1xk me"}
        assert (await client.post(f"/projects/{made['id']}/ssh-keys", json=own)).status_code == 201
        assert [each["label"] for each in (await client.get("/ssh-keys")).json()["ssh_keys"]] == ["own"]
        # Nor other projects as parts of what it sees.
        shown = (await client.get(f"/projects/{made['id']}", params={"include": "organization.projects"})).json()
        assert [each["name"] for each in shown["organization"]["projects"]] == ["second"]
        assert (await client.delete(f"/api-keys/{key['id']}")).status_code == 204
        assert (await client.get("/projects")).status_code == 401


async def test_organizations_come_and_go(sandbox: Sandbox) -> None:
    assert await sandbox.errors("POST", "/organizations", json={}) == ["Name can't be blank"]
    made = (await sandbox.api.post("/organizations", json={"name": "new"})).json()
    path = f"/organizations/{made['id']}"
    assert await names(sandbox.api, "/organizations", "organizations", without_projects="true") == ["new"]
    project = (await sandbox.api.post(f"{path}/projects", json={"name": "inside"})).json()
    assert project["organization"] == {"href": f"/metal/v1{path}"}
    assert (await sandbox.api.get(path)).json()["projects"] == [{"href": f"/metal/v1/projects/{project['id']}"}]
    await sandbox.seed(2, project_id=project["id"])
    assert await sandbox.errors("DELETE", path) == ["Cannot delete an organization with project inside that has 2 devices"]
    devices = (await sandbox.api.get(f"{path}/devices")).json()
    assert devices["meta"]["total"] == 2
    assert await sandbox.errors("DELETE", f"/projects/{project['id']}") == ["Cannot delete a project that has 2 devices"]
    assert (await sandbox.api.get(f"{path}/capacity/metros")).json()["capacity"]["da"]["c3.small.x86"]["level"] == "normal"


async def test_a_project_is_deleted_with_its_deleting_devices(sandbox: Sandbox) -> None:
    """Clients delete a project right after its last device, with blocks that they never released."""
    path = f"/projects/{(await sandbox.api.post('/projects', json={'name': 'short'})).json()['id']}"
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
    device = (await sandbox.api.post(f"{path}/devices", json=order)).json()
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active")
    block = (await sandbox.api.post(f"{path}/ips", json={"type": "public_ipv4", "quantity": 1, "metro": "da"})).json()
    assigned = await sandbox.api.post(f"/devices/{device['id']}/ips", json={"address": block["address"]})
    assert assigned.status_code == 201
    assert await sandbox.errors("DELETE", path) == ["Cannot delete a project that has 1 devices"]
    sandbox.world.clock.speed = 1
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    assert (await sandbox.api.delete(path)).status_code == 204
    store = sandbox.world.store
    assert not [
        each for each in (*store["devices"], *store["reservations"], *store["assignments"], *store["ports"]) if each.id != device["id"]
    ]
    await sandbox.errors("GET", f"/devices/{device['id']}", 404)
    await sandbox.until(lambda: ("remove", device["id"]) in sandbox.machines.calls)


async def test_only_devices_block_the_deletion_of_a_project(sandbox: Sandbox) -> None:
    """metal-cli's end-to-end tests delete it with a VRF, or with a gateway after its VLAN; equinix.cloud's leave VLANs in it."""
    world, store = sandbox.world, sandbox.world.store
    kinds = ("virtual_networks", "metal_gateways", "vrfs", "vrf_routes", "reservations")
    path = f"/projects/{(await sandbox.api.post('/projects', json={'name': 'full'})).json()['id']}"
    private, routed, empty = [await sandbox.post(f"{path}/virtual-networks", {"metro": "da"}) for _number in range(3)]
    await sandbox.post(f"{path}/metal-gateways", {"virtual_network_id": private["id"], "private_ipv4_subnet_size": 8})
    vrf = await sandbox.post(f"{path}/vrfs", {"name": "v", "metro": "da", "ip_ranges": ["10.1.0.0/16"]})
    block = await sandbox.post(f"{path}/ips", {"type": "vrf", "vrf_id": vrf["id"], "network": "10.1.4.0", "cidr": 24})
    gateway = await sandbox.post(f"{path}/metal-gateways", {"virtual_network_id": routed["id"], "ip_reservation_id": block["id"]})
    await sandbox.post(f"/vrfs/{vrf['id']}/routes", {"prefix": "0.0.0.0/0", "next_hop": "10.1.4.2"})
    await sandbox.post(f"{path}/ips", {"type": "public_ipv4", "quantity": 1, "metro": "da"})
    assert [len(store[kind]) for kind in kinds] == [3, 2, 1, 1, 3]
    # A VLAN goes with its gateways, and a block that was reserved for itself stays.
    assert (await sandbox.api.delete(f"/virtual-networks/{routed['id']}")).status_code == 204
    assert await sandbox.errors("GET", f"/metal-gateways/{gateway['id']}", 404) == ["Not found"]
    assert [len(store[kind]) for kind in kinds] == [2, 1, 1, 0, 3]
    (device_id,) = await sandbox.seed(1, project_id=path.rpartition("/")[2])
    assert await sandbox.errors("DELETE", path) == ["Cannot delete a project that has 1 devices"]
    assert [len(store[kind]) for kind in kinds[:3]] == [2, 1, 1]
    await sandbox.api.delete(f"/devices/{device_id}")
    await sandbox.until(lambda: sandbox.state(device_id) == "gone")
    assert (await sandbox.api.delete(path)).status_code == 204
    assert [len(store[kind]) for kind in kinds] == [0] * len(kinds)
    await sandbox.errors("GET", f"/virtual-networks/{empty['id']}", 404)
    # Its private block can be reserved again, all the space of it.
    assert world.service(AddressSpace).reserve("private_ipv4", int(world.environment.private_network.partition("/")[2]))


async def test_keys_are_kept_as_they_were_sent(sandbox: Sandbox) -> None:
    key = f"ssh-ed25519 {base64.b64encode(b'not of anybody').decode()} me\n"
    made = (await sandbox.api.post("/ssh-keys", json={"label": "a", "key": key})).json()
    assert made["key"] == key
    assert made["owner"] == made["entity"] == {"href": f"/metal/v1/users/{next(iter(sandbox.world.store['users'])).id}"}
    assert await sandbox.errors("POST", "/ssh-keys", json={"label": "b", "key": key.strip()}) == ["Fingerprint has already been taken"]
    assert await sandbox.errors("POST", "/ssh-keys", json={"label": "b", "key": " "}) == ["Key can't be blank"]


async def test_without_an_organization_a_new_one_is_made(sandbox: Sandbox, other: tuple[dict[str, Any], httpx.AsyncClient]) -> None:
    ids, client = other
    assert (await client.delete(f"/projects/{ids['project_id']}")).status_code == 204
    assert (await client.delete(f"/organizations/{ids['organization_id']}")).status_code == 204
    assert (await client.post("/projects", json={"name": "anew"})).status_code == 201
    assert await names(client, "/organizations", "organizations") == ["Other User Projects"]
