"""Clusters in each machine network: the addresses of their nodes, the records of these addresses, and that destroy leaves nothing."""

import socket
import ssl
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from tests.e2e.harness import NAME, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]
NODES = [f"{role}-{number}" for role in ("master", "worker") for number in range(3)]
MASTERS = NODES[:3]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path, speed=600)


def addresses(user: User, families: tuple[int, ...] = (4,)) -> set[str]:
    """Return all addresses of the cluster's devices."""
    return {str(each["address"]) for device in user.devices() for each in device["ip_addresses"] if each["address_family"] in families}


def in_zone(user: User, name: str) -> set[str]:
    """Return the values of a name's A and AAAA records."""
    records = user.names_in_zone()
    return {value for kind in ("A", "AAAA") for value in records.get(f"{name}.{NAME}. {kind}", [])}


def of_device(user: User, name: str, *kinds: tuple[int, bool]) -> list[str]:
    """Return the addresses of a device by IP version and whether they are public."""
    (device,) = (device for device in user.devices() if device["hostname"] == f"{name}.{NAME}")
    known = {(each["address_family"], each["public"]): str(each["address"]) for each in device["ip_addresses"]}
    return [known[kind] for kind in kinds]


def check_addresses(user: User, expected: dict[str, list[str]]) -> None:
    """Assert that nodes have these addresses, and records of them."""
    assert node_addresses(user) == expected
    assert {name: in_zone(user, name) for name in expected} == {name: set(own) for name, own in expected.items()}


def has_no_records(user: User) -> bool:
    return not [name for name in user.names_in_zone() if f"{NAME}. A" in name]


def serving_addresses(user: User, name: str) -> set[str]:
    """Return the IP addresses in the certificate that the kubelet of a node serves with."""
    (address, *_others) = node_addresses(user)[name]
    pem: str = until(lambda: certificate_at(address, 10250, source=address), what=f"the kubelet of {name} serves at {address}")
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(found) for found in names.value.get_values_for_type(x509.IPAddress)}


