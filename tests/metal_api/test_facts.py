"""Facts of the API that belong to no story of their own, one test each; and what holds for every route: rights."""

import pytest

from sandbox.metal.resources import ROUTES
from tests.metal_api.conftest import Sandbox
from tests.metal_api.objects import BODIES, everything, filled

CATALOGUE = ("/locations/", "/facilities/", "/plans/", "/operating-systems/")


def is_open(path: str) -> bool:
    """Whether a route is about what has no owner, or belongs to the requesting user."""
    return "{" not in path or path.startswith(CATALOGUE)


def contents(sandbox: Sandbox) -> dict[str, int]:
    """How many there are of each kind; events are left out, for machines go on being installed."""
    store = sandbox.world.store
    return {table.name: len(table) for table in store if table.name != "events"}


async def test_a_read_only_key_writes_nothing_anywhere(sandbox: Sandbox) -> None:
    ids = await everything(sandbox)
    sandbox.world.clock.speed = 0.001
    key = (await sandbox.api.post("/user/api-keys", json={"description": "look", "read_only": True})).json()
    before = contents(sandbox)
    async with sandbox.caller(key["token"]) as client:
        for route in ROUTES:
            answer = await client.request(
                route.method,
                filled(route.path, ids),
                json=BODIES.get(f"{route.method} {route.path}", {}) if route.method != "GET" else None,
                params={"cidr": "32", "from": "0", "until": "60"} if route.method == "GET" else None,
            )
            assert answer.status_code == (200 if route.method == "GET" else 403), (route, answer.text)
    assert contents(sandbox) == before


@pytest.mark.parametrize("kind", ["another user's", "another project's"])
async def test_what_is_not_ones_own_is_not_there_on_any_route(sandbox: Sandbox, kind: str) -> None:
    ids = await everything(sandbox)
    sandbox.world.clock.speed = 0.001
    if kind == "another user's":
        token = (await sandbox.control.post("/users", json={"name": "Other"})).json()["token"]
    else:
        project = (await sandbox.api.post("/projects", json={"name": "second"})).json()["id"]
        token = (await sandbox.api.post(f"/projects/{project}/api-keys", json={"description": "a"})).json()["token"]
    before = contents(sandbox)
    async with sandbox.caller(token) as client:
        for route in ROUTES:
            if is_open(route.path):
                continue
            answer = await client.request(
                route.method,
                filled(route.path, ids),
                json=BODIES.get(f"{route.method} {route.path}", {}) if route.method != "GET" else None,
            )
            # An organization is none of a project key's business, and whose key it is, it can see.
            if kind == "another project's" and (route.path.startswith("/organizations/") or "/users/" in route.path):
                assert answer.status_code in {403, 404} or route.path.startswith("/users/"), (route, answer.text)
                continue
            assert answer.status_code == 404, (route, answer.text)
            assert answer.json() == {"errors": ["Not found"]}
    assert contents(sandbox) == before


async def test_an_internal_error_has_the_services_error_format(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("a bug")

    monkeypatch.setattr(sandbox.world, "now", broken)
    (text,) = await sandbox.errors("POST", "/projects", 500, json={"name": "a"})
    assert text.startswith("Oh snap, something went wrong!")


async def test_what_clients_send_along_changes_nothing(sandbox: Sandbox) -> None:
    for headers in ({"X-Consumer-Token": "abc"}, {"Connection": "close"}, {"Accept": "text/html"}, {"Accept-Encoding": "identity"}):
        answer = await sandbox.api.get("/projects?", headers=headers)
        assert (answer.status_code, answer.json()["meta"]["total"]) == (200, 1)
    head = await sandbox.api.head("/projects")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["x-request-id"]


async def test_orders_refused_for_their_addresses(sandbox: Sandbox) -> None:
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "windows_2022"}
    private = {"address_family": 4, "public": False}
    path = f"{sandbox.project}/devices"
    assert await sandbox.errors("POST", path, json={**order, "ip_addresses": [private]}) == ["Public IPv4 is required"]
    wide = [private, {"address_family": 4, "public": True, "cidr": 29}]
    (text,) = await sandbox.errors("POST", path, json={**order, "operating_system": "ubuntu_24_04", "ip_addresses": wide})
    assert text.startswith("The specified project contains insufficient public IPv4 space")


async def test_a_frozen_network(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1)
    await sandbox.api.patch(f"/devices/{id_}", json={"network_frozen": True})
    bond = next(each["id"] for each in (await sandbox.device(id_))["network_ports"] if each["name"] == "bond0")
    assert "frozen" in (await sandbox.errors("POST", f"/ports/{bond}/convert/layer-2", json={}))[0]


async def test_flags_in_the_body_of_a_delete_and_of_an_action(sandbox: Sandbox) -> None:
    device = await sandbox.active()
    body = {"type": "reinstall", "deprovision_fast": True, "preserve_data": True, "force_delete": False}
    assert (await sandbox.api.post(f"/devices/{device['id']}/actions", json=body)).status_code == 202
    await sandbox.until(lambda: sandbox.state(device["id"]) == "active" and not sandbox.world.store["devices"][device["id"]].pending)
    assert ("reinstall keep", device["id"]) in sandbox.machines.calls
    batch = (await sandbox.api.post(f"{sandbox.project}/devices/batch", json={"batches": [{**_BATCH, "quantity": 1}]})).json()["batches"][0]
    store = sandbox.world.store
    await sandbox.until(lambda: bool(store["device_batches"][batch["id"]].device_ids))
    (made,) = store["device_batches"][batch["id"]].device_ids
    await sandbox.until(lambda: sandbox.state(made) == "active")
    assert (await sandbox.api.request("DELETE", f"/batches/{batch['id']}", json={"remove_associated_instances": True})).status_code == 204
    assert sandbox.state(made) in {"deprovisioning", "gone"}
    gone = await sandbox.api.request("DELETE", f"/devices/{device['id']}", json={"force_delete": True})
    assert (gone.status_code, gone.content) == (204, b"")


_BATCH = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe", "ipxe_script_url": "http://127.0.0.1/x.ipxe"}
