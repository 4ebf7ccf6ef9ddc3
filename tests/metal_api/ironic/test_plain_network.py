"""What a plain network does not have is refused with the reason, and what it has is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metal_api.absent import REFUSED
from metal_api.catalogue.data import Catalogue
from metal_api.catalogue.rendering import show_facility
from metal_api.core.world import MetroNetwork
from metal_api.rack import load
from metal_api.serve import catalogue_of
from tests.metal_api.ironic.fake_rack import METRO, FakeRack, rack_api
from tests.metal_api.ironic.server import rack_file

NETWORK = MetroNetwork("127.91.0.0/24", "127.91.0.1", "127.91.0.10", "127.91.0.20")


async def test_what_a_plain_network_does_not_have_is_refused(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack, networks={METRO: NETWORK}) as api:
        await api.offered(1)
        device = await api.active(hostname="w1")
        port = device["network_ports"][0]["id"]
        bodies: dict[str, dict[str, object]] = {
            "/projects/{id}/ips": {"type": "public_ipv4", "quantity": 1, "metro": METRO},
            "/projects/{id}/vrfs": {"name": "a", "metro": METRO, "ip_ranges": ["10.0.0.0/16"]},
        }
        for method, path in REFUSED:
            of = {"/ports": port, "/devices": device["id"], "/projects": api.world.project_id}
            kind = path[: path.index("/", 1)]
            texts = await api.errors(method, re.sub(r"\{\w+\}", of[kind], path), json=bodies.get(path, {}))
            assert len(texts) == 1, (path, texts)
            assert "not available" in texts[0], (path, texts)
            assert "plain network" in texts[0], (path, texts)


async def test_a_device_has_the_address_of_its_server(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack, networks={METRO: NETWORK}) as api:
        await api.offered(1)
        device = await api.active(hostname="w1")
        assert [(each["address"], each["cidr"], each["gateway"], each["public"]) for each in device["ip_addresses"]] == [
            ("127.91.0.10", 24, "127.91.0.1", True)
        ]


async def test_only_what_can_be_ordered_is_listed(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack, networks={METRO: NETWORK}) as api:
        found = (await api.api.get("/operating-systems")).json()["operating_systems"]
        assert [each["slug"] for each in found] == ["custom_ipxe"]


def test_metros_of_a_rack_have_no_features_prices_and_spot_market_of_the_vendor(tmp_path: Path) -> None:
    file = rack_file(tmp_path / "rack.yml", "127.91.0", 0)
    own = "plans: [{slug: r640.x86, cpu: Xeon, cores: 16, memory_gb: 192, price_hour: 0.25}]"
    file.write_text(f"{file.read_text(encoding='utf-8')}{own}\n", encoding="utf-8")
    catalogue = catalogue_of(load(file))
    assert show_facility("", catalogue.metros["r1"])["features"] == ["baremetal"]
    plans = catalogue.plans
    assert (plans["r640.x86"].price_hour, plans["c3.small.x86"].price_hour) == (0.25, 0)
    assert {each.deployment_types for each in plans.values()} == {("on_demand",)}
    assert Catalogue().plans["c3.small.x86"].deployment_types == ("on_demand", "spot_market")


@pytest.mark.parametrize("system", ["ubuntu_22_04", "debian_12"])
async def test_images_are_refused(tmp_path: Path, rack: FakeRack, system: str) -> None:
    async with rack_api(tmp_path / "state", rack, networks={METRO: NETWORK}) as api:
        await api.offered(1)
        body = {"plan": "c3.small.x86", "metro": METRO, "operating_system": system}
        [text] = await api.errors("POST", f"{api.project}/devices", json=body)
        assert "boot custom_ipxe only" in text


async def test_a_machine_with_a_wrong_address_is_reported(tmp_path: Path, rack: FakeRack) -> None:
    async with rack_api(tmp_path / "state", rack, networks={METRO: NETWORK}) as api:
        (node_id,) = await api.offered(1)
        device = await api.active(hostname="w1")
        mac = device["network_ports"][0]["data"]["mac"].replace(":", "-")
        answer = await api.ask_boot("127.91.0.99", f"/auto.ipxe?mac={mac}")
        assert answer.status_code == 404
        name = (await api.node(node_id))["name"]
        texts = [each for each in await api.events(device["id"]) if each.startswith("server.wrong_address")]
        assert texts == [
            f"server.wrong_address: Server {name} asked for its boot script from 127.91.0.99: DHCP has to give 127.91.0.10 to "
            f"{mac.replace('-', ':')}"
        ]


async def test_addresses_run_out_with_a_message(tmp_path: Path, rack: FakeRack) -> None:
    small = MetroNetwork("127.91.0.0/24", "127.91.0.1", "127.91.0.10", "127.91.0.10")
    async with rack_api(tmp_path / "state", rack, networks={METRO: small}) as api:
        await api.offered(2, expected=1)
        expected = [f"no address is left for it in 127.91.0.10 to 127.91.0.10 of metro {METRO}"]
        # Until its first power-on the other reason is that its power state is unknown.
        await api.until(lambda: [each.unavailable for each in api.world.store["servers"] if each.unavailable] == expected)
