"""What the role boot_files publishes, booted by machines of the sandbox: each by its architecture and the rule for its disk."""

from __future__ import annotations

import json
import shutil
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ansible_collections.equinix_metal.openshift.plugins.filter.machines import machines
from sandbox.testing.process import RunningSandbox
from tests.conftest import user_environment

from .conftest import DOMAIN, NAME, Mirror, Role

GROUPS = {"workers": ["plain", "arm", "nvme", "nowhere"]}
RULES: dict[str, dict[str, Any]] = {
    "plain": {"metal_plan": "c3.small.x86"},
    "arm": {"metal_plan": "c3.large.arm64"},
    "nvme": {"metal_plan": "m3.large.x86", "openshift_install_device": "largest nvme", "openshift_consoles": ["tty0", "ttyS1,115200n8"]},
    "nowhere": {"metal_plan": "c3.small.x86", "openshift_root_device_hints": {"rotational": True, "minSizeGigabytes": 100}},
}
COMMON = {
    "openshift_cluster_name": NAME,
    "openshift_base_domain": DOMAIN,
    "metal_metro": "da",
    "groups": GROUPS,
    "group_names": ["workers"],
}
MACHINES = {
    machine["inventory_hostname"]: machine for machine in machines(list(RULES), {name: {**COMMON, **own} for name, own in RULES.items()})
}


