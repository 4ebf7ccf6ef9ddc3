"""The node addresses of devices by machine network."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.devices import joining_machines
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.addresses import (
    node_address,
    node_addresses,
    reachable_address,
)

CLUSTER = "demo.metal.test"


def device(name: str, role: str, number: int) -> dict[str, Any]:
    addresses = {"public_ipv4": f"192.0.2.{number}", "private_ipv4": f"10.0.0.{number}", "public_ipv6": f"2001:db8::{number}"}
    return {
        "id": f"id-{name}",
        "hostname": f"{name}.{CLUSTER}",
        "tags": [f"openshift-role={role}"],
        "addresses": addresses,
        "ip_addresses": [{"address": address} for address in addresses.values()],
        "created_at": "2026-08-22T12:00:00Z",
    }


MASTER = device("master-0", "control-plane", 1)
BOOTSTRAP = device("bootstrap", "bootstrap", 2)
BALANCER = device("lb", "load-balancer", 3)


@pytest.mark.parametrize(
    ("network", "families", "expected"),
    [
        ("layer3", [4], ["192.0.2.1"]),
        ("layer3", [6, 4], ["2001:db8::1", "192.0.2.1"]),
        ("bond", [4, 6], ["192.0.2.1", "2001:db8::1"]),
        ("private", [4, 6], ["10.0.0.1"]),
    ],
)
def test_the_machine_network_decides_on_the_addresses(network: str, families: list[int], expected: list[str]) -> None:
    assert node_addresses(MASTER, network, families) == expected
    assert node_addresses({**MASTER, "addresses": {}, "tags": []}, network, families) == []


@pytest.mark.parametrize("network", ["layer3", "bond", "private", "vlan"])
def test_a_load_balancer_is_reached_at_its_public_address(network: str) -> None:
    assert node_address(BALANCER, network) == "192.0.2.3"


@pytest.mark.parametrize(
    ("network", "expected"), [("layer3", "192.0.2.2"), ("bond", "192.0.2.2"), ("private", "10.0.0.2"), ("vlan", "192.0.2.2")]
)
def test_the_bootstrap_device_has_one_ipv4_address(network: str, expected: str) -> None:
    assert node_addresses(BOOTSTRAP, network, [4, 6]) == [expected]
    public = {**BOOTSTRAP, "addresses": {"public_ipv4": "192.0.2.2"}}
    assert node_addresses(public, network) == ["192.0.2.2"]
    assert reachable_address(BOOTSTRAP, network) == "192.0.2.2"
    private = {**BOOTSTRAP, "addresses": {"private_ipv4": "10.0.0.2"}}
    assert node_addresses(private, network) == ["10.0.0.2"]


def in_vlan(machine: dict[str, Any], address: str) -> dict[str, Any]:
    return {**machine, "tags": [*machine["tags"], "openshift-vlan=1000", f"openshift-vlan-address={address}/24"]}


def test_nodes_in_a_vlan_are_known_by_their_tags() -> None:
    node = in_vlan(MASTER, "192.168.40.11")
    assert node_addresses(node, "vlan", [4, 6]) == ["192.168.40.11"]
    assert node_addresses(MASTER, "vlan") == []
    assert node_addresses(in_vlan(MASTER, "none"), "vlan") == []
    # A serving certificate for the address is that of this machine.
    (joining,) = joining_machines([node])
    assert joining["addresses"] == ["192.0.2.1", "10.0.0.1", "2001:db8::1", "192.168.40.11"]
    (in_layer_2,) = joining_machines([{**node, "addresses": {}, "ip_addresses": []}])
    assert in_layer_2["addresses"] == ["192.168.40.11"]
