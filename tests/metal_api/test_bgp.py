"""BGP of a project and of its devices."""

from tests.metal_api.conftest import Sandbox, machine_client

LOCAL = {"deployment_type": "local", "asn": 65000, "md5": "Secret12345"}


async def test_local_is_enabled_at_once(sandbox: Sandbox) -> None:
    assert (await sandbox.api.get(f"{sandbox.project}/bgp-config")).json() == {}
    answer = await sandbox.api.post(f"{sandbox.project}/bgp-configs", json=LOCAL)
    assert (answer.status_code, answer.content) == (204, b"")
    config = (await sandbox.api.get(f"{sandbox.project}/bgp-config")).json()
    shown = {name: config[name] for name in ("status", "deployment_type", "asn", "md5", "max_prefix", "ranges", "sessions")}
    assert shown == {**LOCAL, "status": "enabled", "max_prefix": 10, "ranges": [], "sessions": []}
    assert config["href"] == f"/metal/v1/bgp-configs/{config['id']}"


async def test_global_waits_for_a_person(sandbox: Sandbox) -> None:
    await sandbox.api.post(f"{sandbox.project}/bgp-configs", json={"deployment_type": "global", "asn": 64500, "use_case": "anycast"})
    config = (await sandbox.api.get(f"{sandbox.project}/bgp-config")).json()
    assert config["status"] == "requested"
    (id_,) = await sandbox.seed(1)
    path = f"/devices/{id_}/bgp/sessions"
    assert await sandbox.errors("POST", path, json={"address_family": "ipv4"}) == ["BGP is not enabled for this project"]
    waiting = (await sandbox.control.get("/approvals")).json()["approvals"]
    assert [(each["kind"], each["id"]) for each in waiting] == [("bgp_config", config["id"])]
    assert (await sandbox.control.post(f"/approvals/{config['id']}")).json()["state"] == "enabled"
    assert (await sandbox.api.post(path, json={"address_family": "ipv4"})).status_code == 201


async def test_sessions_and_neighbors(sandbox: Sandbox) -> None:
    await sandbox.api.post(f"{sandbox.project}/bgp-configs", json=LOCAL)
    (id_,) = await sandbox.seed(1)
    device = await sandbox.device(id_)
    path = f"/devices/{id_}/bgp/sessions"
    made = await sandbox.api.post(path, json={"address_family": "ipv4"}, params={"include": "device"})
    session = made.json()
    assert (made.status_code, session["status"], session["default_route"], session["device"]["id"]) == (201, "unknown", False, id_)
    (text,) = await sandbox.errors("POST", path, json={"address_family": "ipv4"})
    assert " already has session " in text
    assert await sandbox.errors("POST", path, json={"address_family": "ipx"}) == ["ipx is not a valid address family"]
    assert (await sandbox.api.post(path, json={"address_family": "ipv6", "default_route": True})).status_code == 201
    await sandbox.until(lambda: all(each.status == "up" for each in sandbox.world.store["bgp_sessions"]))
    changed = await sandbox.api.put(f"/bgp/sessions/{session['id']}", json=True)
    assert changed.json()["default_route"] is True

    four, six = (await sandbox.api.get(f"/devices/{id_}/bgp/neighbors")).json()["bgp_neighbors"]
    public4, public6, private4 = (each["address"] for each in device["ip_addresses"])
    assert (four["customer_ip"], four["peer_ips"], four["multihop"]) == (private4, ["169.254.255.1", "169.254.255.2"], True)
    assert (four["customer_as"], four["peer_as"], four["md5_enabled"], four["md5_password"]) == (65000, 65530, True, "Secret12345")
    assert four["routes_out"] == [{"route": "0.0.0.0/0", "exact": True}]
    assert (six["address_family"], six["customer_ip"]) == (6, public6)
    async with machine_client(sandbox.metadata_url, public4) as machine:
        assert (await machine.get("/metadata")).json()["bgp_neighbors"] == [four, six]

    assert (await sandbox.api.delete(f"/bgp/sessions/{session['id']}")).status_code == 204
    assert len((await sandbox.api.get(f"{sandbox.project}/bgp/sessions")).json()["bgp_sessions"]) == 1
    await sandbox.api.delete(f"/devices/{id_}")
    await sandbox.until(lambda: sandbox.state(id_) == "gone")
    assert len(sandbox.world.store["bgp_sessions"]) == 0
