# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MachineConfigs of the firewall of the nodes. tests/network has its script, which runs in network namespaces."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.node_firewall import node_firewall

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
        'SOURCES="10.128.0.0/14 169.254.0.0/17 fd69::/112 198.51.100.0/24"',
        'TCP_PORTS="2379-2380, 9000-9999, 10250-10259, 22623-22624"',
        'UDP_PORTS="4789, 6081, 9000-9999"',
    ]
    assert (script["path"], script["mode"]) == ("/usr/local/bin/node-firewall", 0o755)
    assert [each["name"] for each in config["systemd"]["units"]] == ["node-firewall.service", "node-firewall.timer"]


def test_it_can_be_left_out() -> None:
    assert not list(node_firewall({**SETTINGS, "node_firewall": {"enabled": False}}))
    assert not list(node_firewall({}))
