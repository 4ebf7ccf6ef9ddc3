# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node addresses of devices by machine network."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.devices import joining_machines
from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.addresses import (
    api_addresses,
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


def test_without_ipv4_a_node_is_reached_at_its_ipv6_address() -> None:
    only_v6 = {**MASTER, "addresses": {"public_ipv4": None, "public_ipv6": "2001:db8::1"}}
    assert node_address(only_v6) == "2001:db8::1"
    assert not node_address({"addresses": None, "tags": None})


def test_private_nodes_are_reached_through_the_load_balancer() -> None:
    by_role = {"control_plane": [MASTER], "bootstrap": [BOOTSTRAP], "workers": [], "load_balancer": [BALANCER]}
    assert api_addresses(by_role, bootstrap=True) == ["192.0.2.1", "192.0.2.2"]
    assert api_addresses(by_role) == ["192.0.2.1"]
    assert api_addresses(by_role, "private", bootstrap=True) == ["192.0.2.3"]
    assert api_addresses({**by_role, "load_balancer": []}, "private") == ["10.0.0.1"]


def test_records_have_the_node_addresses_of_both_ip_versions() -> None:
    records = cluster_dns_records([MASTER, BOOTSTRAP, BALANCER], CLUSTER, balanced=True, network="private")
    values = {record["name"].partition(".")[0]: record["values"] for record in records}
    assert (values["api"], values["api-int"]) == (["192.0.2.3"],) * 2
    assert (values["api-members"], values["master-0"], values["bootstrap"]) == (["10.0.0.1", "10.0.0.2"], ["10.0.0.1"], ["10.0.0.2"])
    both = cluster_dns_records([MASTER], CLUSTER, network="bond", families=[4, 6])
    assert both[0] == {"name": f"api.{CLUSTER}", "values": ["192.0.2.1", "2001:db8::1"]}


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


def test_in_layer_2_the_address_in_the_vlan_is_the_only_one() -> None:
    tag = "openshift-vlan-gateway=192.168.40.1"
    nodes = [in_vlan(MASTER, "192.168.40.11"), in_vlan(BOOTSTRAP, "192.168.40.10")]
    node, bootstrap = ({**each, "tags": [*each["tags"], tag]} for each in nodes)
    by_role = {"control_plane": [node], "bootstrap": [bootstrap], "load_balancer": [BALANCER], "worker": []}
    assert api_addresses(by_role, "vlan", bootstrap=True) == ["192.168.40.11", "192.168.40.10"]
    records = {record["name"]: record["values"] for record in cluster_dns_records([node, bootstrap], CLUSTER, network="vlan")}
    assert records[f"api-int.{CLUSTER}"] == ["192.168.40.10", "192.168.40.11"]
    # The machine config server sees the public address of a machine that boots for the first time, until its bond is converted.
    assert {"192.0.2.1", "192.168.40.11"} <= set(records[f"nodes.{CLUSTER}"])
    converted = {**node, "addresses": {}, "ip_addresses": []}
    records = {
        record["name"]: record["values"] for record in cluster_dns_records([converted], CLUSTER, network="vlan", bootstrap_complete=True)
    }
    assert (records[f"nodes.{CLUSTER}"], records[f"api.{CLUSTER}"]) == (["192.168.40.11"], ["192.168.40.11"])
    assert joining_machines([converted])[0]["addresses"] == ["192.168.40.11"]


def test_services_of_nodes_in_a_vlan_are_reached_at_their_public_addresses() -> None:
    node, bootstrap = in_vlan(MASTER, "192.168.40.11"), in_vlan(BOOTSTRAP, "192.168.40.10")
    by_role = {"control_plane": [node], "bootstrap": [bootstrap], "workers": [], "load_balancer": []}
    assert api_addresses(by_role, "vlan", bootstrap=True) == ["192.0.2.1", "192.0.2.2"]
    records = cluster_dns_records([node, bootstrap], CLUSTER, network="vlan")
    values = {record["name"].partition(".")[0]: record["values"] for record in records}
    assert (values["api"], values["api-int"]) == (["192.0.2.1", "192.0.2.2"],) * 2
    assert (values["*"], values["master-0"], values["bootstrap"]) == (["192.0.2.1"], ["192.168.40.11"], ["192.0.2.2"])
    # The firewall accepts what the machines send in the VLAN.
    assert values["nodes"] == sorted(["192.0.2.1", "10.0.0.1", "192.168.40.11", "192.0.2.2", "10.0.0.2", "192.168.40.10"])
