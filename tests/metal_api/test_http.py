"""What every call has in common: paths, tokens, pages, stubs, errors, limits."""

import email.utils
import time

import httpx
import pytest

from tests.metal_api.conftest import Sandbox


async def test_hrefs_follow_the_path_of_the_call(sandbox: Sandbox) -> None:
    async with httpx.AsyncClient(headers={"X-Auth-Token": sandbox.world.token}) as client:
        for prefix, base in (("/metal/v1/projects", "/metal/v1"), ("//projects", ""), ("/metal/v1//metal/v1/projects", "/metal/v1")):
            answer = await client.get(f"{sandbox.url}{prefix}?")
            assert answer.json()["projects"][0]["href"] == f"{base}/projects/{sandbox.world.project_id}"


async def test_pages_have_all_links(sandbox: Sandbox) -> None:
    await sandbox.seed(23, tags=["pool"])
    path = f"{sandbox.project}/devices"
    seen: list[str] = []
    href: str | None = f"/metal/v1{path}?tag=pool&include=project"
    async with httpx.AsyncClient(base_url=sandbox.url, headers={"X-Auth-Token": sandbox.world.token}) as client:
        while href:
            page = (await client.get(href)).json()
            seen += [each["hostname"] for each in page["devices"]]
            assert {"first", "previous", "self", "next", "last", "total", "current_page", "last_page"} == set(page["meta"])
            assert page["devices"][0]["project"]["name"] == "sandbox"
            href = (page["meta"]["next"] or {}).get("href")
    assert seen == [f"seeded-{number}" for number in range(1, 24)]
    assert page["meta"]["next"] is None
    assert (page["meta"]["current_page"], page["meta"]["last_page"], page["meta"]["total"]) == (3, 3, 23)
    assert len((await sandbox.api.get(path, params={"per_page": 5000})).json()["devices"]) == 23
    assert (await sandbox.api.get(path, params={"page": 9})).json()["devices"] == []


async def test_include_and_exclude_reach_three_levels(sandbox: Sandbox) -> None:
    (id_,) = await sandbox.seed(1)
    plain = await sandbox.device(id_)
    assert set(plain["project"]) == {"href"}
    assert plain["plan"]["slug"] == "c3.small.x86"
    included = await sandbox.device(id_, include="project.organization.projects,ssh_keys")
    assert included["project"]["organization"]["projects"][0]["name"] == "sandbox"
    excluded = await sandbox.device(id_, exclude="plan,ip_addresses.metro,network_ports,provisioning_events")
    assert set(excluded["plan"]) == {"href"}
    assert set(excluded["network_ports"][0]) == set(excluded["provisioning_events"][0]) == {"href"}
    assert set(excluded["ip_addresses"][0]["metro"]) == {"href"}
    assert excluded["ip_addresses"][0]["address"]


async def test_search_and_filters(sandbox: Sandbox) -> None:
    await sandbox.seed(2, hostname="a-{{index}}", tags=["x", "y"], metro="da")
    await sandbox.seed(1, hostname="b", tags=["x"], metro="sv", plan="m3.small.x86", description="the second rack")

    async def names(**query: str) -> list[str]:
        found = (await sandbox.api.get(f"{sandbox.project}/devices", params=query)).json()["devices"]
        return [each["hostname"] for each in found]

    assert await names(search="RACK") == ["b"]
    assert await names(hostname="a-") == ["a-1", "a-2"]
    assert await names(tag="x") == ["a-1", "a-2", "b"]
    assert await names(tag="x,y") == ["a-1", "a-2"]
    assert await names(metro="sv") == ["b"]
    assert await names(plan="m3.small.x86") == ["b"]
    assert await names(type="reserved") == []
    address = sandbox.world.store["devices"].matching("project", sandbox.world.project_id)[1].machine_address
    assert await names(search=str(address)) == ["a-2"]


async def test_rate_limit_and_its_headers(sandbox: Sandbox) -> None:
    await sandbox.control.put("/settings", json={"rate_limit": {"requests": 2, "seconds": 60}})
    first = await sandbox.api.get("/user")
    assert (first.headers["x-ratelimit-limit"], first.headers["x-ratelimit-remaining"]) == ("2", "1")
    await sandbox.api.get("/user")
    refused = await sandbox.api.get("/user")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    await sandbox.control.put("/settings", json={"rate_limit": {"requests": None}})
    assert (await sandbox.api.get("/user")).status_code == 200


@pytest.mark.parametrize("ahead", [0, 300, -300])
async def test_every_answer_has_a_date(sandbox: Sandbox, ahead: int) -> None:
    await sandbox.control.put("/settings", json={"clock": {"ahead": ahead}})
    for path, status in (("/projects", 200), ("/nothing", 501)):
        answer = await sandbox.api.get(path)
        told = email.utils.parsedate_to_datetime(answer.headers["date"]).timestamp()
        assert (answer.status_code, round(told - time.time() - ahead, -1)) == (status, 0)


async def test_projects_and_ssh_keys(sandbox: Sandbox) -> None:
    project = (await sandbox.api.post("/projects", json={"name": "second", "tags": ["t"]})).json()
    assert (await sandbox.api.patch(f"/projects/{project['id']}", json={"name": "third"})).json()["name"] == "third"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk7Q3zhcLkYHUs9cDLU6yDp+hmcTBv6vA4CEb7Wd1xk me"
    made = await sandbox.api.post(f"/projects/{project['id']}/ssh-keys", params={"label": "one", "key": key})
    assert made.status_code == 201, made.text
    assert made.json()["fingerprint"].count(":") == 15
    assert (await sandbox.api.delete(f"/projects/{project['id']}")).status_code == 204
    assert await sandbox.errors("GET", f"/ssh-keys/{made.json()['id']}", 404)


async def test_capacity(sandbox: Sandbox) -> None:
    await sandbox.control.put("/settings", json={"capacity": {"metros": {"da": {"c3.small.x86": 2}}}})
    await sandbox.seed(1)
    stock = (await sandbox.api.get("/capacity/metros")).json()["capacity"]["da"]["c3.small.x86"]
    assert stock == {"level": "critical", "available_servers": 1}
    asked = {"servers": [{"metro": "da", "plan": "c3.small.x86", "quantity": number} for number in ("1", 2)]}
    servers = (await sandbox.api.post("/capacity/metros", json=asked)).json()["servers"]
    assert [(each["quantity"], each["available"]) for each in servers] == [("1", True), (2, False)]
    await sandbox.create()
    assert await sandbox.refused("devices", {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe"}) == [
        "There aren't available servers in that metro"
    ]
    elsewhere = await sandbox.create(metro=["da", "sv"])
    assert elsewhere["metro"]["code"] == "sv"
