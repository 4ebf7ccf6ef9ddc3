"""The control path: journal and faults."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.metal_api.conftest import Sandbox, machine_client, sandbox_in


async def journal(sandbox: Sandbox, **query: Any) -> list[dict[str, Any]]:
    answer = await sandbox.control.get("/journal", params=query)
    assert answer.status_code == 200, answer.text
    entries: list[dict[str, Any]] = answer.json()["journal"]
    return entries


async def test_the_journal_has_every_request_and_no_secret(sandbox: Sandbox) -> None:
    await sandbox.api.get("/projects", params={"per_page": "3"})
    await sandbox.api.get("/projects", headers={"X-Auth-Token": "a-wrong-one"})
    await sandbox.api.post("/userdata/validate", params={"userdata": "#!/bin/sh the secret"})
    device = await sandbox.active(hostname="one", userdata="#!/bin/sh the secret")
    async with machine_client(sandbox.metadata_url, device["ip_addresses"][0]["address"]) as machine:
        await machine.get("/userdata")
    entries = await journal(sandbox)
    assert [(each["method"], each["path"], each["status"], each["who"]) for each in entries[:2]] == [
        ("GET", "/metal/v1/projects?per_page=3", 200, "user@sandbox.test"),
        ("GET", "/metal/v1/projects", 401, entries[1]["who"]),
    ]
    assert entries[1]["who"].startswith("unknown ")
    everything = await journal(sandbox, service="all")
    text = str(everything)
    for secret in ("the secret", "a-wrong-one", sandbox.world.token):
        assert secret not in text
    assert {(each["service"], each["who"]) for each in everything if each["service"] != "metal"} == {("boot", "one"), ("metadata", "one")}
    assert [each["status"] for each in await journal(sandbox, method="POST,PUT", path="/devices$")] == [201]
    assert await journal(sandbox, after=entries[-1]["n"]) == []
    assert await journal(sandbox, service="all", newest=2) == everything[-2:]
    assert await journal(sandbox, since=time.time() + 10) == []
    assert (await sandbox.control.delete("/journal")).status_code == 204
    assert await journal(sandbox, service="all") == []


# Where a client may put its token by mistake; the token takes the place of the braces.
TOKEN_PLACES = [
    "/projects?token={}",
    "/projects?{}",
    "/projects?sort_by={}&sort_by=name",
    "/projects?a=1;b={}",
    "/projects/{}",
    "/projects/x{}y/devices?page=1",
    "/nothing/{}?{}",
    "//metal/v1//{}",
]


def percent_encoded(text: str) -> str:
    return "".join(f"%{ord(each):02X}" for each in text)


@pytest.mark.parametrize("path", TOKEN_PLACES)
async def test_no_token_gets_into_the_journal(sandbox: Sandbox, path: str) -> None:
    read_only = (await sandbox.api.post("/user/api-keys", json={"description": "a", "read_only": True})).json()["token"]
    unknown = "f7Kq2ZtBn9XwLr4VhJd8Ms3PyGc6TaEu"
    for token in (sandbox.world.token, read_only, unknown):
        for written in (token, percent_encoded(token), percent_encoded(percent_encoded(token))):
            # Sent as it is: a client would tidy up the path. Whatever the header says, the path may have another token.
            for headers in ({}, {"X-Auth-Token": token}, {"Authorization": f"Bearer {token}"}, {"X-Consumer-Token": token}):
                url = httpx.URL(f"{sandbox.url}/").copy_with(raw_path=path.replace("{}", written).encode())
                await sandbox.control.send(sandbox.control.build_request("GET", url, headers=headers))
    for token in (sandbox.world.token, read_only, "short-but-mine"):
        await sandbox.control.request(token, f"{sandbox.url}/projects", headers={"X-Auth-Token": "short-but-mine"})
    text = str(await journal(sandbox, service="all"))
    for token in (sandbox.world.token, read_only, unknown, "short-but-mine"):
        assert token not in text
        assert percent_encoded(token) not in text
    assert len(await journal(sandbox)) >= 36


async def test_a_read_only_key_does_not_see_the_tokens_of_others(sandbox: Sandbox) -> None:
    """They may write. With a key that may write itself, they are all listed: Terraform reads them there."""
    project = sandbox.project
    for path in ("/user/api-keys", f"{project}/api-keys"):
        reader = (await sandbox.api.post(path, json={"description": "reads", "read_only": True})).json()
        writer = (await sandbox.api.post(path, json={"description": "writes", "read_only": False})).json()
        listed = await sandbox.control.get(f"{sandbox.url}{path}", headers={"X-Auth-Token": reader["token"]})
        assert listed.status_code == 200
        tokens = {each["id"]: each.get("token") for each in listed.json()["api_keys"]}
        assert tokens[reader["id"]] == reader["token"]
        assert [token for id_, token in tokens.items() if id_ != reader["id"]] == [None] * (len(tokens) - 1)
        assert len(tokens) >= 2
        every = (await sandbox.api.get(path)).json()["api_keys"]
        assert {each["id"]: each["token"] for each in every}[writer["id"]] == writer["token"]
        for token in (writer["token"], sandbox.world.token):
            assert token not in listed.text
    # A project's reader sees neither those of the user, nor anything else that holds one.
    answer = await sandbox.control.get(f"{sandbox.url}{project}?include=members,api_keys", headers={"X-Auth-Token": reader["token"]})
    assert writer["token"] not in answer.text


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Client-IP", "True-Client-IP", "Via"])
async def test_a_header_makes_nobody_a_machine(sandbox: Sandbox, header: str) -> None:
    """Machines are known by their source address alone."""
    device = await sandbox.active(hostname="one", userdata="#!/bin/sh the secret", always_pxe=True)
    address = device["ip_addresses"][0]["address"]
    value = f"for={address}" if header == "Forwarded" else address
    for path in ("/metadata", "/userdata", "/api/v1/userdata", "/2009-04-04/user-data", "/2009-04-04/meta-data/hostname"):
        answer = await sandbox.control.get(f"{sandbox.metadata_url}{path}", headers={header: value})
        assert (answer.status_code, answer.json()) == (404, {"message": "resource not found"}), path
    assert (await sandbox.control.get(f"{sandbox.boot_url}/auto.ipxe", headers={header: value})).status_code == 404
    events = len((await sandbox.api.get(f"/devices/{device['id']}/events")).json()["events"])
    body = {"state": "failed", "code": 1000, "message": "forged"}
    assert (await sandbox.control.post(f"{sandbox.boot_url}/events", json=body, headers={header: value})).status_code == 200
    assert len((await sandbox.api.get(f"/devices/{device['id']}/events")).json()["events"]) == events
    assert {each["who"] for each in await journal(sandbox, service="metadata")} == {"unknown 127.0.0.1"}


async def test_a_fault_answers_in_place_of_the_api(sandbox: Sandbox) -> None:
    fault = {
        "method": "POST",
        "path": "/devices$",
        "status": 429,
        "headers": {"Retry-After": "2"},
        "body": {"errors": ["slow"]},
        "times": 1,
    }
    made = await sandbox.control.post("/faults", json=fault)
    assert made.status_code == 201
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe"}
    refused = await sandbox.api.post(f"{sandbox.project}/devices", json=order)
    assert (refused.status_code, refused.headers["retry-after"], refused.json()) == (429, "2", {"errors": ["slow"]})
    assert len(sandbox.world.store["devices"]) == 0
    assert (await sandbox.api.post(f"{sandbox.project}/devices", json=order)).status_code == 201
    assert (await sandbox.control.get("/faults")).json()["faults"][0]["hits"] == 1
    assert [(each["status"], bool(each["fault"])) for each in await journal(sandbox, path="/devices$")] == [(429, True), (201, False)]
    await sandbox.control.delete("/faults")
    assert (await sandbox.control.get("/faults")).json() == {"faults": []}
    await sandbox.control.post("/faults", json={"status": 502, "body": "<html>", "headers": {"Content-Type": "text/html"}, "times": 1})
    page = await sandbox.api.get("/user")
    assert (page.status_code, page.text, page.headers["content-type"]) == (502, "<html>", "text/html")


@pytest.mark.parametrize(("cut", "devices"), [("before", 0), ("after", 1), ("body", 1)])
async def test_a_cut_connection(sandbox: Sandbox, cut: str, devices: int) -> None:
    await sandbox.control.post("/faults", json={"method": "POST", "cut": cut, "times": 1})
    order = {"plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe"}
    with pytest.raises(httpx.TransportError):
        await sandbox.api.post(f"{sandbox.project}/devices", json=order)
    assert len(sandbox.world.store["devices"]) == devices
    assert (await journal(sandbox))[0]["status"] == (201 if devices else 0)
    assert (await sandbox.api.get("/user")).status_code == 200


async def test_an_answer_is_spoilt_after_its_effect(tmp_path: Path) -> None:
    # The foreign client's models would rightly refuse these answers.
    async with sandbox_in(tmp_path, strict=False) as sandbox:
        await sandbox.control.post("/devices", json={"count": 3})
        listing = f"{sandbox.project}/devices"
        true = (await sandbox.api.get(listing, params={"per_page": 2})).json()

        async def spoilt(page: int = 1, **fault: Any) -> Any:
            await sandbox.control.post("/faults", json={**fault, "times": 1})
            answer = (await sandbox.api.get(listing, params={"per_page": 2, "page": page})).json()
            assert (await sandbox.control.get("/faults")).json()["faults"][0]["hits"] == 1
            await sandbox.control.delete("/faults")
            return answer

        assert all("field_of_tomorrow" in device["plan"] for device in (await spoilt(odd="more"))["devices"])
        assert [device["tags"] for device in (await spoilt(odd="null-lists"))["devices"]] == [None, None]
        assert await spoilt(odd="null-list") == {**true, "devices": None}
        assert (await spoilt(page=2, odd="moved-page"))["devices"] == []
        assert not any("id" in device or "id" in device["plan"] for device in (await spoilt(without="id"))["devices"])
        # What has nothing to be changed is no use of the fault: a delete answers nothing.
        await sandbox.control.post("/faults", json={"without": "id", "times": 1})
        assert (await sandbox.api.delete(f"/devices/{true['devices'][0]['id']}")).status_code == 204
        assert "id" not in (await sandbox.api.get("/user")).json()
