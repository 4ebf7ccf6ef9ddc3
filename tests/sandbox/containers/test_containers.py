"""Which machines are containers, and what their tree is made of. What containers do is in tests/containers."""

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from metal_api.core.machines import Hardware
from sandbox.clock import Clock
from sandbox.containers import Containers, Programs, operator_units
from sandbox.containers.cloud import CloudContainer
from sandbox.containers.command import to_its_end
from sandbox.containers.link import HTTP
from sandbox.containers.system import pool_of
from sandbox.machine_kinds import MachineKinds
from sandbox.machines.cloud import CloudSystem
from sandbox.machines.host import Host, Hung, Site
from sandbox.machines.network import NameService
from sandbox.machines.simulated import Life
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.cluster import Clusters
from sandbox.openshift.systems import system_factory

NOWHERE = Path("/nonexistent")
NO_CLUSTERS = system_factory(Clusters(NOWHERE, Clock(1.0), Binaries(NOWHERE, NOWHERE, NOWHERE)))


def host_in(folder: Path) -> Host:
    hardware = Hardware("4f9d2e1c", "worker-0", "127.0.0.1", "c3.small.x86", "x86_64", (), ("02:00:00:00:00:01",), "custom_ipxe")
    nobody = "http://127.0.0.1:9"
    return Host(hardware, folder, Site(Clock(1.0), nobody, nobody, ("127.0.0.1", 9)))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("simulated", MachineKinds()),
        ("container", MachineKinds(containers=frozenset())),
        ("container:worker,infra", MachineKinds(containers=frozenset({"worker", "infra"}))),
        ("qemu", MachineKinds(("bios",))),
        ("qemu:bios,uefi", MachineKinds(("bios", "uefi"))),
    ],
)
def test_kinds_of_machines(text: str, kinds: MachineKinds) -> None:
    assert MachineKinds.parse(text) == kinds
    assert kinds.in_namespace == (text != "simulated")


@pytest.mark.parametrize("text", ["", "vm", "simulated:bios", "qemu:coreboot", "qemu:", "container:", f"qemu:{','.join(['bios'] * 17)}"])
def test_other_kinds_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text!r} "):
        MachineKinds.parse(text)


def pointer(*sources: Any) -> str:
    config = {"ignition": {"version": "3.2.0", "config": {"merge": [{"source": source} for source in sources]}}}
    return base64.b64encode(json.dumps(config).encode()).decode()


@pytest.mark.parametrize(
    ("embedded", "pool"),
    [
        (pointer("https://api-int.demo.metal.test:22623/config/worker"), "worker"),
        (pointer("data:,{}", "https://api-int.demo.metal.test:22623/config/infra"), "infra"),
        (pointer("http://192.0.2.1/bootstrap.ign"), "master"),
        (base64.b64encode(b'{"ignition": {"version": "3.2.0"}}').decode(), "master"),
    ],
)
def test_the_pool_of_a_node_is_in_its_pointer(embedded: str, pool: str) -> None:
    assert pool_of(embedded) == pool


@pytest.mark.parametrize(
    ("machines", "system", "made"),
    [
        ("container", "debian_12", CloudContainer),
        ("container:worker,ubuntu_24_04", "ubuntu_24_04", CloudContainer),
        ("container:worker", "ubuntu_24_04", CloudSystem),
        ("container", "rocky_9", CloudSystem),
    ],
)
def test_a_system_is_a_container_where_the_tree_has_its_packages(tmp_path: Path, machines: str, system: str, made: type) -> None:
    make = Containers(Programs(*[tmp_path] * 5), MachineKinds.parse(machines).has_container)
    assert type(make(host_in(tmp_path), "/dev/sda", {"system": system}, NO_CLUSTERS)) is made


def test_units_of_the_operator_are_enabled_and_those_of_the_tree_ordered(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    (tmp_path / operator_units.STAND_INS[1:]).mkdir(parents=True)
    (tmp_path / operator_units.STAND_INS[1:] / "nodeip-configuration").touch()
    operator_units.write(tmp_path)
    assert f"ExecStart={operator_units.STAND_INS}/nodeip-configuration\n" in (folder / "nodeip-configuration.service").read_text()
    assert "ExecStart=/bin/true\n" in (folder / "nmstate-configuration.service").read_text()
    assert (
        folder / "kubelet-dependencies.target.requires/nodeip-configuration.service"
    ).resolve() == folder / "nodeip-configuration.service"
    assert not (folder / "kubelet.service").exists()
    assert "kubelet-dependencies.target" in (folder / "kubelet.service.d/50-order.conf").read_text()


async def test_a_request_by_a_network_card_fails_once() -> None:
    """A connection that is refused is not taken for one that was kept and has ended, which is tried again."""
    calls = []

    async def inside(function: Callable[..., Any], *arguments: Any) -> Any:
        calls.append(function)
        return function(*arguments)

    client = HTTP(inside, "127.0.0.1", NameService(("127.0.0.1", 9), "127.0.0.1"))
    with pytest.raises(httpx.ConnectError):
        await client.request("GET", "http://127.0.0.1:9/")
    assert len(calls) == 1


async def test_what_is_removed_at_a_reboot_is_removed_when_the_power_is_cut_meanwhile() -> None:
    removed = asyncio.Event()

    async def remove() -> None:
        await asyncio.sleep(0)
        removed.set()

    rebooting = asyncio.create_task(to_its_end(remove()))
    await asyncio.sleep(0)
    rebooting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rebooting
    assert removed.is_set()


async def test_a_machine_can_be_switched_off_whose_container_fails_to_end(tmp_path: Path) -> None:
    class Ends(Life):
        async def _boot(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise Hung("its processes do not end")

    life = Ends(host_in(tmp_path), NO_CLUSTERS)
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await life.end()
    assert "its processes do not end" in (tmp_path / "screen.log").read_text()
