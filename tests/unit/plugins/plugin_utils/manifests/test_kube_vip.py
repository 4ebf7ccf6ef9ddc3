"""The MachineConfig of kube-vip, and where the records of the API lead. tests/load_balancer runs its script with the real kube-vip."""

from base64 import b64decode
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.kube_vip import kube_vip

SETTINGS: dict[str, Any] = {
    "kube_vip": {
        "address": "198.51.100.7",
        "image": "registry.test/kube-vip:v1.2.2",
        "metadata_url": "https://metadata.test/metadata",
        "script": "#!\n",
        "service": "[Service]\n",
        "timer": "[Timer]\n",
        "address_service": "[Service]\n",
    }
}
CLUSTER = "demo.metal.test"


@pytest.mark.parametrize("metadata_url", ["https://metadata.test/metadata", ""], ids=["BGP", "ARP"])
def test_masters_alone_have_it(metadata_url: str) -> None:
    (found,) = kube_vip({"kube_vip": {**SETTINGS["kube_vip"], "metadata_url": metadata_url}})
    assert found["metadata"]["name"] == "98-master-kube-vip"
    settings, script = found["spec"]["config"]["storage"]["files"]
    text = b64decode(settings["contents"]["source"].partition("base64,")[2]).decode()
    assert text.splitlines() == [
        f'METADATA_URL="{metadata_url}"',
        'API_ADDRESS="198.51.100.7"',
        'IMAGE="registry.test/kube-vip:v1.2.2"',
    ]
    assert (script["path"], script["mode"]) == ("/usr/local/bin/kube-vip", 0o755)
    units = [each["name"] for each in found["spec"]["config"]["systemd"]["units"]]
    # By ARP a node has the address only while it holds the lease, and kube-vip removes it.
    assert units == ["kube-vip.service", "kube-vip.timer", *(["kube-vip-address.service"] if metadata_url else [])]


def device(name: str, role: str, address: str) -> dict[str, Any]:
    return {"hostname": f"{name}.{CLUSTER}", "tags": [f"openshift-role={role}"], "addresses": {"public_ipv4": address}}


@pytest.mark.parametrize(
    ("complete", "api"), [(False, ["192.0.2.1", "192.0.2.9"]), (True, ["198.51.100.7"])], ids=["bootstrap", "control plane"]
)
def test_the_api_moves_to_the_announced_address_when_the_bootstrap_is_complete(complete: bool, api: list[str]) -> None:
    devices = [
        device("master-0", "control-plane", "192.0.2.1"),
        device("worker-0", "worker", "192.0.2.2"),
        device("bootstrap", "bootstrap", "192.0.2.9"),
    ]
    records = cluster_dns_records(devices, CLUSTER, bootstrap_complete=complete, network="bond", entries={"api": ["198.51.100.7"]})
    values = {record["name"].removesuffix(f".{CLUSTER}"): record["values"] for record in records}
    assert (values["api"], values["api-int"], values["*.apps"]) == (api, api, ["192.0.2.2"])
    assert values["api-members"] == []
