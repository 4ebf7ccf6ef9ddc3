"""Devices with a Node, and with another name than it, as the role provision reads them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.rule import rule
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.provision import node_identity

DEVICES = [{"id": "A", "hostname": "box", "state": "active"}, {"id": "B", "hostname": "W2", "state": "active"}]


def test_each_renamed_device_has_a_sentence() -> None:
    found = node_identity(DEVICES, [{"name": "w1", "device_id": "A"}, {"name": "w2", "device_id": "B"}])
    (text,) = found["renamed"]
    assert text.startswith("device A of node w1 is named box at the Metal API.")
    assert node_identity(DEVICES, []) == {"joined": [], "renamed": []}


def test_a_device_has_joined_when_it_has_a_node() -> None:
    assert node_identity(DEVICES, [{"name": "w2"}])["joined"] == ["B"]
    assert node_identity(DEVICES, [{"name": "w1", "device_id": "A"}])["joined"] == ["A"]


@pytest.mark.parametrize(("devices", "nodes"), [("box", []), ([{"hostname": "box"}], []), (DEVICES, [{"device_id": "A"}]), (3, [])])
def test_something_else_is_refused(devices: Any, nodes: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"provision\.node_identity"):
        rule(devices, "provision.node_identity", nodes)
