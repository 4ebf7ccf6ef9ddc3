"""What the role boot_files publishes, booted by machines of the sandbox: each by its architecture and the rule for its disk."""

import json
import shutil
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
def published(
    made: Role, sandbox_process: RunningSandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], str]]:
    """The public files, and the URL below which they are served."""
    folder = tmp_path_factory.mktemp("booted") / "cluster"
    shutil.copytree(made.folder, folder, symlinks=True)
    role = Role(sandbox_process, user_environment(sandbox_process), folder, name="boot_files")
    variables: dict[str, Any] = {
        "boot_files_workers": list(MACHINES.values()),
        "openshift_publish_address": "127.0.0.1",
        "openshift_metadata_url": sandbox_process.environment["OPENSHIFT_METADATA_URL"],
        "openshift_wipe_disks": True,
        "openshift_live_kernel_arguments": ["rd.neednet=1"],
    }
    # A machine that gets so far ends here: it is not to join anything.
    (folder / "ignition" / "worker.ign").write_text('{"ignition": {"version": "9.9.9"}}', encoding="utf-8")
    role.well(**variables)
    files = json.loads((folder / "publish" / "open.json").read_bytes())
    script = next((content for name, content in files.items() if name.endswith(".ipxe")), "")
    yield files, script.partition("ignition.config.url=")[2].split()[0].rpartition("/")[0]
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
        script = json.loads((role.folder / "publish" / "open.json").read_bytes())[f"{MACHINES['plain']['hostname']}.ipxe"]
        assert [f"{mirror.url}/{name}" in script for name in (kernel, initramfs, rootfs)] == [True, True, True]
        mirror.asked.clear()
        role.well(**variables)
        assert mirror.asked == []
    finally:
        role.well(tasks_from="remove", **variables)


@dataclass
class Ordered:
    """A device of the sandbox, and what is seen of it."""

    api: httpx.Client
    id: str
    state: Path

    def events(self) -> list[str]:
        answer = self.api.get(f"/devices/{self.id}/events", params={"per_page": 100}).raise_for_status().json()
        return [str(event["body"]) for event in answer["events"]]

    def screen(self) -> str:
        """What its screen shows, with remarks of the sandbox."""
        path = self.state / "machines" / self.id / "screen.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def console(self) -> str:
        """What its serial console shows."""
        return (self.state / "machines" / self.id / "console.log").read_text(encoding="utf-8")

    def wait(self, text: str) -> None:
        latest = time.monotonic() + 60
        while text not in self.screen() and not any(text in each for each in self.events()):
            assert time.monotonic() < latest, (self.events(), self.screen())
            time.sleep(0.1)


@pytest.fixture
def order(made: Role, published: tuple[dict[str, str], str]) -> Iterator[Callable[[str], Ordered]]:
    """Order the machine of that name."""
    environment, ids = made.environment, []
    with httpx.Client(base_url=environment["METAL_API_URL"], headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}) as api:

        def ordered(name: str) -> Ordered:
            machine = MACHINES[name]
            body = {
                "hostname": machine["hostname"],
                "plan": machine["plan"],
                "metro": machine["metro"],
                "operating_system": "custom_ipxe",
                "ipxe_script_url": f"{published[1]}/{machine['hostname']}.ipxe",
            }
            ids.append(api.post(f"/projects/{environment['METAL_PROJECT_ID']}/devices", json=body).raise_for_status().json()["id"])
            return Ordered(api, ids[-1], made.sandbox.directory)

        yield ordered
        for device in ids:
            api.delete(f"/devices/{device}", params={"force_delete": "true"}).raise_for_status()


def files_of(config: str) -> dict[str, str]:
    return {
        entry["path"]: b64decode(entry["contents"]["source"].partition(",")[2]).decode() for entry in json.loads(config)["storage"]["files"]
    }


def test_each_machine_has_a_script_and_shares_a_live_config_without_secrets(published: tuple[dict[str, str], str], made: Role) -> None:
    profiles = {machine["boot_profile"] for machine in MACHINES.values()}
    hosts = {machine["hostname"] for machine in MACHINES.values()}
    assert len(profiles) == 4
    assert set(published[0]) == {*(f"{name}-live.ign" for name in profiles | hosts), *(f"{host}.ipxe" for host in hosts)}
    pull_secret = "c2FuZGJveDpzYW5kYm94"
    assert not any(pull_secret in each for content in published[0].values() for each in (content, *files_of_any(content)))


def files_of_any(content: str) -> list[str]:
    return list(files_of(content).values()) if content.startswith("{") else []


@pytest.mark.parametrize("name", ["plain", "arm", "nvme"])
def test_a_machine_installs_its_own_boot_files(order: Callable[[str], Ordered], name: str) -> None:
    device = order(name)
    # The installed system has read the config on its disk: it refuses it, as it was meant to, and its serial console shows that.
    device.wait("ignition: failed in stage fetch: failed to parse config: unsupported config version")
    assert "unsupported config version" in device.console()
    assert not any("Ignition" in event for event in device.events()), "on metal Ignition reports nothing"


def test_a_machine_without_the_install_disk_stops_with_an_error(order: Callable[[str], Ordered]) -> None:
    device = order("nowhere")
    device.wait("the machine hangs")
    (said,) = (each for each in device.events() if each.startswith("[choose-disk]"))
    assert "no disk fits smallest with hints {'rotational': True, 'minSizeGigabytes': 100}, nothing is installed" in said
    assert "/dev/sda (480 GB ssd, model SANDBOX_SSD_480" in said
    assert "Install complete" not in device.screen()
