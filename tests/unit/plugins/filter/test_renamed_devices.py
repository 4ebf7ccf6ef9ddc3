"""Devices with other names than their Nodes, as the role provision refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.renamed_devices import renamed_devices

DEVICES = [{"id": "A", "hostname": "box", "state": "active"}, {"id": "B", "hostname": "W2", "state": "active"}]


def test_each_renamed_device_has_a_sentence() -> None:
    (text,) = renamed_devices(DEVICES, [{"name": "w1", "device_id": "A"}, {"name": "w2", "device_id": "B"}])
    assert text.startswith("device A of node w1 is named box at the Metal API.")
    assert renamed_devices(DEVICES, []) == []


@pytest.mark.parametrize(("devices", "nodes"), [("box", []), ([{"hostname": "box"}], []), (DEVICES, [{"device_id": "A"}]), (3, [])])
def test_something_else_is_refused(devices: Any, nodes: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="devices and nodes as the modules return them"):
        renamed_devices(devices, nodes)
