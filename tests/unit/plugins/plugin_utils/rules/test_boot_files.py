"""Order bodies and boot files: on the platform packet as an earlier release rendered them, on metal those of each machine."""

import json
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot.files import (
    COMMAND_LINE,
    FINAL_CONFIG,
    boot_contents,
    boot_profiles,
    boot_urls,
    bootstrap_pointer,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.orders import device_orders
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.boot_files import (
    contents,
    files,
    live_images,
    server_port,
    unsigned,
)

RENDERED = json.loads((Path(__file__).parent / "cluster_files.json").read_text(encoding="utf-8"))


def machine(name: str, **own: Any) -> dict[str, Any]:
    return {
        "hostname": f"{name}.demo.metal.test",
        "inventory_hostname": name,
        "plan": "c3.small.x86",
        "metro": "da",
        "tags": [],
        "labels": {},
        "taints": [],
        "architecture": "x86_64",
        "boot_profile": "x86_64",
        "pool": None,
        "role": "worker",
        **own,
    }


WORKERS: list[dict[str, Any]] = [
    machine(
        "worker-0",
        tags=["a", "openshift-pool=gpu"],
        billing_cycle="hourly",
        operating_system="custom_ipxe",
        ip_addresses=[{"address_family": 4, "public": True, "cidr": 31}],
    ),
    machine(
        "worker-1",
        boot_profile="x86_64-abc",
        install_device="smallest nvme",
        consoles=["tty0", "ttyS1"],
        root_device_hints={"rotational": False, "minSizeGigabytes": 200},
        hardware_reservation_id="next-available",
        placement=[{"metro": "ny"}],
        termination_time="2030-01-01T00:00:00Z",
    ),
    {
        "hostname": "worker-2.demo.metal.test",
        "plan": "c3.large.arm64",
        "architecture": "aarch64",
        "boot_profile": "aarch64",
        "operating_system": "",
        "tags": ["openshift-role=worker"],
    },
    {"hostname": "worker-3.demo.metal.test", "plan": "x"},
]
NAMES = ("x86_64", "x86_64-abc", "aarch64")
SIGNED = {
    name: {"url": f"https://s3.test/{name}?X-Sig=1&Y=2"}
    for name in (*(f"{profile}{end}" for profile in NAMES for end in (".ipxe", "-live.ign")), "bootstrap.ign")
}
BOOT = {"architecture": "x86_64", "ignition_platform": "packet", "url": "http://203.0.113.1:8080", "signed": {}}


@pytest.mark.parametrize(
    ("case", "desired", "boot"),
    [
        ("workers", WORKERS, BOOT),
        ("object storage", WORKERS, {**BOOT, "signed": SIGNED}),
    ],
)
def test_order_bodies_are_those_of_before(case: str, desired: list[dict[str, Any]], boot: dict[str, Any]) -> None:
    assert device_orders(desired, {"userdata": '{"w": 1}'}, role="worker", boot=boot) == RENDERED["provision"][case]


def test_machines_in_a_vlan_know_it_by_their_tags() -> None:
    boot = {"architecture": "x86_64", "ignition_platform": "metal", "url": "http://boot.test"}
    vlan = {"id": "5f1d3910", "vxlan": 1000, "subnet": "192.168.40.0/24"}
    inside, outside = device_orders(
        [machine("one", vlan_address="192.168.40.21"), machine("two")], role="worker", boot={**boot, "vlan": vlan}
    )
    assert inside["tags"] == ["openshift-role=worker", "openshift-vlan=1000", "openshift-vlan-address=192.168.40.21/24"]
    assert outside["tags"] == ["openshift-role=worker"]
    by_number = machine("one", vlan_address="21")
    (order,) = device_orders([by_number], role="worker", boot={**boot, "vlan": {**vlan, "gateway": "192.168.40.1"}})
    assert order["tags"] == [*inside["tags"], "openshift-vlan-gateway=192.168.40.1"]
    # In check mode before the gateway exists its subnet is not known.
    (order,) = device_orders([by_number], role="worker", boot={**boot, "vlan": {**vlan, "subnet": ""}})
    assert order["tags"] == ["openshift-role=worker"]
    assert "vlan_address" not in order


DEFAULTS: dict[str, Any] = {
    "architecture": "x86_64",
    "boot_profile": "x86_64",
    "install_device": "smallest",
    "root_device_hints": {},
    "consoles": [],
}
SETTINGS: dict[str, Any] = {
    "ignition_platform": "packet",
    "cluster": "demo.metal.test",
    "architecture": "x86_64",
    "image_mirror_url": "",
    "kernel_arguments": [],
    "metadata_url": "https://metadata.packet.net/metadata",
}
STREAM = {
    "architectures": {
        architecture: {
            "artifacts": {
                "metal": {
                    "release": "9.6",
                    "formats": {
                        "iso": {},
                        "pxe": {
                            kind: {"location": f"https://rhcos.test/{architecture}/live-{kind}.{architecture}", "sha256": kind[0] * 64}
                            for kind in ("kernel", "initramfs", "rootfs")
                        },
                    },
                }
            }
        }
        for architecture in ("x86_64", "aarch64")
    }
}
PROGRAMS = [{"name": "choose-disk", "script": "#!/bin/sh\necho choose-disk\n", "unit": "[Unit]\nDescription=choose-disk\n"}]


@pytest.mark.parametrize(
    ("case", "desired", "signed", "secrets"),
    [
        ("controller", [machine("control-plane-0"), *WORKERS[:3]], None, ("B" * 64, "CA\n")),
        ("object storage", WORKERS[:3], SIGNED, ("", "")),
    ],
)
def test_boot_files_are_those_of_before(
    case: str, desired: list[dict[str, Any]], signed: dict[str, dict[str, str]] | None, secrets: tuple[str, str]
) -> None:
    rendered = RENDERED["boot_files"][case]
    profiles = boot_profiles(desired, DEFAULTS)
    names = [f"{profile['boot_profile']}{end}" for profile in profiles for end in (".ipxe", "-live.ign")] + ["bootstrap.ign"]
    urls = boot_urls(names, "http://203.0.113.1:8080", "https://203.0.113.1:8443/bootstrap.ign", signed)
    architectures = [profile["architecture"] for profile in profiles]

    assert names == rendered["names"]
    assert urls == rendered["urls"]
    assert live_images(STREAM, architectures, SETTINGS["image_mirror_url"], "none") == rendered["images"]
    assert boot_contents(profiles, STREAM, urls, PROGRAMS, SETTINGS) == rendered["contents"]
    assert json.dumps(bootstrap_pointer('{"b": 1}\n', urls["bootstrap.ign"], *secrets)) == json.dumps(rendered["pointer"])


PLACE: dict[str, Any] = {
    "ignition_platform": "metal",
    "bootstrap_complete": False,
    "url": "http://203.0.113.1:8080",
    "bootstrap_url": "https://203.0.113.1:8443/bootstrap.ign",
    "stored": False,
    "signed": {},
}
HOSTS = [f"{name}.demo.metal.test" for name in ("bootstrap", "worker-0")]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["x86_64-live.ign", *(f"{host}-live.ign" for host in HOSTS), *(f"{host}.ipxe" for host in HOSTS), "bootstrap.ign"]),
        ({"bootstrap_complete": True}, ["x86_64-live.ign", f"{HOSTS[1]}-live.ign", f"{HOSTS[1]}.ipxe"]),
        ({"ignition_platform": "packet"}, ["x86_64-live.ign", "x86_64.ipxe", "bootstrap.ign"]),
        ({"ignition_platform": "packet", "bootstrap_complete": True}, ["x86_64-live.ign", "x86_64.ipxe"]),
    ],
)
def test_which_files_are_published(settings: dict[str, Any], names: list[str]) -> None:
    published = files([machine("worker-0")], [machine("bootstrap")], DEFAULTS, {**PLACE, **settings})
    assert published["names"] == list(published["urls"]) == names
    assert published["urls"][names[0]] == "http://203.0.113.1:8080/x86_64-live.ign"
    assert published["urls"].get("bootstrap.ign", PLACE["bootstrap_url"]) == PLACE["bootstrap_url"]
    pointers = {"worker": POINTER, "bootstrap": POINTER}
    rendered = contents(published, STREAM, PROGRAMS, {**METAL, **settings}, pointers)
    assert sorted(rendered) == sorted(name for name in names if name != "bootstrap.ign")


