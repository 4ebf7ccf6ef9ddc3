"""Which Node is of which device, in all cases of the rule. With playbooks: tests/e2e/test_repair.py."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE, recorded_device
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.identity import (
    devices_by_node,
    identify,
    named_by_nodes,
    of_another_device,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.nodes.node import read_node

MORNING, NOON, EVENING = (f"2026-11-22T{hour}:00:00Z" for hour in ("06", "12", "18"))


def node(name: str, device_id: str = "", address: str = "", created_at: str = NOON) -> dict[str, Any]:
    return {"name": name, "device_id": device_id, "created_at": created_at, "addresses": [address] if address else []}


def device(identity: str, hostname: str | None, address: str = "", since: str = MORNING, **more: Any) -> dict[str, Any]:
    addresses = [{"address": address}] if address else []
    return {"id": identity, "hostname": hostname, "state": "active", "created_at": since, "ip_addresses": addresses, **more}


RULE: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, str], list[str]]] = {
    "a name in capitals is the same": ([node("w1", "A")], [device("A", "W1")], {"w1": "A"}, []),
    "renamed": ([node("w1", "A")], [device("A", "box")], {"w1": "A"}, ["w1"]),
    "renamed, and another device has its name": ([node("w1", "A")], [device("A", "box"), device("B", "w1")], {"w1": "A"}, ["w1"]),
    "swapped": (
        [node("w1", "A"), node("w2", "B")],
        [device("A", "w2"), device("B", "w1")],
        {"w1": "A", "w2": "B"},
        ["w1", "w2"],
    ),
    "swapped, both without a record": (
        [node("w1", address="192.0.2.1"), node("w2", address="192.0.2.2")],
        [device("A", "w2", "192.0.2.1"), device("B", "w1", "192.0.2.2")],
        {"w1": "A", "w2": "B"},
        ["w1", "w2"],
    ),
    "no record, renamed": ([node("w1", address="192.0.2.1")], [device("A", "box", "192.0.2.1")], {"w1": "A"}, ["w1"]),
    "no record, address of two devices": (
        [node("w1", address="192.0.2.1")],
        [device("A", "box", "192.0.2.1"), device("B", "w1", "192.0.2.1")],
        {"w1": "B"},
        [],
    ),
    "no record, in the VLAN": (
        [node("w1", address="10.64.0.7")],
        [device("A", "box", tags=["openshift-vlan-address=10.64.0.7/24"])],
        {"w1": "A"},
        ["w1"],
    ),
    "no record, and the device of its name is that of another Node": (
        [node("w1"), node("w2", "A")],
        [device("A", "w1")],
        {"w2": "A"},
        ["w2"],
    ),
    "ordered again by the same name": ([node("w1", "old")], [device("B", "w1", since=EVENING)], {}, []),
    "ordered again by the same name before its Node was recorded": ([node("w1", "old")], [device("B", "w1")], {}, []),
    "ordered again, no record": ([node("w1")], [device("B", "w1", since=EVENING)], {}, []),
    "installed anew since": ([node("w1", "A")], [device("A", "w1", provisioning_started_at=EVENING)], {}, []),
    "installed anew by another name": (
        [node("w1", "A"), node("w9", "A", created_at="2026-11-22T19:00:00Z")],
        [device("A", "w9", provisioning_started_at=EVENING)],
        {"w9": "A"},
        [],
    ),
    # Clocks of two services differ by seconds.
    "registered a little before by the clocks": ([node("w1", "A")], [device("A", "w1", since="2026-11-22T12:00:50Z")], {"w1": "A"}, []),
    "two Nodes record one device": ([node("a", "A"), node("w1", "A")], [device("A", "w1")], {"w1": "A"}, []),
    "being deleted": ([node("w1", "A")], [device("A", "w1", state="deprovisioning")], {}, []),
    "two devices of its name, no record": ([node("w1")], [device("A", "w1"), device("B", "w1", since=NOON)], {"w1": "B"}, []),
}


@pytest.mark.parametrize("case", RULE)
def test_the_rule(case: str) -> None:
    nodes, devices, pairs, renamed = RULE[case]
    identities = identify(nodes, devices)
    found = {each["name"]: device.id for each in nodes if (device := identities.device_of(each["name"])) is not None}
    assert found == pairs
    assert {name: identity for identity in {each["id"] for each in devices} if (name := identities.node_of(identity))} == pairs
    assert [each.node for each in identities.renamed] == renamed


def test_devices_get_the_names_of_their_nodes() -> None:
    devices = [device("A", "w2"), device("B", "w1"), device("C", "W3"), device("D", None)]
    named = named_by_nodes(devices, [node("w1", "A"), node("w2", "B")])
    assert [(each["id"], each["hostname"]) for each in named] == [("A", "w1"), ("B", "w2"), ("C", "w3"), ("D", "")]
    assert devices[0]["hostname"] == "w2", "the devices that were given are unchanged"


@pytest.mark.parametrize(
    ("annotation", "provider_id", "recorded", "foreign"),
    [
        ("A", "", "A", ""),
        ("A", "equinixmetal://A", "A", ""),
        (None, "equinixmetal://A", "A", ""),
        (None, "packet://A", "A", ""),
        ("A", "equinixmetal://B", "A", "equinixmetal://B"),
        ("A", "baremetalhost:///openshift-machine-api/w1", "A", "baremetalhost:///openshift-machine-api/w1"),
        (None, "baremetalhost:///openshift-machine-api/w1", "", "baremetalhost:///openshift-machine-api/w1"),
        (None, "", "", ""),
        (None, "equinixmetal://", "", "equinixmetal://"),
    ],
)
def test_what_a_node_records(annotation: str | None, provider_id: str, recorded: str, foreign: str) -> None:
    obj = {
        "metadata": {"name": "w1", "annotations": {DEVICE: annotation} if annotation else {}},
        "spec": {"providerID": provider_id} if provider_id else {},
        "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "w1"}]},
    }
    found = read_node(obj)
    assert (recorded_device(obj), found.device_id, found.foreign_provider_id) == (recorded, recorded, foreign)
    assert (found.is_annotated, found.addresses) == (annotation is not None, ("192.0.2.1", "w1"))


def test_a_node_that_records_another_device() -> None:
    assert of_another_device("A", "B") == "it is of device A, and device B has its name now"
    for pair in (("A", "A"), ("", "B"), ("A", "")):
        assert of_another_device(*pair) == ""


def test_of_two_devices_of_one_name_that_of_the_node_is_its() -> None:
    devices = [device("A", "box"), device("B", "w1"), device("C", None)]
    for ordered in (devices, devices[::-1]):
        found = devices_by_node(ordered, [node("w1", "A")])
        assert {name: each["id"] for name, each in found.items()} == {"w1": "A"}
