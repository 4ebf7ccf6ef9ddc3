"""Enrolment with a real Ironic: nodes of its fake hardware, and BMCs with Redfish that can be inspected."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from metal_api.ironic.enrolment import Report, enrol
from metal_api.ironic.mapping import server_of_node
from metal_api.rack import load
from tests.metal_api.ironic.fake_rack import FakeRack
from tests.metal_api.rack.redfish import RedfishService, System, redfish
from tests.ports import free_ports

HEAD = """
metros: [{code: lab, country: DE, network: 10.20.0.0/16, gateway: 10.20.0.1, addresses: 10.20.1.1-10.20.9.9}]
defaults:
  metro: lab
  bmc: {user: metal, password_file: password}
servers:
"""
U1, U2 = "52:54:00:88:00:01", "52:54:00:88:00:02"


async def enrolled(ironic: FakeRack, folder: Path, *servers: str, head: str = HEAD, **options: Any) -> tuple[Report, list[str]]:
    """Enrol servers, each the rest of a mapping in YAML, and return the report and its lines."""
    (folder / "rack.yml").write_text(head + "".join(f"  - {{{each}}}\n" for each in servers), encoding="utf-8")
    lines: list[str] = []
    report = await enrol(load(folder / "rack.yml"), ironic.connection, progress=lines.append, interval=0.2, patience=120, **options)
    assert sorted(lines) == sorted(map(str, report.results))
    return report, lines


def fake(name: str, mac: str, more: str = "plan: c3.small.x86") -> str:
    return f"name: {name}, macs: ['{mac}'], bmc: {{driver: fake-hardware}}, {more}"


def real(name: str, service: RedfishService, system: str = "1", more: str = "firmware: uefi", bmc: str = "") -> str:
    return f"name: {name}, bmc: {{address: '{service.url}', system: /redfish/v1/Systems/{system}{bmc}}}, {more}"


def node(ironic: FakeRack, name: str) -> dict[str, Any]:
    return ironic.node(name)


def ports(ironic: FakeRack, name: str) -> dict[str, bool]:
    answer = ironic.connection.baremetal.get(f"/ports?node={name}&fields=address,pxe_enabled", microversion="1.80")
    return {each["address"]: each["pxe_enabled"] for each in answer.json()["ports"]}


async def test_a_server_is_enrolled_once(ironic: FakeRack, folder: Path) -> None:
    _unused, lines = await enrolled(ironic, folder, fake("r1-u1", U1))
    assert lines == ["r1-u1: enrolled"]
    server = server_of_node(node(ironic, "r1-u1"), ports(ironic, "r1-u1"), plans={"c3.small.x86"}, metros={"lab"})
    assert (server.plan, server.metro, server.address, server.macs, server.unavailable) == ("c3.small.x86", "lab", "10.20.1.1", (U1,), "")
    report, lines = await enrolled(ironic, folder, fake("r1-u1", U1))
    assert lines == ["r1-u1: unchanged"]
    # Drivers, nodes, ports.
    assert report.calls == 3


async def test_a_server_in_use_keeps_its_state(ironic: FakeRack, folder: Path) -> None:
    await enrolled(ironic, folder, fake("r1-u1", U1))
    id_ = node(ironic, "r1-u1")["uuid"]
    bare = ironic.connection.baremetal
    bare.set_node_provision_state(id_, "active", wait=True)
    before = node(ironic, "r1-u1")
    _unused, lines = await enrolled(ironic, folder, fake("r1-u1", U1, "plan: m3.small.x86, reserved_for: payments, address: 10.20.1.7"))
    assert lines == ["r1-u1: changed: reserved_for; in use; when it is free: plan, address (run this again then)"]
    after = node(ironic, "r1-u1")
    assert (after["provision_state"], after["power_state"], after["resource_class"]) == ("active", before["power_state"], "c3.small.x86")
    assert after["extra"]["metal"]["address"] == "10.20.1.1"
    _unused, lines = await enrolled(ironic, folder, remove=["r1-u1"])
    assert lines == ["r1-u1: failed: it is in use (provision state active) and not removed: delete its device first"]
    bare.set_node_provision_state(id_, "deleted", wait=True)


async def test_addresses_are_kept(ironic: FakeRack, folder: Path) -> None:
    await enrolled(ironic, folder, fake("r1-u1", U1), fake("r1-u2", U2, "plan: c3.small.x86, address: 10.20.1.1"))
    # The order in the file is another one, and a server came before them.
    await enrolled(ironic, folder, fake("r1-u0", "52:54:00:88:00:03"), fake("r1-u2", U2), fake("r1-u1", U1))
    addresses = {name: node(ironic, name)["extra"]["metal"]["address"] for name in ("r1-u0", "r1-u1", "r1-u2")}
    assert addresses == {"r1-u0": "10.20.1.3", "r1-u1": "10.20.1.2", "r1-u2": "10.20.1.1"}


async def test_a_mac_address_of_another_node(ironic: FakeRack, folder: Path) -> None:
    await enrolled(ironic, folder, fake("r1-u1", U1))
    _unused, lines = await enrolled(ironic, folder, fake("r1-u1", U1), fake("r1-u2", U2), fake("r1-u3", U1.replace("01", "03")))
    assert len(lines) == 3
    report, _unused_lines = await enrolled(ironic, folder, fake("r1-u4", U1))
    assert str(report.results[0]) == (
        f"r1-u4: failed: MAC address {U1} is a port of node r1-u1 already: correct macs, or remove that node or its port"
    )
    assert "r1-u4" not in {each.name for each in ironic.connection.baremetal.nodes()}


async def test_a_node_of_another_owner_is_left_alone(ironic: FakeRack, folder: Path) -> None:
    ironic.connection.baremetal.create_node(name="r1-u1", driver="fake-hardware")
    report, lines = await enrolled(ironic, folder, fake("r1-u1", U1))
    assert not report.is_good
    assert lines == ["r1-u1: failed: Ironic has a node r1-u1 that was not enrolled from a rack file: rename the server or that node"]
    _unused, lines = await enrolled(ironic, folder, remove=["r1-u1"])
    assert lines == ["r1-u1: failed: Ironic has no node of this name that was enrolled from a rack file: nothing to remove"]


async def test_inspection_finds_plan_and_mac_addresses(ironic: FakeRack, folder: Path) -> None:
    with redfish({"1": System((U1, U2))}) as service:
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines == ["r1-u1: enrolled: plan c3.small.x86 chosen for 32 GB of memory, 16 CPU threads, 480 GB, 480 GB"]
        after = node(ironic, "r1-u1")
        assert (after["provision_state"], after["resource_class"], after["properties"]["memory_mb"]) == ("available", "c3.small.x86", 32768)
        assert (after["boot_interface"], after["deploy_interface"]) == ("redfish-virtual-media", "ramdisk")
        assert ports(ironic, "r1-u1") == {U1: True, U2: False}
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines == ["r1-u1: unchanged"]
        assert service.changes == []


async def test_a_server_that_is_powered_on_is_not_given_away(ironic: FakeRack, folder: Path) -> None:
    with redfish({"1": System((U1,), power="On")}) as service:
        for _run in range(2):
            _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
            assert lines[0].startswith("r1-u1: failed: it is powered on, so something may run on it: switch it off")
            assert node(ironic, "r1-u1")["provision_state"] == "manageable"
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service, more="may_be_on: true"))
        assert lines[0].startswith("r1-u1: changed")
        assert service.changes == []
    assert node(ironic, "r1-u1")["provision_state"] == "available"


@pytest.mark.parametrize("more", ["firmware: uefi", f"plan: c3.small.x86, macs: ['{U1}']"], ids=["inspected", "described"])
async def test_a_server_of_another_architecture_is_not_enrolled(ironic: FakeRack, folder: Path, more: str) -> None:
    with redfish({"1": System((U1,), is_arm=True)}) as service:
        # Also when it is enrolled again, without an inspection.
        for _run in range(2):
            _unused, lines = await enrolled(ironic, folder, real("r1-u1", service, more=more))
            # Ironic's word for it.
            architecture = node(ironic, "r1-u1")["properties"]["cpu_arch"]
            assert architecture in {"arm", "aarch64"}
            assert lines == [
                f"r1-u1: failed: its architecture is {architecture}, and DHCP and the boot ISO have loaders for x86_64 only: remove it "
                "from the rack file, and its node with --remove r1-u1"
            ]
            assert node(ironic, "r1-u1")["provision_state"] == "manageable"
    arm = {**node(ironic, "r1-u1"), "provision_state": "available", "resource_class": "c3.small.x86"}
    server = server_of_node(arm, [U1], plans={"c3.small.x86"}, metros={"lab"})
    assert server.unavailable == f"its architecture {architecture} cannot be booted: DHCP and the boot ISO have loaders for x86_64 only"


async def test_a_server_with_secure_boot_is_not_offered(ironic: FakeRack, folder: Path) -> None:
    system = System((U1,), has_secure_boot=True)
    words = "Secure Boot is on, and the boot ISO and iPXE are not signed: switch it off in the firmware"
    with redfish({"1": system}) as service:
        for _run in range(2):
            _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
            assert lines == [f"r1-u1: failed: {words}, and run this again when Ironic has read that, with its next check of the power"]
            assert node(ironic, "r1-u1")["provision_state"] == "manageable"
        # Enrolled by an operator, or switched on later.
        offered = {**node(ironic, "r1-u1"), "provision_state": "available", "resource_class": "c3.small.x86"}
        assert server_of_node(offered, [U1], plans={"c3.small.x86"}, metros={"lab"}).unavailable == words
        bios = {**offered, "properties": {"capabilities": "boot_mode:bios"}}
        assert server_of_node(bios, [U1], plans={"c3.small.x86"}, metros={"lab"}).unavailable == ""
        system.has_secure_boot = False
        # What Ironic's next check of the power does, in its own time.
        ironic.set_in_database(node(ironic, "r1-u1")["uuid"], secure_boot=False)
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines[0].startswith("r1-u1: changed: available again after manageable; plan c3.small.x86 chosen")
        assert service.changes == []
    assert node(ironic, "r1-u1")["provision_state"] == "available"


async def test_a_wrong_password(ironic: FakeRack, folder: Path) -> None:
    """It is corrected in a new enrolment, which sends passwords that are others only."""
    with redfish({"1": System((U1,))}) as service:
        service.credentials = ("metal", "another")
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines[0].startswith(f"r1-u1: failed: the BMC {service.url} refuses user metal: correct user and password of bmc")
        (folder / "password").write_text("another\n", encoding="utf-8")
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines[0].startswith("r1-u1: enrolled: plan c3.small.x86")
        # The password of an available server is verified too.
        (folder / "password").write_text("wrong\n", encoding="utf-8")
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service))
        assert lines[0].startswith(f"r1-u1: failed: the BMC {service.url} refuses user metal")
        assert service.changes == []
    assert "another" not in str(node(ironic, "r1-u1"))


@pytest.mark.parametrize("options", [{"dry_run": True}, {"check_bmcs": True}])
async def test_a_bmc_that_does_not_answer(ironic: FakeRack, folder: Path, options: dict[str, Any]) -> None:
    (port,) = free_ports(1)
    report, lines = await enrolled(
        ironic, folder, real("r1-u1", RedfishService(f"http://127.0.0.1:{port}", {})), fake("r1-u2", U2), **options
    )
    assert not report.is_good
    assert f"r1-u1: failed: the BMC http://127.0.0.1:{port} does not answer: check its address, its power and the network" in "\n".join(
        lines
    )
    # Others are enrolled all the same.
    assert report.results[1].outcome == ("planned" if "dry_run" in options else "enrolled")
    assert "r1-u1" not in {each.name for each in ironic.connection.baremetal.nodes()}


async def test_a_dry_run_sends_no_credentials(ironic: FakeRack, folder: Path) -> None:
    with redfish({"1": System((U1,))}) as service:
        _unused, lines = await enrolled(ironic, folder, real("r1-u1", service), dry_run=True)
        assert service.requests == [("GET", "/redfish/v1/")]
    assert lines == ["r1-u1: planned: would be created with address 10.20.1.1"]


@pytest.mark.parametrize(
    ("fault", "is_ended"), [(None, False), ("service failure", False), ("power failure", True), ("clean failure", True)]
)
async def test_a_maintenance_is_ended_if_a_failure_of_the_server_has_set_it(
    ironic: FakeRack, folder: Path, fault: str | None, is_ended: bool
) -> None:
    await enrolled(ironic, folder, fake("r1-u1", U1))
    id_ = node(ironic, "r1-u1")["uuid"]
    ironic.set_in_database(id_, maintenance=True, maintenance_reason="disk 2 is replaced", fault=fault)
    _unused, lines = await enrolled(ironic, folder, fake("r1-u1", U1))
    assert lines == ["r1-u1: unchanged" if is_ended else "r1-u1: unchanged: in maintenance (disk 2 is replaced), not offered"]
    assert node(ironic, "r1-u1")["maintenance"] is not is_ended


async def test_an_enrolment_that_was_ended_is_continued(ironic: FakeRack, folder: Path) -> None:
    servers = [fake(f"n{index:02d}", f"52:54:00:88:02:{index:02x}") for index in range(12)]
    running = asyncio.create_task(enrolled(ironic, folder, *servers))
    bare = ironic.connection.baremetal
    while len(await asyncio.to_thread(lambda: list(bare.nodes()))) < 4:
        assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    _unused, lines = await enrolled(ironic, folder, *servers)
    assert [each for each in lines if "failed" in each] == []
    after = [node(ironic, f"n{index:02d}") for index in range(12)]
    assert {each["provision_state"] for each in after} == {"available"}
    assert {tuple(each["traits"]) for each in after} == {("CUSTOM_METAL_METRO_LAB",)}
    assert all(len(ports(ironic, each["name"])) == 1 for each in after)