def test_only_addresses_that_a_device_can_use_are_kept() -> None:
    """Before the first run nothing is signed; another bucket or key makes other addresses, and those that end soon are replaced."""
    later = time.time() + 1000
    signed = {
        "x86_64-live.ign": {"url": "https://s3.test/a", "ends": later, "signing": "now"},
        "x86_64.ipxe": {"url": "https://s3.test/b", "ends": later, "signing": "before"},
        "bootstrap.ign": {"url": "https://s3.test/c", "ends": later - 600, "signing": "now"},
    }
    stored = {**PLACE, "ignition_platform": "packet", "stored": True}
    none = files([], [], DEFAULTS, stored)
    assert (none["urls"], unsigned(none, {}, "now", 500)) == ({}, none["names"])
    some = files([], [], DEFAULTS, {**stored, "signed": signed})
    assert some["urls"]["bootstrap.ign"] == "https://s3.test/c"
    assert unsigned(some, signed, "now", 500) == ["x86_64.ipxe", "bootstrap.ign"]
    assert unsigned(some, {"x86_64.ipxe": {"url": "https://s3.test/b", "ends": later}}, "now", 500) == none["names"]


METAL: dict[str, Any] = {**SETTINGS, "ignition_platform": "metal", "metadata_url": ""}
POINTER = {"ignition": {"version": "3.2.0", "config": {"merge": [{"source": "https://api-int.demo.metal.test:22623/config/worker"}]}}}


