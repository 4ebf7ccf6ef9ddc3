"""The whole way of a machine, with boot service, metadata service and mirror over real sockets."""

import asyncio
import json
from collections.abc import Collection
from typing import Any

import pytest

from metal_api.ip_reservations.record import Assignment
from sandbox.machines.ignition import data_url
from sandbox.metal.attachment import Attachment

from .conftest import POINTER, DataCentre, artefact, hardware, script


async def test_an_embedded_config_wins_over_userdata(centre: DataCentre) -> None:
    centre.web.answers["/own.ign"] = json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/embedded"}]}}).encode()
    centre.chain(script(centre.web, f"coreos.inst.ignition_url={centre.web.url}/own.ign"))
    await centre.installed()
    assert centre.booted[0][1]["storage"]["files"][0]["path"] == "/embedded"
    assert "/userdata" not in centre.metadata.paths()


async def test_platform_metal_reads_no_userdata_and_has_no_serial_console(centre: DataCentre) -> None:
    centre.chain(script(centre.web, install="coreos.inst.install_dev=/dev/sda"))
    await centre.installed()
    assert centre.booted[0][1].get("storage") is None
    assert centre.events == []
    assert "login:" not in centre.console()
    assert "login:" in centre.screen()


def live_config(final: dict[str, Any] | None, options: str) -> bytes:
    """A live config as of the platform metal: installer options, and the config that is written to the disk."""
    files = [{"path": "/etc/coreos/installer.d/10-own.yaml", "contents": {"source": data_url(options.encode())}}]
    if final is not None:
        files.append({"path": "/etc/coreos/final.ign", "contents": {"source": data_url(json.dumps(final).encode())}})
    return json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"files": files}}).encode()


METAL = "dest-device: /dev/sda\nplatform: metal\nconsole: ['ttyS1,115200n8']\nignition-file: /etc/coreos/final.ign\n"


async def test_platform_metal_boots_the_config_that_the_live_system_has_written(centre: DataCentre) -> None:
    centre.web.answers["/live.ign"] = live_config(POINTER, METAL)
    centre.chain(script(centre.web, LIVE.format(centre.web.url), install=""))
    await centre.installed()
    assert centre.booted[0][1]["storage"]["files"][0]["contents"]["source"] == data_url(b"here")
    assert centre.metadata.asked == []
    assert centre.events == []
    assert "m0 login:" in centre.console(), "named by console:"


async def test_where_nothing_answers_at_the_vendors_name_packet_waits_for_ever_and_reports_nothing(centre: DataCentre) -> None:
    centre.vendor_names = False
    centre.machines = centre.new_machines()
    centre.chain(script(centre.web))
    await centre.machines.install(hardware())
    async with asyncio.timeout(30):
        while "ignition: GET https://metadata.packet.net/userdata: attempt #3" not in centre.console():  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)
    assert "GET error: no address for metadata.packet.net" in centre.console()
    assert (centre.booted, centre.events, centre.metadata.asked) == ([], [], [])


@pytest.mark.parametrize(("path", "reported"), [("/metadata", True), ("/other", False)])
async def test_a_unit_reports_the_first_boot_where_a_metadata_service_answers(centre: DataCentre, path: str, reported: bool) -> None:
    program = '/etc/report.url .phone_home_url {state: "running", message: "[first boot] done"}'
    files = [
        {"path": "/etc/report.url", "contents": {"source": data_url(f"{centre.metadata.url}{path}\n".encode())}},
        {"path": "/usr/local/bin/report", "contents": {"source": data_url(program.encode())}},
    ]
    unit = {"name": "report.service", "enabled": True, "contents": "[Service]\nExecStart=-/usr/local/bin/report\n"}
    final = {"ignition": {"version": "3.2.0"}, "storage": {"files": files}, "systemd": {"units": [unit]}}
    centre.web.answers["/live.ign"] = live_config(final, METAL)
    centre.chain(script(centre.web, LIVE.format(centre.web.url), install=""))
    await centre.installed()
    assert centre.metadata.paths() == [path]
    assert centre.events == ([("running", "[first boot] done")] if reported else [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"/kernel": 404}, "No such file or directory"),
        ({"/kernel": artefact("kernel", architecture="aarch64")}, "cannot start on an x86_64 machine"),
        ({"/initramfs": artefact("initramfs", architecture="aarch64")}, "No working init"),
        ({"/initramfs": artefact("rootfs")}, "no initramfs was loaded"),
        ({"/rootfs": artefact("rootfs", build="1.2.3")}, "does not match the initramfs"),
    ],
)
async def test_wrong_artefacts_hang(centre: DataCentre, change: dict[str, Any], reason: str) -> None:
    centre.chain(script(centre.web))
    centre.web.answers.update(change)
    assert reason in await centre.failed()
    assert centre.events[-1][1].startswith("[sandbox] the machine hangs: ")
    assert centre.booted == []


@pytest.mark.parametrize(
    ("install", "reason"),
    [
        ("coreos.inst.install_dev=/dev/nvme0n1", "this machine has /dev/sda, /dev/sdb"),
        ("", "neither coreos.inst.install_dev"),
    ],
)
async def test_wrong_install_arguments_hang(centre: DataCentre, install: str, reason: str) -> None:
    centre.chain(script(centre.web, install=install))
    assert reason in await centre.failed()


async def test_a_missing_rootfs_is_waited_for(centre: DataCentre) -> None:
    centre.chain(script(centre.web))
    del centre.web.answers["/rootfs"]
    await centre.reported()
    assert centre.events == [("running", f"[live] rootfs not there yet, tried again for ever: {centre.web.url}/rootfs: HTTP 404")]
    centre.web.answers["/rootfs"] = artefact("rootfs")
    await centre.until(lambda: bool(centre.booted))


