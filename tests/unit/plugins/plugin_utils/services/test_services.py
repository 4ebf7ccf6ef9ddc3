"""Operators of cluster services: what is subscribed to, and the objects of MetalLB and LVM Storage."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.metallb import (
    address_range,
    metallb_changes,
)
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.olm import operator_subscription


def subscription(namespace: str, package: str, **status: Any) -> dict[str, Any]:
    return {"kind": "Subscription", "metadata": {"name": "s", "namespace": namespace}, "spec": {"name": package}, "status": status}


@pytest.mark.parametrize(
    ("service", "version", "namespace", "channel"),
    [
        ("metallb", "4.20.3", "metallb-system", "stable"),
        ("lvms", "4.19.12", "openshift-storage", "stable-4.19"),
        ("lvms", "4.20.0-rc.1", "openshift-lvm-storage", "stable-4.20"),
    ],
)
def test_the_channel_is_that_of_the_clusters_version(service: str, version: str, namespace: str, channel: str) -> None:
    found = operator_subscription(service, [], version, "redhat-operators")
    assert found["namespace"] == namespace
    assert [each["kind"] for each in found["objects"]] == ["Namespace", "OperatorGroup", "Subscription"]
    assert found["objects"][2]["spec"]["channel"] == channel
    assert operator_subscription(service, [], version, "mirrored", "fast")["objects"][2]["spec"]["channel"] == "fast"


def test_a_subscription_of_an_older_cluster_stays_in_its_namespace() -> None:
    group = {"kind": "OperatorGroup", "metadata": {"name": "made-by-a-user", "namespace": "openshift-storage"}}
    current = [subscription("openshift-storage", "odf-operator"), subscription("openshift-storage", "lvms-operator"), group]
    found = operator_subscription("lvms", current, "4.20.3", "redhat-operators")
    assert (found["namespace"], found["subscription"]) == ("openshift-storage", "s")
    assert [each["kind"] for each in found["objects"]] == ["Namespace", "Subscription"], "OLM refuses a second OperatorGroup"


NEIGHBOR = {
    "address_family": 4,
    "customer_as": 65000,
    "customer_ip": "10.70.1.3",
    "multihop": True,
    "peer_as": 65530,
    "peer_ips": ["169.254.255.1", "169.254.255.2"],
}


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": f"host-of-{name}"}}}


def peer(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def test_each_node_has_a_peer_for_each_router_with_its_own_address() -> None:
    found = {"nodes": [node("a"), node("b")], "neighbors": {"a": [NEIGHBOR], "c": [NEIGHBOR]}}
    changes = metallb_changes(["198.51.100.8/29"], "ns", found)
    assert [each["kind"] for each in changes["present"]] == ["IPAddressPool", "BGPAdvertisement", "BGPPeer", "BGPPeer"]
    assert changes["present"][2]["spec"] == {
        "myASN": 65000,
        "peerASN": 65530,
        "peerAddress": "169.254.255.1",
        "sourceAddress": "10.70.1.3",
        "ebgpMultiHop": True,
        "nodeSelectors": [{"matchLabels": {"kubernetes.io/hostname": "host-of-a"}}],
    }
    assert changes["present"][3]["metadata"]["name"] == "equinix-metal-a-ipv4-1"
    assert changes["absent"] == []


@pytest.mark.parametrize("state", ["pending", "denied"])
def test_a_block_without_addresses_is_refused(state: str) -> None:
    """An address pool of None/27 announces nothing."""
    found = {"nodes": [], "neighbors": {}, "peers": [], "reservations": [{"id": "its-id", "state": state, "network": None, "cidr": 27}]}
    with pytest.raises(CollectionError, match=r"the IP reservation its-id wa.* Equinix Metal, so it has no addresses"):
        metallb_changes([], "ns", found)


def test_only_our_peers_of_nodes_that_are_gone_are_deleted() -> None:
    ours = {"equinix-metal.openshift/managed": "true"}
    peers = [peer("equinix-metal-a-ipv4-0", **ours), peer("equinix-metal-gone-ipv4-0", **ours), peer("of-a-user")]
    changes = metallb_changes([], "ns", {"nodes": [node("a")], "neighbors": {"a": [NEIGHBOR]}, "peers": peers})
    assert [each["metadata"]["name"] for each in changes["absent"]] == ["equinix-metal-gone-ipv4-0"]


def test_peers_read_the_password_from_the_secret() -> None:
    found = {"nodes": [node("a")], "neighbors": {"a": [{**NEIGHBOR, "md5_enabled": True}]}}
    changes = metallb_changes(["198.51.100.8/29"], "ns", found)
    assert changes["present"][2]["spec"]["passwordSecret"] == {"name": "equinix-metal", "namespace": "ns"}


def test_by_arp_the_routers_have_an_address_that_no_other_service_gets() -> None:
    changes = metallb_changes(["192.0.2.200-192.0.2.220"], "ns", {"nodes": [node("a")], "arp": True, "ingress": "192.0.2.6"})
    pools = {entry["metadata"]["name"]: entry["spec"] for entry in changes["present"] if entry["kind"] == "IPAddressPool"}
    assert pools["equinix-metal"] == {"addresses": ["192.0.2.200-192.0.2.220"]}
    assert pools["equinix-metal-ingress"] == {"addresses": ["192.0.2.6/32"], "autoAssign": False}
    advertisement, service = changes["present"][2:]
    assert (advertisement["kind"], advertisement["spec"]) == ("L2Advertisement", {"ipAddressPools": [*pools]})
    assert (service["metadata"]["namespace"], service["spec"]["loadBalancerIP"]) == ("openshift-ingress", "192.0.2.6")
    assert service["spec"]["externalTrafficPolicy"] == "Local", "another node answers when the router or its node is gone"
    assert [entry["kind"] for entry in metallb_changes([], "ns", {"nodes": [], "arp": True, "ingress": "192.0.2.6"})["present"]] == [
        "IPAddressPool",
        "L2Advertisement",
        "Service",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.6", (0xC0000206, 0xC0000206)),
        ("192.0.2.8/29", (0xC0000208, 0xC000020F)),
        ("192.0.2.8 - 192.0.2.9", (0xC0000208, 0xC0000209)),
        ("::8-::9", (8, 9)),
        *((text, None) for text in ("192.0.2.9-192.0.2.8", "192.0.2.9-::9", "192.0.2.9/29", "a-b", "1-2-3", "")),
    ],
)
def test_ranges_of_addresses(text: str, expected: tuple[int, int] | None) -> None:
    assert address_range(text) == expected