def files_of(config: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Mode and content of each file, by path."""
    return {
        entry["path"]: (entry["mode"], b64decode(entry["contents"]["source"].partition("base64,")[2]).decode())
        for entry in config["storage"]["files"]
    }


def contents_on_metal(machines: list[dict[str, Any]], **settings: Any) -> dict[str, str]:
    profiles = boot_profiles(machines, DEFAULTS)
    names = [f"{each}-live.ign" for each in (*(p["boot_profile"] for p in profiles), *(m["hostname"] for m in machines))]
    urls = boot_urls(names, "http://203.0.113.1:8080", "")
    pointers = {"worker": json.dumps(POINTER), "bootstrap": ""}
    return boot_contents(profiles, STREAM, urls, PROGRAMS, {**METAL, **settings}, machines, pointers)


def test_on_metal_the_live_config_of_a_machine_has_its_final_config() -> None:
    contents = contents_on_metal([machine("worker-0"), machine("worker-1")])
    hosts = [f"worker-{number}.demo.metal.test" for number in range(2)]
    assert set(contents) == {"x86_64-live.ign", *(f"{host}{end}" for host in hosts for end in (".ipxe", "-live.ign"))}
    for host in hosts:
        assert f" ignition.config.url=http://203.0.113.1:8080/{host}-live.ign " in contents[f"{host}.ipxe"]
        live = json.loads(contents[f"{host}-live.ign"])
        assert live["ignition"]["config"] == {"merge": [{"source": "http://203.0.113.1:8080/x86_64-live.ign"}]}
        files = files_of(live)
        assert files["/etc/coreos/installer.d/30-ignition.yaml"] == (0o644, f"ignition-file: {FINAL_CONFIG}\n")
        assert files[FINAL_CONFIG][0] == 0o600
        final = json.loads(files[FINAL_CONFIG][1])
        assert final["ignition"] == POINTER["ignition"]
        assert files_of(final) == {"/etc/hostname": (0o644, f"{host}\n")}
        assert final["storage"]["files"][0]["overwrite"] is True
        assert "systemd" not in final, "without a metadata service nothing is reported"


@pytest.mark.parametrize(
    ("architecture", "named", "consoles"),
    [
        # A server may lack a serial port, and writing to /dev/console, the last one, must not fail.
        ("x86_64", [], ["ttyS1,115200n8", "ttyS0,115200n8", "tty0"]),
        ("aarch64", [], ["tty0", "ttyAMA0,115200"]),
        ("x86_64", ["tty0", "ttyS0,9600"], ["tty0", "ttyS0,9600"]),
    ],
)
def test_on_metal_both_systems_get_the_consoles_by_name(architecture: str, named: list[str], consoles: list[str]) -> None:
    contents = contents_on_metal([machine("worker-0", architecture=architecture, boot_profile=architecture, consoles=named)])
    installer = files_of(json.loads(contents[f"{architecture}-live.ign"]))["/etc/coreos/installer.d/10-openshift.yaml"][1]
    assert yaml.safe_load(installer) == {"console": consoles, "platform": "metal"}
    (line,) = (line for line in contents["worker-0.demo.metal.test.ipxe"].splitlines() if line.startswith("kernel "))
    assert [word.removeprefix("console=") for word in line.split() if word.startswith("console=")] == consoles


def test_the_live_system_sets_the_hardware_clock_by_the_time_servers() -> None:
    settings = {"time_servers": ["ntp1.example.com", "2001:db8::123"], "clock_unit": "[Unit]\nDescription=clock\n"}
    live = json.loads(contents_on_metal([machine("worker-0")], **settings)["x86_64-live.ign"])
    mode, chrony = files_of(live)["/etc/chrony.conf"]
    assert (mode, chrony.splitlines()[:2]) == (0o644, ["server ntp1.example.com iburst", "server 2001:db8::123 iburst"])
    assert live["systemd"]["units"][1:] == [{"name": "set-clock.service", "enabled": True, "contents": settings["clock_unit"]}]
    assert "/etc/chrony.conf" not in files_of(json.loads(contents_on_metal([machine("worker-0")])["x86_64-live.ign"]))


def test_a_command_line_that_the_kernel_would_cut_off_is_refused() -> None:
    def contents(length: int) -> dict[str, str]:
        url = f"https://s3.test/x86_64-live.ign?X-Amz-Signature={'a' * length}"
        return boot_contents([DEFAULTS], STREAM, {"x86_64-live.ign": url}, PROGRAMS, SETTINGS)

    (kernel,) = (line for line in contents(0)["x86_64.ipxe"].splitlines() if line.startswith("kernel "))
    free = COMMAND_LINE - len(kernel.split(maxsplit=2)[2])
    assert "a" * free in contents(free)["x86_64.ipxe"]
    with pytest.raises(CollectionError, match=r"for https://s3.test/x86_64-live.ign has 2048 characters") as problem:
        contents(free + 1)
    assert "X-Amz-Signature" not in str(problem.value)


def test_the_ports_of_the_server_follow_from_the_cluster() -> None:
    """They are published in boot scripts of existing devices, so they never change."""
    names = ["demo", "metal.test", "2b70eb8f-fa18-47c0-aba7-222a842362fd"]
    assert (server_port(names), server_port(names, https=True)) == (25660, 25661)
    found = {server_port([f"cluster-{number}", "metal.test", ""]) for number in range(200)}
    assert len(found) > 150 and all(port % 2 == 0 and 20000 <= port < 30000 for port in found)
