"""Clients nobody here wrote accept the answers: ``equinix`` with its strict models, and packet-python unpatched over TLS."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import packet
import pytest
import requests

from metal_api.app import create_metal_app
from metal_api.listener import Listener
from metal_api.tls import CertificateAuthority
from tests.metal_api.conftest import Sandbox
from tests.ports import free_port


@pytest.fixture
async def tls(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """``host:port`` of the same API over TLS, trusted by clients that use ``requests``."""
    authority, port = CertificateAuthority(tmp_path / "tls"), free_port()
    listener = Listener(create_metal_app(sandbox.world))
    await listener.open("127.0.0.1", port, authority.server_context("127.0.0.1"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate_file))
    yield f"127.0.0.1:{port}"
    await listener.close()


async def test_only_clients_that_trust_the_ca_connect(tls: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CertificateAuthority(tmp_path / "another").certificate_file))
    with pytest.raises(requests.exceptions.SSLError):
        await asyncio.to_thread(requests.get, f"https://{tls}/user", timeout=30)


async def test_the_ca_is_kept(tmp_path: Path) -> None:
    first = CertificateAuthority(tmp_path / "tls").certificate_file.read_bytes()
    assert CertificateAuthority(tmp_path / "tls").certificate_file.read_bytes() == first
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "tls").iterdir()} == {0}


def orders(manager: packet.Manager, project_id: str, machine: str) -> None:
    device = manager.create_device(
        project_id,
        "one",
        "c3.small.x86",
        operating_system="custom_ipxe",
        metro="da",
        ipxe_script_url="http://127.0.0.1/x",
        always_pxe=False,
    )
    assert device.state == "queued"
    assert device.tags == []
    device.tags = ["changed"]
    device.update()
    assert manager.get_device(device.id).tags == ["changed"]
    assert {each.id for each in manager.list_all_devices(project_id)} == {device.id, machine}
    with pytest.raises(packet.ResponseError, match="Error 422: Cannot delete a device while it is provisioning"):
        device.delete()
    with pytest.raises(packet.ResponseError, match="Error 404: Not found"):
        manager.get_device("none")
    batch = {"hostname": "b{{index}}", "quantity": 2, "plan": "c3.small.x86", "metro": "da", "operating_system": "custom_ipxe"}
    made = manager.create_batch(project_id, [batch])
    assert [each.state for each in made] == ["queued"]
    assert [each.id for each in manager.list_batches(project_id)] == [made[0].id]
    manager.delete_batch(made[0].id)
    assert manager.list_batches(project_id) == []


def network(manager: packet.Manager, project_id: str, machine: str) -> None:
    vlan = manager.create_vlan(project_id, metro="da")
    assert vlan.assigned_to.id == project_id
    assert manager.list_vlans(project_id)[0].vxlan == 1000
    device = manager.get_device(machine)
    # Its own test of 2019 takes the first: the order was another one then.
    bond = device.network_ports[2]["id"]
    assert manager.convert_layer_2(bond, vlan.id) is None
    assert [each["href"][-36:] for each in manager.get_device(machine).network_ports[2]["virtual_networks"]] == [vlan.id]
    manager.remove_port(bond, vlan.id)
    vlan.delete()
    address = manager.reserve_ip_address(project_id, "public_ipv4", 1, metro="da")
    assert address.id in {each.id for each in manager.list_project_ips(project_id)}
    assigned = manager.create_device_ip(machine, address.address)
    assert assigned.id in {each.id for each in manager.list_device_ips(machine)}
    manager.delete_ip(assigned.id)
    address.delete()
    manager.enable_project_bgp_config(project_id, asn=65000, deployment_type="local")
    assert manager.get_bgp_config(project_id).status == "enabled"
    session = manager.create_bgp_session(machine, address_family="ipv4")
    assert [each.id for each in manager.get_bgp_sessions(machine)] == [session.id]


# With the path of the newer API, and with none, as its own default end point has none.
@pytest.mark.parametrize("path", ["/metal/v1", ""])
async def test_packet_python_reads_everything(sandbox: Sandbox, tls: str, path: str) -> None:
    """The library as it is on PyPI: https only, doubled slashes, hrefs called as paths, PATCH."""
    (machine,) = await sandbox.seed(1)
    reserved = await sandbox.control.post("/hardware_reservations", json={"count": 1})
    await sandbox.control.put("/settings", json={"durations": {"queued": 1_000_000}})

    def use() -> None:
        manager = packet.Manager(auth_token=sandbox.world.token)
        manager.end_point = f"{tls}{path}"
        project = manager.list_projects()[0]
        assert {each.slug for each in manager.list_plans()} >= {"c3.small.x86"}
        assert manager.list_operating_systems()
        assert manager.list_facilities()
        assert manager.list_metros()
        assert manager.get_capacity()
        assert manager.validate_metro_capacity([("da", "c3.small.x86", 1)])
        assert manager.get_spot_market_prices()["da11"]["c3.small.x86"]["price"] > 0
        assert manager.get_user()["email"] == "user@sandbox.test"
        assert manager.list_ssh_keys()
        (organization,) = manager.list_organizations()
        assert manager.get_organization(organization.id).name == "Sandbox"
        assert [each.id for each in manager.list_organization_projects(organization.id)] == [project.id]
        assert [each.id for each in manager.list_organization_devices(organization.id)] == [machine]
        (reservation,) = manager.list_hardware_reservations(project.id)
        assert (reservation.id, reservation.project.id, reservation.device) == (reserved.json()["ids"][0], project.id, None)
        orders(manager, project.id, machine)
        network(manager, project.id, machine)
        made = manager.create_project("another")
        assert manager.get_project(made.id).name == "another"
        made.delete()

    await asyncio.to_thread(use)