def certificate_at(address: str, port: int, source: str = "127.0.0.1") -> str:
    """Return the certificate, PEM, that a client gets at an address; empty if no TLS server answers. ``source``: that of the controller."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((address, port), timeout=3, source_address=(source, 0)) as connection,
            context.wrap_socket(connection) as secured,
        ):
            return ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b"")
    except (ssl.SSLError, ConnectionError, TimeoutError):
        return ""


DUAL_STACK = {
    "openshift_machine_networks": ["127.64.0.0/10", "2604:1380::/32"],
    "openshift_cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
    "openshift_service_networks": ["172.30.0.0/16", "fd02::/112"],
}


@pytest.mark.parametrize("families", [(4,), (4, 6)], ids=["ipv4", "dual-stack"])
def test_nodes_on_bonds(user: User, families: tuple[int, ...]) -> None:
    with user.at_work():
        settings = {"openshift_machine_network": "bond", **(DUAL_STACK if 6 in families else {})}
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        kinds = [(family, True) for family in families]
        expected = {name: of_device(user, name, *kinds) for name in NODES}
        check_addresses(user, expected)
        # A certificate for an address that is not the machine's own would not have been approved.
        assert {name: serving_addresses(user, name) for name in expected} == {name: set(own) for name, own in expected.items()}
        masters = {address for name in MASTERS for address in expected[name]}
        assert in_zone(user, "api") == in_zone(user, "api-int") == masters
        # The firewall of every node reads this record: it must have each address that a machine connects from, and no other.
        before = addresses(user, families)
        assert in_zone(user, "nodes") == before
        user.play("install.yml").changed_nothing()
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert in_zone(user, "nodes") == addresses(user, families) < before
        user.edit_workers(2)
        user.play("scale.yml").ended_well()
        assert node_addresses(user)["worker-2"] == of_device(user, "worker-2", *kinds)
        user.leaves_nothing()
        assert has_no_records(user)


@pytest.mark.debian("haproxy")
def test_nodes_with_private_addresses(user: User) -> None:
    with user.at_work():
        inventory = {
            "openshift": {"children": {"load_balancer": {"hosts": {"balancer-0": {}}}}},
            "all": {
                "vars": {
                    "openshift_machine_network": "private",
                    "openshift_load_balancer": "haproxy",
                    "openshift_machine_networks": ["127.128.0.0/10"],
                }
            },
        }
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        expected = {name: of_device(user, name, (4, False)) for name in NODES}
        check_addresses(user, expected)
        assert {name: serving_addresses(user, name) for name in NODES} == {name: set(own) for name, own in expected.items()}
        assert in_zone(user, "api-members") == {address for name in MASTERS for address in expected[name]}
        (balancer,) = of_device(user, "balancer-0", (4, True))
        assert in_zone(user, "api") == in_zone(user, "api-int") == in_zone(user, "*.apps") == {balancer}
        # A node gets its Ignition config from its public address, and speaks with others from its private one.
        assert {address for own in expected.values() for address in own} < in_zone(user, "nodes")
        for port in (6443, 22623):
            assert not certificate_at(expected["master-0"][0], port), "only devices reach a private address"
        user.play("install.yml").changed_nothing()
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert expected["worker-2"][0] not in in_zone(user, "nodes")
        user.edit_workers(3)
        user.play("scale.yml").ended_well()
        assert node_addresses(user)["worker-3"] == of_device(user, "worker-3", (4, False))
        user.leaves_nothing()
        assert has_no_records(user)


VLAN_NUMBERS = (("master", 11), ("worker", 21))
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


def node_addresses(user: User) -> dict[str, list[str]]:
    """Return the node addresses of each node by its short name."""
    return {
        node["metadata"]["name"].partition(".")[0]: [
            entry["address"] for entry in node["status"]["addresses"] if entry["type"] == "InternalIP"
        ]
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
        expected = {f"{role}-{number}": [f"{network}.{first + number}"] for role, first in VLAN_NUMBERS for number in range(3)}
        assert bonds(user) == dict.fromkeys(expected, ("hybrid-bonded", [vlan["id"]]))
        check_addresses(user, expected)
        masters = {address for name in MASTERS for address in of_device(user, name, (4, True))}
        assert in_zone(user, "api") == in_zone(user, "api-int") == masters
        assert {address for own in expected.values() for address in own} < in_zone(user, "nodes")
        user.play("install.yml").changed_nothing()
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert node_addresses(user) == {name: address for name, address in expected.items() if name != "worker-2"}
        assert expected["worker-2"][0] not in in_zone(user, "nodes")
        user.destroy().ended_well()
        assert user.devices() == []
        (left,) = user.ask("GET", f"projects/{project}/virtual-networks")["virtual_networks"]
        assert (left["id"], left["description"], left["tags"]) == (other["id"], "storage", [])
        assert has_no_records(user)


def layer2_inventory(vlan: dict[str, object]) -> dict[str, dict[str, Any]]:
    """Return the settings of machines in layer 2; the address of each is its number in the subnet of the gateway."""
    number = "{{ %d + (inventory_hostname.split('-') | last | int) }}"
    return {
        "all": {"vars": {"openshift_machine_network": "vlan", "openshift_vlan_mode": "layer2", **vlan}},
        "bootstrap": {"vars": {"openshift_vlan_address": 2}},
        "control_plane": {"vars": {"openshift_vlan_address": number % 3}},
        "workers": {"vars": {"openshift_vlan_address": number % 6}},
    }


def existing_gateway(user: User, project: str) -> dict[str, dict[str, Any]]:
    """Create a VLAN, a block and a gateway of another owner."""
    vlan = user.ask("POST", f"projects/{project}/virtual-networks", json={"metro": "da", "description": "storage"})
    block = user.ask("POST", f"projects/{project}/ips", json={"type": "public_ipv4", "quantity": 16, "metro": "da", "details": "storage"})
    body = {"virtual_network_id": vlan["id"], "ip_reservation_id": block["id"]}
    gateway = user.ask("POST", f"projects/{project}/metal-gateways", json=body)
    return {"vlan": vlan, "block": block, "gateway": gateway}


@pytest.mark.parametrize("is_given", [False, True], ids=["own", "existing"])
def test_nodes_in_layer_2(user: User, is_given: bool) -> None:
    """Nodes whose only address is in a VLAN, behind a Metal gateway with a public subnet."""
    with user.at_work():
        project = user.sandbox.environment["METAL_PROJECT_ID"]
        # Of another owner, in the same metro: used if their ids are given, and never deleted.
        other = existing_gateway(user, project)
        given = {"openshift_vlan_id": other["vlan"]["id"], "openshift_vlan_gateway": other["gateway"]["id"]}
        own = {"openshift_vlan_gateway": "public", "openshift_vlan_gateway_size": 16}
        inventory = layer2_inventory(given if is_given else own)
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        user.edit_workers(2)
        user.play("install.yml").ended_well()
        gateways = user.ask("GET", f"projects/{project}/metal-gateways", params={"include": "virtual_network,ip_reservation"})
        (gateway,) = [each for each in gateways["metal_gateways"] if (each["id"] == other["gateway"]["id"]) == is_given]
        subnet = ip_interface(gateway["gateway_address"]).network
        expected = {name: [str(subnet[number])] for number, name in enumerate(NODES, start=3)}
        assert bonds(user) == dict.fromkeys(expected, ("layer2-bonded", [gateway["virtual_network"]["id"]]))
        assert [device["ip_addresses"] for device in user.devices()] == [[]] * len(expected), "no management address remains"
        check_addresses(user, expected)
        assert in_zone(user, "api") == in_zone(user, "api-int") == {expected[name][0] for name in MASTERS}
        assert in_zone(user, "nodes") == {own for (own,) in expected.values()}
        user.play("install.yml").changed_nothing()
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert node_addresses(user) == {name: own for name, own in expected.items() if name != "worker-2"}
        user.destroy().ended_well()
        assert user.devices() == []
        left = {
            "vlan": user.ask("GET", f"projects/{project}/virtual-networks")["virtual_networks"],
            "gateway": user.ask("GET", f"projects/{project}/metal-gateways")["metal_gateways"],
            "block": user.ask("GET", f"projects/{project}/ips", params={"types": "public_ipv4"})["ip_addresses"],
        }
        assert {kind: [each["id"] for each in objects] for kind, objects in left.items()} == {
            kind: [each["id"]] for kind, each in other.items()
        }
        assert has_no_records(user)