@pytest.fixture(scope="module")
def published(made: Role, sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The public folder, and the URL that serves it."""
    folder = tmp_path_factory.mktemp("booted") / "cluster"
    shutil.copytree(made.folder, folder, symlinks=True)
    role = Role(sandbox_process, user_environment(sandbox_process), folder, name="boot_files")
    variables: dict[str, Any] = {
        "boot_files_workers": list(MACHINES.values()),
        "openshift_publish_address": "127.0.0.1",
        "openshift_wipe_disks": True,
        "openshift_live_kernel_arguments": ["rd.neednet=1"],
    }
    role.well(**variables)
    script = min((folder / "publish" / "open").glob("*.ipxe")).read_text(encoding="utf-8")
    yield folder / "publish" / "open", script.partition("ignition.config.url=")[2].rpartition("/")[0].split()[0].rpartition("/")[0]
    role.well(tasks_from="remove", **variables)


def test_custom_boot_images_are_checked_before_a_machine_boots_them(role: Role, mirror: Mirror) -> None:
    role.name = "boot_files"
    kernel, initramfs, rootfs = (
        next(name for name in mirror.fill(json.loads((role.files / "stream.json").read_bytes()), "x86_64") if kind in name)
        for kind in ("kernel", "initramfs", "rootfs")
    )
    variables = {
        "boot_files_workers": [MACHINES["plain"]],
        "openshift_publish_address": "127.0.0.1",
        "openshift_image_mirror_url": mirror.url,
    }
    good = (mirror.folder / initramfs).read_bytes()
    (mirror.folder / initramfs).write_bytes(good[:-1] + b"?")
    (mirror.folder / rootfs).rename(mirror.folder / "aside")

    result = role.refused(check=True, **variables)

    assert f"- {mirror.url}/{initramfs}: the sha256 of its " in result
    assert f"- {mirror.url}/{rootfs}: HTTP 404" in result
    assert f"{mirror.url}/{kernel}:" not in result
    assert f"/{initramfs}" in result.partition("Copy these files")[2]

    (mirror.folder / initramfs).write_bytes(good)
    (mirror.folder / "aside").rename(mirror.folder / rootfs)
    try:
        role.well(**variables)
        script = (role.folder / "publish" / "open" / "x86_64.ipxe").read_text(encoding="utf-8")
        assert [f"{mirror.url}/{name}" in script for name in (kernel, initramfs, rootfs)] == [True, True, True]
        mirror.asked.clear()
        role.well(**variables)
        assert mirror.asked == []
    finally:
        role.well(tasks_from="remove", **variables)


@pytest.fixture
def boot(made: Role, published: tuple[Path, str]) -> Iterator[Callable[[str, str], list[str]]]:
    """Order the machine of that name, wait for an event with that text, and return all of them."""
    environment, ids = made.environment, []
    with httpx.Client(base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}) as api:

        def booted(name: str, text: str) -> list[str]:
            machine = MACHINES[name]
            order = {
                "hostname": machine["hostname"],
                "plan": machine["plan"],
                "metro": machine["metro"],
                "operating_system": "custom_ipxe",
                "ipxe_script_url": f"{published[1]}/{machine['boot_profile']}.ipxe",
                # A machine that gets so far ends here: it is not to join anything.
                "userdata": '{"ignition": {"version": "9.9.9"}}',
            }
            device = api.post(f"/projects/{environment['METAL_PROJECT_ID']}/devices", json=order).raise_for_status().json()["id"]
            ids.append(device)
            latest = time.monotonic() + 60
            while True:
                answer = api.get(f"/devices/{device}/events", params={"per_page": 100}).raise_for_status().json()
                messages = [str(event["body"]) for event in answer["events"]]
                if any(text in each for each in messages):
                    return messages
                assert time.monotonic() < latest, messages
                time.sleep(0.1)

        yield booted
        for device in ids:
            api.delete(f"/devices/{device}", params={"force_delete": "true"}).raise_for_status()


def test_machines_with_one_boot_profile_share_a_script_without_secrets(published: tuple[Path, str], made: Role) -> None:
    profiles = {machine["boot_profile"] for machine in MACHINES.values()}
    assert len(profiles) == 4
    assert {path.name for path in published[0].iterdir()} == {f"{name}{end}" for name in profiles for end in (".ipxe", "-live.ign")}
    pull_secret = "c2FuZGJveDpzYW5kYm94"
    assert not any(pull_secret in path.read_text(encoding="utf-8") for path in published[0].iterdir())


@pytest.mark.parametrize(
    ("name", "consoles", "installer"),
    [
        ("plain", ["ttyS1,115200n8"], "platform: packet\n"),
        ("arm", ["ttyAMA0,115200"], "platform: packet\n"),
        ("nvme", ["tty0", "ttyS1,115200n8"], "console:\n- tty0\n- ttyS1,115200n8\nplatform: packet\n"),
    ],
)
def test_consoles_default_to_those_of_the_architecture(published: tuple[Path, str], name: str, consoles: list[str], installer: str) -> None:
    profile = MACHINES[name]["boot_profile"]
    script = (published[0] / f"{profile}.ipxe").read_text(encoding="utf-8")
    architecture = MACHINES[name]["architecture"]
    kernel, line = script.splitlines()[2].split(maxsplit=2)[1:]
    assert kernel.endswith(f"live-kernel.{architecture}")
    assert [word.removeprefix("console=") for word in line.split() if word.startswith("console=")] == consoles
    assert line.endswith(" rd.neednet=1")
    (config,) = (
        entry
        for entry in json.loads((published[0] / f"{profile}-live.ign").read_bytes())["storage"]["files"]
        if entry["path"].startswith("/etc/coreos/installer.d/")
    )
    assert b64decode(config["contents"]["source"].partition(",")[2]).decode() == installer


@pytest.mark.parametrize("name", ["plain", "arm", "nvme"])
def test_a_machine_installs_its_own_boot_files(boot: Callable[[str, str], list[str]], name: str) -> None:
    # The installed system has read its userdata: it refuses it, as it was meant to.
    assert any("unsupported config version" in result for result in boot(name, "[fetch] Ignition error"))


def test_a_machine_without_the_install_disk_stops_with_an_error(boot: Callable[[str, str], list[str]]) -> None:
    result = boot("nowhere", "the machine hangs")
    (said,) = (each for each in result if each.startswith("[choose-disk]"))
    assert "no disk fits smallest with hints {'rotational': True, 'minSizeGigabytes': 100}, nothing is installed" in said
    assert "/dev/sda (480 GB ssd, model SANDBOX_SSD_480" in said
    assert not any("Ignition" in each for each in result)
