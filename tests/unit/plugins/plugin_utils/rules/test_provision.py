"""Devices with a Node, and with another name than it, as the role provision reads them."""

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.provision import node_identity

DEVICES = [{"id": "A", "hostname": "box", "state": "active"}, {"id": "B", "hostname": "W2", "state": "active"}]


def test_each_renamed_device_has_a_sentence_and_has_joined() -> None:
    found = node_identity(DEVICES, [{"name": "w1", "device_id": "A"}])
    assert found["joined"] == ["A"]
    (text,) = found["renamed"]
    assert text.startswith("device A of node w1 is named box at the Metal API.")
    assert node_identity(DEVICES, [{"name": "w2"}]) == {"joined": ["B"], "renamed": []}
