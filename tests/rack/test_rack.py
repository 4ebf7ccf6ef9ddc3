"""A rack of four machines with real firmware behind emulated BMCs: from the rack file to devices, and every failure of a rack."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.rack.conftest import BIOS, BOOT_TIMEOUT, BY_PXE, MACHINES, NO_CABLE, UEFI, RunningRack

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("rack")]


def test_servers_of_the_file_are_offered_and_the_wrong_password_is_reported(rack: RunningRack) -> None:
    rack.until(lambda: "5 servers, 1 failed" in rack.log, 180, "all servers are enrolled")
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered")
    [line] = [line for line in rack.log.splitlines() if "r1-u9: failed" in line]
    assert "refuses user admin" in line, line
    assert not any(rack.is_on(each.name) for each in MACHINES)


def test_machines_boot_by_virtual_media_and_pxe_with_bios_and_uefi(rack: RunningRack) -> None:
    """All four are ordered: three boot, and one has no cable."""
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered")
    ids = [rack.order(f"d{number}").json()["id"] for number in range(4)]
    assert rack.order("too-many").status_code == 422
    rack.until(lambda: all(rack.device(each)["state"] in {"active", "failed"} for each in ids), 400, "all have booted or failed")
    states = sorted(rack.device(each)["state"] for each in ids)
    assert states == ["active", "active", "active", "failed"], [rack.events(each)[:5] for each in ids]
    assert all(rack.is_on(each) for each in (BIOS, BY_PXE, UEFI))
    [failed] = [each for each in ids if rack.device(each)["state"] == "failed"]
    assert any(f"has not asked the boot service in {BOOT_TIMEOUT} s" in each for each in rack.events(failed)), rack.events(failed)
    assert any(NO_CABLE in each for each in rack.events(failed))
    for each in ids:
        rack.delete(each)
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered again")
    assert not any(rack.is_on(each.name) for each in MACHINES)


def test_power_actions_and_reinstall_reach_the_machine(rack: RunningRack) -> None:
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered")
    id_ = _ordered(rack)
    name = _server_of(rack, id_)
    _act(rack, id_, "power_off", "inactive")
    assert not rack.is_on(name)
    _act(rack, id_, "power_on", "active")
    booted = rack.booted_at(name)
    assert booted is not None
    _act(rack, id_, "reboot", "active")
    _until_event(rack, id_, "power.203", 120)
    again = rack.booted_at(name)
    assert again is not None
    assert again > booted
    before = rack.events(id_).count("provisioning.104.01: Device connected to DHCP system")
    answer = rack.api.post(f"/devices/{id_}/actions", json={"type": "reinstall"})
    assert answer.status_code == 202, answer.text
    rack.until_state(id_, "active", 240)
    rack.until(
        lambda: rack.events(id_).count("provisioning.104.01: Device connected to DHCP system") == before + 1, 240, "it has booted once more"
    )
    rack.delete(id_)


def test_a_bmc_that_stops_answering_is_reported(rack: RunningRack) -> None:
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered")
    id_, name = _deployed(rack)
    with _dead_bmcs(rack, name):
        assert rack.api.post(f"/devices/{id_}/actions", json={"type": "power_off"}).status_code == 202
        _until_event(rack, id_, "power.failed", 400)
        assert rack.is_on(name)
    _act(rack, id_, "power_off", "inactive")
    rack.delete(id_)


def test_a_device_whose_bmc_is_dead_at_its_deletion_keeps_its_server(rack: RunningRack) -> None:
    """The machine still runs then: the device must not be gone, nor its server be offered."""
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered")
    id_, name = _deployed(rack)
    with _dead_bmcs(rack, name):
        assert rack.api.delete(f"/devices/{id_}").status_code == 204
        rack.until_state(id_, "failed", 600)
        assert any(each.startswith("deprovisioning.failed: server ") for each in rack.events(id_)), rack.events(id_)
        assert rack.is_on(name)
        assert rack.free() == 3
    # In maintenance until Ironic finds that the BMC answers again.
    rack.until(lambda: not _node(rack, name)["maintenance"], 180, "the maintenance has ended")
    rack.delete(id_)
    rack.until(lambda: rack.free() == 4, 60, "four servers are offered again")
    assert not rack.is_on(name)
    assert not rack.medium(name)


@contextmanager
def _dead_bmcs(rack: RunningRack, *names: str) -> Iterator[None]:
    for name in names:
        rack.rack.unreachable(name, "close")
    try:
        yield
    finally:
        for name in names:
            rack.rack.reachable(name)


def _deployed(rack: RunningRack) -> tuple[str, str]:
    """Order a device, and wait for the end of its deployment, which its first boot may overtake; returns its id and its server's name."""
    id_ = _ordered(rack)
    _until_event(rack, id_, "server.deployed", 120)
    return id_, _server_of(rack, id_)


def _node(rack: RunningRack, name: str) -> dict[str, Any]:
    return next(each for each in rack.ironic("nodes") if each["name"] == name)


def _until_event(rack: RunningRack, id_: str, type_: str, seconds: float) -> None:
    rack.until(lambda: any(each.startswith(type_) for each in rack.events(id_)), seconds, f"{id_} has an event {type_}")


def _ordered(rack: RunningRack) -> str:
    """Order until the server is one with a cable: those without are deleted in the end."""
    spare = []
    try:
        while True:
            id_: str = rack.order("d").json()["id"]
            if _server_of(rack, id_) != NO_CABLE:
                rack.until_state(id_, "active", 240)
                return id_
            spare.append(id_)
    finally:
        for each in spare:
            rack.until(lambda each=each: rack.device(each)["state"] == "failed", 240, "the machine without a cable has failed")  # type: ignore[misc]
            rack.delete(each)


def _server_of(rack: RunningRack, id_: str) -> str:
    rack.until(lambda: any(each.startswith("server.allocated") for each in rack.events(id_)), 60, "a server is allocated")
    [text] = [each for each in rack.events(id_) if each.startswith("server.allocated")][:1]
    return text.split()[2]


def _act(rack: RunningRack, id_: str, action: str, state: str) -> None:
    answer = rack.api.post(f"/devices/{id_}/actions", json={"type": action})
    assert answer.status_code == 202, answer.text
    rack.until_state(id_, state)
