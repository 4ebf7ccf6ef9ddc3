"""Reserved machines: chosen for a device, released late, moved, activated."""

from typing import Any

from tests.metal_api.conftest import Sandbox


async def reserve(sandbox: Sandbox, count: int = 1, **fields: Any) -> list[str]:
    answer = await sandbox.control.post("/hardware_reservations", json={"count": count, **fields})
    assert answer.status_code == 201, answer.text
    ids: list[str] = answer.json()["ids"]
    return ids


async def listed(sandbox: Sandbox, **query: str) -> list[str]:
    answer = await sandbox.api.get(f"{sandbox.project}/hardware-reservations", params=query)
    return [each["id"] for each in answer.json()["hardware_reservations"]]


async def test_a_device_on_a_reservation_needs_neither_plan_nor_place(sandbox: Sandbox) -> None:
    (id_,) = await reserve(sandbox, plan="m3.large.x86", metro="ny")
    body = {"hardware_reservation_id": id_, "operating_system": "ubuntu_24_04", "hostname": "one"}
    answer = await sandbox.api.post(f"{sandbox.project}/devices", json=body)
    assert answer.status_code == 201, answer.text
    device = answer.json()
    assert (device["plan"]["slug"], device["metro"]["code"]) == ("m3.large.x86", "ny")
    assert device["hardware_reservation"] == {"href": f"/metal/v1/hardware-reservations/{id_}"}
    whole = await sandbox.device(device["id"], include="hardware_reservation")
    assert whole["hardware_reservation"]["id"] == id_
    shown = (await sandbox.api.get(f"/hardware-reservations/{id_}", params={"include": "device,facility.metro"})).json()
    assert (shown["device"]["id"], shown["provisionable"], shown["facility"]["metro"]["code"]) == (device["id"], False, "ny")
    assert (shown["spare"], shown["need_of_service"], shown["short_id"]) == (False, False, id_[:8])
    for query, count in (({"reserved": "true"}, 1), ({"reserved": "false"}, 0), ({"type": "reserved"}, 1), ({"type": "ondemand"}, 0)):
        found = (await sandbox.api.get(f"{sandbox.project}/devices", params=query)).json()
        assert found["meta"]["total"] == count, query


async def test_next_available_and_its_refusal(sandbox: Sandbox) -> None:
    fitting = (await reserve(sandbox, 2))[:2]
    await reserve(sandbox, metro="ny")
    await reserve(sandbox, plan="m3.large.x86")
    await reserve(sandbox, spare=True)
    await reserve(sandbox, need_of_service=True)
    assert await listed(sandbox, provisionable="only", per_page="2") == fitting
    chosen = [await sandbox.create(hardware_reservation_id="next-available") for _server in fitting]
    assert {each["hardware_reservation"]["href"][-36:] for each in chosen} == set(fitting)
    body = {"metro": "da", "plan": "c3.small.x86", "operating_system": "ubuntu_24_04", "hardware_reservation_id": "next-available"}
    (text,) = await sandbox.refused("devices", body)
    assert " no available hardware reservations " in text
    taken = await sandbox.refused("devices", {**body, "hardware_reservation_id": fitting[0]})
    assert taken == ["Server is not provisionable"]


async def test_freed_only_when_it_is_wiped(sandbox: Sandbox) -> None:
    (id_,) = await reserve(sandbox)
    device = await sandbox.active(hardware_reservation_id=id_)
    sandbox.world.change_settings({"durations": {"reservation_wipe": 20_000}})
    await sandbox.api.delete(f"/devices/{device['id']}")
    await sandbox.until(lambda: sandbox.state(device["id"]) == "gone")
    freed = (await sandbox.api.get(f"/hardware-reservations/{id_}")).json()
    assert (freed["device"], freed["provisionable"]) == (None, False)
    body = {"operating_system": "ubuntu_24_04", "hardware_reservation_id": id_}
    assert await sandbox.refused("devices", body) == ["Server is not provisionable"]
    sandbox.world.clock.speed = 10_000_000
    await sandbox.until(lambda: sandbox.world.store["hardware_reservations"][id_].provisionable)
    assert (await sandbox.create(hardware_reservation_id=id_))["state"] == "queued"


async def test_a_failed_reserved_device_stays_until_it_is_deleted(sandbox: Sandbox) -> None:
    (id_,) = await reserve(sandbox)
    await sandbox.control.post("/faults", json={"hostname": "^broken$", "body": "Disk is broken"})
    device = await sandbox.create(hostname="broken", hardware_reservation_id=id_)
    await sandbox.until(lambda: sandbox.state(device["id"]) == "failed")
    assert sandbox.world.store["devices"][device["id"]].pending is None
    assert (await sandbox.device(device["id"]))["state"] == "failed"
    assert (await sandbox.api.delete(f"/devices/{device['id']}")).status_code == 204
    await sandbox.until(lambda: sandbox.world.store["hardware_reservations"][id_].provisionable)


async def test_move_and_activate(sandbox: Sandbox) -> None:
    used, spare = await reserve(sandbox), await reserve(sandbox, spare=True)
    other = (await sandbox.api.post("/projects", json={"name": "other"})).json()
    await sandbox.create(hardware_reservation_id=used[0])
    path = f"/hardware-reservations/{used[0]}"
    assert await sandbox.errors("POST", f"{path}/move", json={"project_id": other["id"]})
    assert await sandbox.errors("POST", f"{path}/move", json={"project_id": "none"}, status=404) == ["Not found"]
    assert await sandbox.errors("POST", f"{path}/activate") == ["Hardware reservation is not a spare"]
    path = f"/hardware-reservations/{spare[0]}"
    assert await listed(sandbox, state="spare") == spare
    active = await sandbox.api.post(f"{path}/activate", json={"description": "ours now"})
    assert (active.status_code, active.json()["spare"]) == (201, False)
    moved = await sandbox.api.post(f"{path}/move", json={"project_id": other["id"]})
    assert (moved.status_code, moved.json()["project"]["href"]) == (201, f"/metal/v1/projects/{other['id']}")
    assert await listed(sandbox) == used
    assert await sandbox.errors("DELETE", f"/projects/{other['id']}") == ["Cannot delete a project that has 1 hardware reservations"]
