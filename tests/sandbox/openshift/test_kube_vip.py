"""kube-vip on a simulated control plane node, with the MachineConfig of the collection."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.kube_vip import kube_vip as manifests
from metal_api.core.machines import Hardware
from metal_api.listener import Listener
from sandbox.clock import Clock
from sandbox.machines.elastic import HOLD_TIME
from sandbox.openshift import kube_vip, pki
from sandbox.openshift.api import ClusterAPI
from sandbox.openshift.assets import files_of
from sandbox.openshift.node_network import NodeNetwork
from sandbox.testing.process import REPOSITORY

from .conftest import PretendedMachine

ADDRESS = "127.66.9.200"
BGP = {kube_vip.BOND_SETTINGS: b"", kube_vip.SETTINGS: b'METADATA_URL="https://metadata.test/metadata"'}
BOND = NodeNetwork("127.66.9.201")
VLAN = NodeNetwork("127.66.9.210", vlan=1000, subnet="127.66.9.0/25")
"""Its subnet does not have the address."""
FILES = REPOSITORY / "roles/ignition/files"
"""Of the collection."""


@pytest.fixture(params=["https://metadata.test/metadata", ""], ids=["BGP", "ARP"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    ends = {"script": ".sh", "service": ".service", "timer": ".timer", "address_service": "-address.service"}
    texts = {kind: (FILES / f"kube-vip{end}").read_text() for kind, end in ends.items()}
    settings = {"address": ADDRESS, "image": "registry.test/kube-vip:1", "metadata_url": request.param, **texts}
    (found,) = manifests({"kube_vip": settings})
    made: dict[str, Any] = found["spec"]["config"]
    return made


def test_a_node_with_the_machine_config_of_the_collection_announces_the_address(config: dict[str, Any]) -> None:
    assert kube_vip.announced_address(config, files_of(config)) == ADDRESS


def test_a_node_without_a_part_of_it_announces_nothing(config: dict[str, Any]) -> None:
    files = files_of(config)
    for path in ("/etc/kube-vip.conf", "/usr/local/bin/kube-vip"):
        assert not kube_vip.announced_address(config, {name: content for name, content in files.items() if name != path})
    assert not kube_vip.announced_address({}, files)


def test_the_times_are_those_that_the_script_sets() -> None:
    settings = dict(re.findall(r'\b(vip_\w+|bgp_hold_time): "(\d+|plndr\S+)"', (FILES / "kube-vip.sh").read_text()))
    assert settings.pop("vip_subnet") == "32"
    assert settings == {
        "vip_leasename": kube_vip.LEASE,
        "vip_leaseduration": f"{kube_vip.LEASE_DURATION}",
        "vip_renewdeadline": f"{kube_vip.RENEW_DEADLINE}",
        "vip_retryperiod": f"{kube_vip.RETRY_PERIOD}",
        "bgp_hold_time": f"{HOLD_TIME:g}",
    }


@pytest.fixture
def machine(tmp_path: Path) -> PretendedMachine:
    hardware = Hardware(
        device_id="5c1b0d6f-6a3a-4b0e-8a65-0a4a1c4f6e10",
        hostname="master-0.demo.metal.test",
        address="127.66.9.201",
        plan="c3.small.x86",
        architecture="x86_64",
        drives=(),
        macs=("0c:42:a1:00:00:01",),
        operating_system="custom_ipxe",
    )
    return PretendedMachine(hardware, Clock(1), tmp_path, {})


async def readyz(request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok", request.app.state.status)


@pytest.mark.parametrize(("status", "ready"), [(200, True), (500, False), (None, False)])
async def test_the_address_is_announced_by_bgp_while_the_api_server_of_the_node_is_ready(
    machine: PretendedMachine, status: int | None, ready: bool
) -> None:
    listener = None
    if status is not None:
        application = Starlette(routes=[Route("/readyz", readyz)])
        application.state.status = status
        listener = Listener(application)
        pair = pki.self_signed_ca("api", timedelta(hours=1))
        await listener.open(machine.hardware.address, 6443, pair.server_context())
    try:
        await kube_vip.run(machine, ADDRESS, BGP, BOND, Mock(ClusterAPI))
    finally:
        if listener is not None:
            await listener.close()
    assert machine.announced == {ADDRESS: ready}


@pytest.mark.parametrize(
    ("files", "network", "reason"),
    [
        ({kube_vip.SETTINGS: BGP[kube_vip.SETTINGS]}, BOND, "no route to the BGP neighbors"),
        ({}, BOND, f"no interface of this node has a subnet with {ADDRESS}"),
        ({}, VLAN, f"no interface of this node has a subnet with {ADDRESS}"),
    ],
)
async def test_a_node_whose_network_cannot_carry_the_address_announces_nothing(
    machine: PretendedMachine, files: dict[str, bytes], network: NodeNetwork, reason: str
) -> None:
    running = asyncio.create_task(kube_vip.run(machine, ADDRESS, files, network, Mock(ClusterAPI)))
    while not machine.lines:  # noqa: ASYNC110 - what a machine writes on its console is a list
        await asyncio.sleep(0)
    assert reason in machine.lines[0]
    assert machine.announced == {}
    running.cancel()