async def test_uefi_needs_the_initrd_named_on_the_command_line(centre: DataCentre) -> None:
    centre.web.answers = {f"/{kind}": artefact(kind, architecture="aarch64") for kind in ("kernel", "initramfs", "rootfs")}
    centre.chain(script(centre.web).replace("initrd=main ", "").replace("ttyS1", "ttyAMA0"))
    await centre.machines.install(hardware(architecture="aarch64", plan="c3.large.arm64"))
    await centre.until(lambda: bool(centre.events))
    assert "initrd=main" in centre.events[-1][1]


@pytest.mark.parametrize(
    ("user_script", "reason"),
    [
        ("#!ipxe\nshell\n", "iPXE shell"),
        ("#!ipxe\nexit\n", "ended without booting anything"),
    ],
)
async def test_scripts_that_lead_nowhere(centre: DataCentre, user_script: str, reason: str) -> None:
    centre.chain(user_script)
    assert reason in await centre.failed()
    assert centre.phoned == ["body=Device+connected+to+DHCP+system&type=provisioning.104.01"]


@pytest.mark.parametrize("userdata", [None, b"#cloud-config\n{}\n", {"ignition": {"version": "2.2.0"}}, b"{"])
async def test_a_pointer_that_is_none_loops_through_the_emergency_shell(centre: DataCentre, userdata: Any) -> None:
    centre.chain(script(centre.web))
    centre.metadata.answers["/userdata"] = 404
    if userdata is not None:
        centre.userdata(userdata)
    await centre.machines.install(hardware())
    await centre.until(lambda: len(centre.events) >= 2)
    assert all(state == "failed" and message.startswith("[fetch] Ignition error: ") for state, message in centre.events)
    assert "Press Enter for emergency shell or wait 5 minutes for reboot." in centre.console()
    # A right pointer, put there meanwhile, ends the loop.
    centre.userdata(POINTER)
    await centre.until(lambda: bool(centre.booted))


def old_system(centre: DataCentre, drive: str) -> None:
    disks = centre.folder / "machines" / "d0" / "disks"
    disks.mkdir(parents=True, exist_ok=True)
    (disks / f"{drive}.json").write_text(json.dumps({"system": "rhcos", "label": "boot", "build": "old"}))


async def test_a_stale_disk_breaks_first_boot(centre: DataCentre) -> None:
    centre.chain(script(centre.web))
    old_system(centre, "sdb")
    await centre.reported()
    assert "found multiple filesystems with label boot: /dev/sda /dev/sdb" in centre.events[0][1]
    assert centre.booted == []


LIVE = "ignition.firstboot ignition.platform.id=metal ignition.config.url={}/live.ign"
WIPE_UNIT = (
    "[Unit]\nBefore=coreos-installer.service\n[Service]\nExecStart=/bin/sh -c 'for d in $(lsblk -dno NAME); do wipefs -a /dev/$d; done'\n"
)


@pytest.mark.parametrize(
    ("unit", "wiped"),
    [
        ({"name": "wipe.service", "enabled": True, "contents": WIPE_UNIT}, True),
        ({"name": "wipe.service", "contents": WIPE_UNIT}, False),
        ({"name": "wipe.service", "enabled": True, "contents": WIPE_UNIT.replace("Before=", "After=")}, False),
    ],
)
async def test_a_live_config_wipes_the_other_disks(centre: DataCentre, unit: dict[str, Any], wiped: bool) -> None:
    centre.chain(script(centre.web, LIVE.format(centre.web.url)))
    centre.web.answers["/live.ign"] = json.dumps({"ignition": {"version": "3.2.0"}, "systemd": {"units": [unit]}}).encode()
    old_system(centre, "sdb")
    await centre.machines.install(hardware())
    await centre.until(lambda: bool(centre.booted) or any(state == "failed" for state, _unused in centre.events))
    assert bool(centre.booted) is wiped


@pytest.mark.parametrize("missing", ["ignition.firstboot", "ignition.platform.id=metal"])
async def test_a_live_config_needs_both_arguments(centre: DataCentre, missing: str) -> None:
    centre.chain(script(centre.web, LIVE.format(centre.web.url).replace(missing, "")))
    await centre.installed()
    assert "/live.ign" not in centre.web.paths()
    assert "ignition.config.url does nothing" in centre.screen()


async def test_nothing_answers_at_any_address_of_a_machine_without_power(centre: DataCentre) -> None:
    calls: list[tuple[set[str], bool]] = []

    async def silence(addresses: Collection[str], is_silent: bool) -> None:
        calls.append((set(addresses), is_silent))

    ids = {"id": "a0", "device_id": "d0", "port_id": "p0"}
    place = {"network": "10.67.0.2/31", "address": "10.67.0.3", "gateway": "10.67.0.2", "metro": "da", "created_at": ""}
    private = Assignment(public=False, management=True, global_ip=False, customdata={}, **ids, **place)

    def restart() -> None:
        centre.machines = centre.new_machines(silence=silence, attachment=lambda _device_id: Attachment(management=(private,)))

    restart()
    addresses = {hardware().address, private.address}
    await centre.machines.install(hardware())
    await centre.machines.power_off("d0")
    restart()
    await centre.machines.restore(hardware(), is_on=False)
    await centre.machines.remove("d0")
    assert calls == [(addresses, False), (addresses, True), (addresses, True), (addresses, False)]
