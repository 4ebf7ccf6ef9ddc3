"""Which clusters can be adopted, and what is printed about them."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.cluster.dns import cluster_dns_records
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.adoption import lines as adoption_lines
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.adoption import problem as adoption_problem

CLUSTER = "demo.test"
TAG = f"openshift-cluster={CLUSTER}"
RUNNING = {
    "platform": "None",
    "version": "4.20.33",
    "network_type": "OVNKubernetes",
    "machine_architectures": ["x86_64"],
    "infra_id": "demo-x7k2p",
}
NEW = {"hostname": f"worker-9.{CLUSTER}"}


def device(name: str, *tags: str) -> dict[str, Any]:
    addresses = {"public_ipv4": "192.0.2.9"}
    return {"hostname": f"{name}.{CLUSTER}", "id": f"id-{name}", "tags": list(tags), "state": "active", "addresses": addresses}


@pytest.mark.parametrize(
    ("running", "machines", "devices", "problem"),
    [
        (RUNNING, {"workers": [NEW]}, [device("master-0")], ""),
        ({**RUNNING, "platform": ""}, {}, [], ""),
        ({**RUNNING, "platform": "AWS"}, {}, [], "platform is AWS"),
        (RUNNING, {"control_plane": [{"hostname": "master-0.demo.test"}]}, [], "master-0.demo.test of the inventory"),
        (RUNNING, {}, [device("master-0", TAG, "openshift-role=control-plane")], "use scale.yml"),
        (RUNNING, {}, [device("worker-0", TAG, "openshift-role=worker")], ""),
    ],
)
def test_a_cluster_that_cannot_be_adopted_is_refused(running: Any, machines: Any, devices: Any, problem: str) -> None:
    found = adoption_problem(running, machines, devices, CLUSTER)
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_node_is_on_the_device_that_it_records_whatever_its_name() -> None:
    """As cloud-provider-equinix-metal records it: names of nodes and devices differ in clusters that were installed in another way."""
    node = {"name": f"worker-1.{CLUSTER}", "control_plane": False, "device_id": "id-box"}
    text = "\n".join(adoption_lines(RUNNING, [node], {}, [device("box"), device("worker-1")], CLUSTER))
    assert f"worker-1.{CLUSTER}  worker         device id-box, without the ownership tag" in text


def test_the_records_of_an_adopted_clusters_services_are_left_alone() -> None:
    devices = [device("worker-9", TAG, "openshift-role=worker")]
    for state, values in (("present", ["192.0.2.9"]), ("absent", [])):
        records = cluster_dns_records(devices, CLUSTER, state=state, bootstrap_complete=True, adopted=True)
        assert records == [{"name": f"worker-9.{CLUSTER}", "values": values}]
