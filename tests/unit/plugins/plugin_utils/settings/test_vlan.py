"""The VLAN of a cluster: which gateway it uses, its subnet, and the addresses of machines."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.networks import with_network
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.vlan import (
    address_in,
    cluster_gateway,
    cluster_vlan,
)

VLAN = {"id": "5f1d3910-2059-4737-8e7d-d4907cfbf27f", "vxlan": 1000}
GATEWAY = "2c8e2d1c-8a4e-4a61-9b93-8a8f0d4b1f10"


def gateway(address: str, *, size: int | None = None, **more: Any) -> dict[str, Any]:
    found = {"id": GATEWAY, "gateway_address": address, "private_ipv4_subnet_size": size, "state": "active", "created_at": "2026-11-01"}
    return {**found, **more}


def test_the_gateway_of_the_cluster_is_of_its_kind_and_the_oldest() -> None:
    private = gateway("10.70.4.1/28", size=16, id="private", created_at="2026-10-01")
    old, new = (gateway("198.51.100.1/27", id=name, created_at=name) for name in ("2026-11-01", "2026-11-02"))
    deleting = gateway("198.51.100.33/27", id="deleting", created_at="2026-01-01", state="deleting")
    found = [new, deleting, private, old]
    assert cluster_gateway(found, "public") == old
    assert cluster_gateway(found, "private") == private
    assert cluster_gateway([*found, gateway("198.51.100.65/27")], GATEWAY) == gateway("198.51.100.65/27")
    assert cluster_gateway(found, "none") is None
    assert cluster_gateway(found, "10.70.4.1") is None
    assert cluster_gateway([private], "public") is None


@pytest.mark.parametrize(
    ("mode", "given", "subnet", "expected"),
    [
        ("hybrid", "none", "192.168.40.0/24", ("192.168.40.0/24", "")),
        ("layer2", "192.168.40.1", "192.168.40.0/24", ("192.168.40.0/24", "192.168.40.1")),
        ("layer2", "public", "", ("198.51.100.0/27", "198.51.100.1")),
        # The default gateway of a hybrid bond is that of its public address.
        ("hybrid", "public", "", ("198.51.100.0/27", "")),
        ("layer2", "private", "", ("", "")),
    ],
)
def test_subnet_and_default_gateway(mode: str, given: str, subnet: str, expected: tuple[str, str]) -> None:
    found = cluster_vlan([VLAN], [gateway("198.51.100.1/27")], mode=mode, gateway=given, subnet=subnet)
    assert found == {**VLAN, "subnet": expected[0], "gateway": expected[1]}


def test_an_address_may_be_its_number_in_the_subnet() -> None:
    assert address_in("192.168.40.0/24", "11") == "192.168.40.11"
    assert address_in("198.51.100.32/28", "2") == "198.51.100.34"
    assert address_in("", "192.168.40.11") == "192.168.40.11"
    with pytest.raises(ValueError, match=r"198\.51\.100\.32/28 has no address of the number 16"):
        address_in("198.51.100.32/28", "16")


def test_the_subnet_is_a_machine_network_once() -> None:
    assert with_network(["10.0.0.0/16"], "198.51.100.0/27") == ["10.0.0.0/16", "198.51.100.0/27"]
    assert with_network(["10.0.0.0/16", "198.51.100.0/24"], "198.51.100.0/27") == ["10.0.0.0/16", "198.51.100.0/24"]
    assert with_network(["10.0.0.0/16"], "") == ["10.0.0.0/16"]
    assert with_network(["malformed"], "198.51.100.0/27") == ["malformed", "198.51.100.0/27"]
