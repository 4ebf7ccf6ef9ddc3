"""Hrefs lead somewhere: from the lists of an account to everything that an answer names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.metal_api.conftest import Sandbox
from tests.metal_api.objects import everything

PREFIX = "/metal/v1"
# Of recorded answers, whose objects no client reads and no text describes (docs/sandbox.md names both).
NOWHERE = ("/hardware/", "/bgp-configs/")


def hrefs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "href":
                yield each
            else:
                yield from hrefs(each)
    elif isinstance(value, list):
        for each in value:
            yield from hrefs(each)


async def test_every_href_can_be_followed(sandbox: Sandbox) -> None:
    ids = await everything(sandbox)
    project = sandbox.project
    roots = [
        "/user",
        "/users",
        "/organizations",
        "/projects",
        "/plans",
        "/facilities",
        "/operating-systems",
        "/locations/metros",
        "/events",
    ]
    parts = ("devices", "ips", "virtual-networks", "metal-gateways", "vrfs", "batches", "hardware-reservations", "spot-market-requests")
    roots += [f"{project}/{each}" for each in (*parts, "ssh-keys", "api-keys", "memberships", "bgp-config", "bgp/sessions", "events")]
    roots += [f"/ports/{ids['ports']}/vlan-assignments", f"/ports/{ids['ports']}/vlan-assignments/batches", f"/vrfs/{ids['vrfs']}/routes"]
    left, known = [PREFIX + each for each in roots], set[str]()
    broken: dict[str, int] = {}
    while left:
        path = left.pop()
        answer = await sandbox.api.get(sandbox.url + path)
        if answer.status_code != 200:
            broken[path] = answer.status_code
            continue
        for found in hrefs(answer.json()):
            # "#..." is an object without an address.
            if found not in known and not found.startswith("#"):
                known.add(found)
                assert found.startswith(f"{PREFIX}/"), f"{path} has {found}"
                if not found.removeprefix(PREFIX).startswith(NOWHERE):
                    left.append(found)
    assert broken == {}
    kinds = {each.removeprefix(PREFIX).split("/")[1] for each in known}
    assert kinds >= {"locations", "facilities", "plans", "operating-systems", "ports", "ips", "memberships", "users", "batches"}


@pytest.mark.parametrize(
    ("owner", "name", "key"),
    [
        ("projects", "connections", "interconnections"),
        ("organizations", "connections", "interconnections"),
        ("projects", "invitations", "invitations"),
        ("organizations", "invitations", "invitations"),
        ("organizations", "payment-methods", "payment_methods"),
        ("organizations", "invoices", "invoices"),
        ("organizations", "transfers", "transfers"),
        ("projects", "licenses", "licenses"),
        ("projects", "self-service/reservations", "reservations"),
        ("metal-gateways", "ips", "ip_addresses"),
        ("metal-gateways", "bgp-dynamic-neighbors", "bgp_dynamic_neighbors"),
    ],
)
async def test_lists_that_are_empty_by_nature(sandbox: Sandbox, owner: str, name: str, key: str) -> None:
    """Clients read them where nobody has added anything: equinix.cloud's metal_connection_info, metal-cli, packngo's tests."""
    ids = {"projects": sandbox.world.project_id, "organizations": next(iter(sandbox.world.store["organizations"])).id}
    if owner == "metal-gateways":
        vlan = (await sandbox.api.post(f"{sandbox.project}/virtual-networks", json={"metro": "da"})).json()["id"]
        body = {"virtual_network_id": vlan, "private_ipv4_subnet_size": 8}
        ids[owner] = (await sandbox.api.post(f"{sandbox.project}/metal-gateways", json=body)).json()["id"]
    answer = await sandbox.api.get(f"/{owner}/{ids[owner]}/{name}")
    assert answer.status_code == 200, answer.text
    assert answer.json()[key] == []
    # Of others and of none there is no list, and what adds to it says why it is missing.
    assert await sandbox.errors("GET", f"/{owner}/none/{name}", 404) == ["Not found"]
    if name not in {"invoices", "transfers"}:
        await sandbox.errors("POST", f"/{owner}/{ids[owner]}/{name}", 501)


async def test_a_device_has_no_firmware_set(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1)
    assert (await sandbox.api.get(f"/devices/{id_}/firmware-sets")).json() == {"record": None}
    assert await sandbox.errors("GET", "/devices/none/firmware-sets", 404) == ["Not found"]
