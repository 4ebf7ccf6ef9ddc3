"""A cluster on bonds: what its nodes get, the records of its addresses, and that destroy leaves nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path, speed=600)


def file_names(user: User, config: str) -> set[str]:
    """Return the names of the files that a MachineConfig of the cluster has."""
    found = user.kube(f"/apis/machineconfiguration.openshift.io/v1/machineconfigs/{config}")
    return {unquote(file["path"]) for file in found["spec"]["config"]["storage"]["files"]}


def test_nodes_on_bonds(user: User) -> None:
    with user.at_work():
        settings = {"openshift_machine_network": "bond"}
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        for pool in ("master", "worker"):
            assert file_names(user, f"98-{pool}-node-network") == {"/etc/node-network.conf", "/usr/local/bin/node-network"}
            assert file_names(user, f"98-{pool}-node-firewall") == {"/etc/node-firewall.conf", "/usr/local/bin/node-firewall"}
        # The firewall of every node reads this record: it must have each address that a machine connects from, and no other.
        expected = {entry["address"] for device in user.devices() for entry in device["ip_addresses"] if entry["address_family"] == 4}
        assert set(user.names_in_zone()[f"nodes.{NAME}. A"]) == expected
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes) == (0, [])
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        left = {entry["address"] for device in user.devices() for entry in device["ip_addresses"] if entry["address_family"] == 4}
        assert set(user.names_in_zone()[f"nodes.{NAME}. A"]) == left < expected
        user.destroy().ended_well()
        assert user.sandbox.inventory_is_empty()
        assert not [name for name in user.names_in_zone() if name.endswith(f"{NAME}. A")]


VLAN_NETWORKS = {False: "127.200.40", True: "127.200.41"}
"""Loopback addresses that no sandbox gives to devices: in the sandbox an address in a VLAN is one of its computer."""


def vlan_inventory(network: str, vlan_id: str = "") -> dict[str, object]:
    """Return the settings of machines in a VLAN; each machine's address follows from its name."""
    numbered = f"{network}.{{{{ %d + (inventory_hostname.split('-') | last | int) }}}}"
    settings = {
        "openshift_machine_network": "vlan",
        "openshift_vlan_id": vlan_id,
        "openshift_vlan_subnet": f"{network}.0/24",
        "openshift_machine_networks": [f"{network}.0/24"],
    }
    return {
        "all": {"vars": settings},
        "bootstrap": {"vars": {"openshift_vlan_address": f"{network}.10"}},
        "control_plane": {"vars": {"openshift_vlan_address": numbered % 11}},
        "workers": {"vars": {"openshift_vlan_address": numbered % 21}},
    }


def node_addresses(user: User) -> dict[str, str]:
    """Return the node address of each node by its short name."""
    return {
        node["metadata"]["name"].partition(".")[0]: next(
            entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP"
        )
        for node in user.kube("/api/v1/nodes")["items"]
    }


def bonds(user: User) -> dict[str, tuple[str, list[str]]]:
    """Return the type and the VLANs of the first bond of each device, by its short name."""
    found = {}
    for device in user.devices():
        (bond,) = (port for port in device["network_ports"] if port["name"] == "bond0")
        vlans = [each["href"].rpartition("/")[2] for each in bond["virtual_networks"]]
        found[device["hostname"].partition(".")[0]] = (bond["network_type"], vlans)
    return found


def public_address(user: User, name: str) -> str:
    (device,) = (device for device in user.devices() if device["hostname"].startswith(f"{name}."))
    return next(str(each["address"]) for each in device["ip_addresses"] if each["public"] and each["address_family"] == 4)


@pytest.mark.parametrize("is_given", [False, True], ids=["own", "existing"])
def test_nodes_in_a_vlan(user: User, is_given: bool) -> None:
    with user.at_work():
        project, network = user.sandbox.environment["METAL_PROJECT_ID"], VLAN_NETWORKS[is_given]
        # Of another owner, in the same metro: it stays as it is unless its id is given, and is never deleted.
        other = user.ask("POST", f"projects/{project}/virtual-networks", json={"metro": "da", "description": "storage"})
        inventory = vlan_inventory(network, other["id"] if is_given else "")
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        networks = user.ask("GET", f"projects/{project}/virtual-networks")["virtual_networks"]
        (vlan,) = [each for each in networks if (each["id"] == other["id"]) == is_given and "openshift-role=lock" not in each["tags"]]
        hosts = [("master", 11, 3), ("worker", 21, 3)]
        expected = {f"{role}-{number}": f"{network}.{first + number}" for role, first, count in hosts for number in range(count)}
        assert bonds(user) == dict.fromkeys(expected, ("hybrid-bonded", [vlan["id"]]))
        assert node_addresses(user) == expected
        records = user.names_in_zone()
        assert {name: records[f"{name}.{NAME}. A"] for name in expected} == {name: [address] for name, address in expected.items()}
        masters = sorted(public_address(user, f"master-{number}") for number in range(3))
        assert sorted(records[f"api.{NAME}. A"]) == sorted(records[f"api-int.{NAME}. A"]) == masters
        assert set(expected.values()) < set(records[f"nodes.{NAME}. A"])
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes) == (0, [])
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert node_addresses(user) == {name: address for name, address in expected.items() if name != "worker-2"}
        assert expected["worker-2"] not in user.names_in_zone()[f"nodes.{NAME}. A"]
        user.destroy().ended_well()
        assert user.devices() == []
        (left,) = user.ask("GET", f"projects/{project}/virtual-networks")["virtual_networks"]
        assert (left["id"], left["description"], left["tags"]) == (other["id"], "storage", [])
        assert not [name for name in user.names_in_zone() if name.endswith(f"{NAME}. A")]
