"""The firewall of the nodes: its script with the real nft, between network namespaces. The record is in /etc/hosts of the node."""

import os
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_firewall import node_firewall
from tests.network.namespaces import Namespace, namespaces
from tests.role_play import played

pytestmark = [pytest.mark.debian("nftables"), pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces with names need root")]
ROLES = Path(__file__).resolve().parents[2] / "roles"
RECORD = "nodes.demo.metal.test"
MACHINE_CONFIG, KUBELET, API, GENEVE = 22623, 10250, 6443, 6081
OUTSIDE, INSIDE, INSIDE_V6, SOURCE = "192.0.2.99", "192.0.2.20", "2001:db8::20", "198.51.100.7"


@dataclass
class Node:
    """A node with the files of its MachineConfig."""

    namespace: Namespace
    folder: Path

    def list_nodes(self, *addresses: str) -> None:
        """Set what the DNS record lists."""
        lines = [f"{address} {RECORD}" for address in addresses]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines, ""]), encoding="utf-8")

    def apply(self) -> str:
        """Run the script as the unit does, and return its messages."""
        settings = dict(line.split("=", 1) for line in (self.folder / "node-firewall.conf").read_text(encoding="utf-8").splitlines())
        environment = {name: value.strip('"') for name, value in settings.items()}
        return self.namespace.run(
            "bash", str(self.folder / "node-firewall"), environment={**environment, "STATE_DIRECTORY": str(self.folder)}
        )


@pytest.fixture
def node_and_client(tmp_path: Path) -> Iterator[tuple[Node, Namespace]]:
    script = (ROLES / "ignition/files/node-firewall.sh").read_text(encoding="utf-8")
    settings = {
        "cluster": "demo.metal.test",
        "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
        "node_firewall": {"enabled": True, "sources": ["198.51.100.0/24", "198.51.100.7"], "service": "", "timer": "", "script": script},
    }
    master, _worker = node_firewall(settings)
    for file in master["spec"]["config"]["storage"]["files"]:
        content = b64decode(file["contents"]["source"].partition("base64,")[2])
        (tmp_path / Path(file["path"]).name).write_bytes(content)
    with namespaces("node", "client") as (one, other):
        node = Node(one, tmp_path)
        node.list_nodes("192.0.2.10", INSIDE, INSIDE_V6)
        one.files = {Path("/etc/hosts"): tmp_path / "hosts"}
        one.run("ip", "address", "add", "192.0.2.10/24", "dev", "eth0")
        one.run("ip", "address", "add", "2001:db8::10/64", "dev", "eth0", "nodad")
        one.run("ip", "route", "add", "198.51.100.0/24", "dev", "eth0")
        for address in (f"{OUTSIDE}/24", f"{INSIDE}/24", f"{SOURCE}/32"):
            other.run("ip", "address", "add", address, "dev", "eth0")
        other.run("ip", "address", "add", f"{INSIDE_V6}/64", "dev", "eth0", "nodad")
        with one.serving(MACHINE_CONFIG, KUBELET, API):
            yield node, other


def connect(client: Namespace, source: str, port: int) -> str:
    return client.connect("2001:db8::10" if ":" in source else "192.0.2.10", port, source)


def test_ports_of_nodes_accept_machines_of_the_cluster_alone(node_and_client: tuple[Node, Namespace]) -> None:
    node, client = node_and_client
    assert connect(client, OUTSIDE, MACHINE_CONFIG) == "accepted", "without the firewall every client gets Ignition configs"
    assert node.apply() == ""
    assert [connect(client, OUTSIDE, port) for port in (MACHINE_CONFIG, KUBELET, API)] == ["dropped", "dropped", "accepted"]
    assert [connect(client, INSIDE, port) for port in (MACHINE_CONFIG, KUBELET, API)] == ["accepted"] * 3
    assert connect(client, SOURCE, MACHINE_CONFIG) == "accepted", "a source of openshift_node_firewall_sources"
    assert connect(client, INSIDE_V6, 10251) == "refused", "no listener, but the packet arrives"
    assert node.namespace.connect("127.0.0.1", MACHINE_CONFIG) == "accepted"
    assert node.namespace.connect("192.0.2.10", KUBELET) == "accepted"
    with client.serving(KUBELET):
        assert node.namespace.connect(OUTSIDE, KUBELET) == "accepted", "the answers to a connection that the node opens"


def test_a_new_machine_is_accepted_once_the_record_lists_its_address(node_and_client: tuple[Node, Namespace]) -> None:
    node, client = node_and_client
    node.apply()
    assert connect(client, OUTSIDE, MACHINE_CONFIG) == "dropped"
    node.list_nodes("192.0.2.10", INSIDE, OUTSIDE)
    node.apply()
    assert connect(client, OUTSIDE, MACHINE_CONFIG) == "accepted"
    node.list_nodes("192.0.2.10")
    node.apply()
    assert [connect(client, *each) for each in ((INSIDE, KUBELET), (INSIDE_V6, 10251))] == ["dropped"] * 2, "a machine that was removed"


@pytest.mark.parametrize("listed", [(), (INSIDE,)], ids=["no record", "a record without this node"])
def test_nothing_is_blocked_while_the_record_does_not_list_this_node(
    node_and_client: tuple[Node, Namespace], listed: tuple[str, ...]
) -> None:
    node, client = node_and_client
    node.list_nodes(*listed)
    assert "does not list an address of this node (192.0.2.10 2001:db8::10): nothing is blocked" in node.apply()
    assert connect(client, OUTSIDE, MACHINE_CONFIG) == "accepted"


