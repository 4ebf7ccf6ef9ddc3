"""The MachineConfigs of the firewall of the nodes. tests/network has its script, which runs in network namespaces."""

import json
from base64 import b64decode
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.addresses import MACHINE_NETWORKS
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.node_firewall import node_firewall
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.ignition import bootstrap_ign as bootstrap_ignition

SETTINGS: dict[str, Any] = {
    "cluster": "demo.metal.test",
    "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "node_firewall": {"enabled": True, "sources": ["198.51.100.0/24"], "script": "#!\n", "service": "[Service]\n", "timer": "[Timer]\n"},
}


def test_masters_and_workers_have_it() -> None:
    found = list(node_firewall(SETTINGS))
    assert [each["metadata"]["name"] for each in found] == ["98-master-node-firewall", "98-worker-node-firewall"]
    config = found[0]["spec"]["config"]
    assert config == found[1]["spec"]["config"]
    settings, script = config["storage"]["files"]
    text = b64decode(settings["contents"]["source"].partition("base64,")[2]).decode()
    assert text.splitlines() == [
        'NODES_RECORD="nodes.demo.metal.test"',
        'SOURCES="10.128.0.0/14 169.254.0.0/17 169.254.169.0/29 fd69::/112 198.51.100.0/24"',
        'TCP_PORTS="2379-2380, 9000-9999, 10250-10259, 10357, 22623-22624"',
        'UDP_PORTS="4789, 6081, 9000-9999"',
    ]
    assert (script["path"], script["mode"]) == ("/usr/local/bin/node-firewall", 0o755)
    assert [each["name"] for each in config["systemd"]["units"]] == ["node-firewall.service", "node-firewall.timer"]


def test_the_bootstrap_device_has_it() -> None:
    installer: dict[str, Any] = {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/opt/openshift/manifests/one"}]}}
    made = json.loads(bootstrap_ignition(json.dumps(installer), {**SETTINGS, "node_network": {"kind": "layer3"}}))
    config = next(iter(node_firewall(SETTINGS)))["spec"]["config"]
    assert made["storage"]["files"] == [*installer["storage"]["files"], *config["storage"]["files"]]
    assert made["systemd"]["units"] == config["systemd"]["units"]
    assert made["ignition"] == installer["ignition"]


def test_the_bootstrap_device_has_the_network_and_the_firewall_of_the_nodes() -> None:
    network = {"kind": "private", "metadata_url": "http://192.0.2.1/metadata", "families": [4], "script": "#!\n", "service": "[Unit]\n"}
    made = json.loads(bootstrap_ignition("{}", {**SETTINGS, "node_network": network}))
    names = ["node-network.service", "node-firewall.service", "node-firewall.timer"]
    assert [each["name"] for each in made["systemd"]["units"]] == names


def test_it_can_be_left_out() -> None:
    assert bootstrap_ignition("{}", {**SETTINGS, "node_firewall": {"enabled": False}}) == "{}"
    assert not list(node_firewall({**SETTINGS, "node_firewall": {"enabled": False}}))
    assert not list(node_firewall({}))


@pytest.mark.parametrize("kind", MACHINE_NETWORKS)
@pytest.mark.parametrize("families", [[4], [4, 6]], ids=["ipv4", "dual-stack"])
def test_the_record_that_nodes_read_has_every_address_of_a_machine(kind: str, families: list[int]) -> None:
    addresses = {"public_ipv4": "192.0.2.1", "private_ipv4": "10.0.0.1", "public_ipv6": "2001:db8::1"}
    tags = ["openshift-role=worker", "openshift-vlan-address=192.168.40.21/24"]
    device = {"hostname": "worker-0.demo.metal.test", "addresses": addresses, "tags": tags}
    records = cluster_dns_records([device], "demo.metal.test", network=kind, families=families)
    (found,) = [record["values"] for record in records if record["name"] == "nodes.demo.metal.test"]
    expected = {"192.0.2.1", "10.0.0.1", "192.168.40.21", *(["2001:db8::1"] if 6 in families else [])}
    assert set(found) == expected