def test_a_node_that_the_record_lists_no_more_blocks_nothing(node_and_client: tuple[Node, Namespace]) -> None:
    node, client = node_and_client
    node.apply()
    # Devices may get new addresses by a conversion of their ports: the record that lists another machine's must not lock this one out.
    node.list_nodes(INSIDE)
    node.apply()
    assert connect(client, OUTSIDE, KUBELET) == "accepted"


def test_rules_stay_while_the_address_of_the_node_moves_to_another_interface(node_and_client: tuple[Node, Namespace]) -> None:
    node, client = node_and_client
    node.apply()
    for address in ("192.0.2.10/24", "2001:db8::10/64"):
        node.namespace.run("ip", "address", "delete", address, "dev", "eth0")
    assert node.apply() == ""
    node.namespace.run("ip", "address", "add", "192.0.2.10/24", "dev", "eth0")
    # Before the next run of the timer.
    assert [connect(client, source, MACHINE_CONFIG) for source in (OUTSIDE, INSIDE)] == ["dropped", "accepted"]


def test_pods_reach_their_own_node_from_the_masquerade_network_of_each_release(node_and_client: tuple[Node, Namespace]) -> None:
    node, client = node_and_client
    node.apply()
    for address, answer in (("169.254.169.2", "accepted"), ("169.254.0.2", "accepted"), ("169.254.169.9", "dropped")):
        client.run("ip", "address", "add", f"{address}/32", "dev", "eth0")
        node.namespace.run("ip", "route", "add", f"{address}/32", "dev", "eth0")
        assert connect(client, address, KUBELET) == answer, address


def test_rules_of_others_stay(node_and_client: tuple[Node, Namespace]) -> None:
    node, _client = node_and_client
    node.namespace.run("nft", "add", "table", "ip", "openshift")
    for _again in range(2):
        node.apply()
    assert node.namespace.run("nft", "list", "tables").split("\n")[:2] == ["table ip openshift", "table inet node_firewall"]
    assert "udp dport" in node.namespace.run("nft", "list", "table", "inet", "node_firewall")


def cloud_config(folder: Path, **variables: Any) -> dict[str, Any]:
    """Return the cloud-config of a load balancer device, as the role makes it."""
    role = ROLES / "load_balancer"
    for name in ("files", "templates"):
        (folder / name).symlink_to(role / name)
    settings = {"openshift_cluster_name": "demo", "openshift_base_domain": "metal.test", "openshift_directory": "/nonexistent", **variables}
    settings |= {
        "role_path": str(role),
        "ansible_python_interpreter": sys.executable,
        "__load_balancer_reservation": {"ip_reservation": {"network": None}},
    }
    task = {"ansible.builtin.copy": {"content": "{{ __load_balancer_cloud_config }}", "dest": str(folder / "made.yml"), "mode": "0600"}}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(role / f"{name}/main.yml") for name in ("defaults", "vars")]}
    (folder / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": [task]}]), encoding="utf-8")
    (folder / "settings.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    arguments = ("-i", "localhost,", "-c", "local", "-e", f"@{folder}/settings.yml")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROLES.parent / "collections")}
    code, output = played(folder / "play.yml", *arguments, environment=environment)
    assert code == 0, output
    text = (folder / "made.yml").read_text(encoding="utf-8")
    assert text.startswith("#cloud-config\n")
    made: dict[str, Any] = yaml.safe_load(text)
    return made


@pytest.mark.parametrize("sources", [[], ["198.51.100.0/24"]], ids=["no further sources", "further sources"])
def test_a_load_balancer_keeps_the_machine_config_server_for_the_machines_of_the_cluster(
    node_and_client: tuple[Node, Namespace], tmp_path: Path, sources: list[str]
) -> None:
    balancer, client = node_and_client
    folder = tmp_path / "role"
    folder.mkdir()
    made = cloud_config(folder, openshift_node_firewall_sources=sources)
    assert "nftables" in made["packages"]
    assert made["runcmd"][0] == ["systemctl", "enable", "--now", "node-firewall.service", "node-firewall.timer"]
    files = {Path(file["path"]): file["content"] for file in made["write_files"]}
    for path in (Path("/etc/node-firewall.conf"), Path("/usr/local/bin/node-firewall")):
        (tmp_path / path.name).write_text(files[path], encoding="utf-8")
    assert {path.name for path in files if path.parent.name == "system"} == {"node-firewall.service", "node-firewall.timer"}
    assert balancer.apply() == ""
    assert [connect(client, OUTSIDE, port) for port in (MACHINE_CONFIG, API)] == ["dropped", "accepted"]
    assert [connect(client, INSIDE, port) for port in (MACHINE_CONFIG, API)] == ["accepted", "accepted"]
    assert connect(client, SOURCE, MACHINE_CONFIG) == ("accepted" if sources else "dropped")


def test_a_load_balancer_without_the_firewall_has_none_of_its_files(tmp_path: Path) -> None:
    made = cloud_config(tmp_path, openshift_node_firewall=False)
    assert made["packages"] == ["haproxy"]
    assert not [file["path"] for file in made["write_files"] if "firewall" in file["path"]]
    assert made["runcmd"] == [["systemctl", "enable", "--now", "haproxy"], ["systemctl", "restart", "haproxy"]]
