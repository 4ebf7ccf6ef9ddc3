"""MachineConfigPools and kernel arguments of pools."""

from base64 import b64decode
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import MANAGED
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.pools import config_changes as by_filter
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.pools import (
    pool_changes,
    pool_manifests,
)


def machine(name: str, pool: str = "worker", *arguments: str, own: bool = False) -> dict[str, Any]:
    return {"hostname": name, "pool": pool, "kernel_arguments": list(arguments), **({"machine_config_pool": pool} if own else {})}


def test_a_pool_has_its_machine_config_pool_once_and_the_arguments_of_workers_not_again() -> None:
    workers = [machine("w", "worker", "a"), *(machine(name, "infra", "a", "b", own=True) for name in ("i", "j"))]
    found = list(pool_manifests({"control_plane": [machine("m", "", "c")], "workers": workers}))
    assert [(each["kind"], each["metadata"]["name"], each["spec"].get("kernelArguments")) for each in found] == [
        ("MachineConfig", "98-master-kernel-arguments", ["c"]),
        ("MachineConfig", "98-worker-kernel-arguments", ["a"]),
        ("MachineConfigPool", "infra", None),
        ("MachineConfig", "98-infra-kernel-arguments", ["b"]),
    ]
    (selector,) = found[2]["spec"]["machineConfigSelector"]["matchExpressions"]
    assert selector["values"] == ["worker", "infra"]
    assert found[2]["spec"]["nodeSelector"] == {"matchLabels": {"node-role.kubernetes.io/infra": ""}}


def test_a_running_cluster_gets_what_it_lacks_and_loses_arguments_that_are_gone() -> None:
    desired = list(pool_manifests({"workers": [machine("i", "infra", "b", own=True)]}))
    as_the_cluster_has_it = [
        {**item, "status": {}, "metadata": {**item["metadata"], "uid": "1"}, "spec": {**item["spec"], "paused": False}} for item in desired
    ]
    # By the label: a user may have a MachineConfig of any name.
    theirs = {"apiVersion": "v1", "kind": "MachineConfig", "metadata": {"name": "98-worker-chrony"}}
    gone = {**theirs, "metadata": {"name": "98-worker-kernel-arguments", "uid": "2", "labels": {MANAGED: "true"}}}
    other_pool = {"apiVersion": "v1", "kind": "MachineConfigPool", "metadata": {"name": "storage"}}
    assert pool_changes(desired, []) == {"present": desired, "absent": []}
    assert pool_changes(desired, [*as_the_cluster_has_it, theirs, other_pool]) == {"present": [], "absent": []}
    assert pool_changes(desired, [*as_the_cluster_has_it, gone])["absent"] == [{**gone, "metadata": {"name": "98-worker-kernel-arguments"}}]
    changed = [{**as_the_cluster_has_it[1], "spec": {"kernelArguments": ["a"]}}, as_the_cluster_has_it[0]]
    assert pool_changes(desired, changed)["present"] == [desired[1]]


def test_the_arguments_of_a_control_plane_that_is_not_managed_stay() -> None:
    metadata = {"name": "98-master-kernel-arguments", "labels": {MANAGED: "true"}}
    masters = {"apiVersion": "v1", "kind": "MachineConfig", "metadata": metadata}
    assert by_filter([], [], [masters])["absent"] == []
    assert by_filter([], [machine("m", "")], [masters])["absent"] == [{**masters, "metadata": {"name": metadata["name"]}}]


def test_time_servers_are_those_of_all_nodes() -> None:
    found = by_filter([], [], [], ["ntp1.example.com", "192.0.2.7"])["present"]
    assert [each["metadata"]["name"] for each in found] == ["98-master-chrony", "98-worker-chrony"]
    for each in found:
        (file,) = each["spec"]["config"]["storage"]["files"]
        lines = b64decode(file["contents"]["source"].partition("base64,")[2]).decode().splitlines()
        assert lines[:2] == ["server ntp1.example.com iburst", "server 192.0.2.7 iburst"]
    gone = by_filter([], [machine("m", "")], found)["absent"]
    assert [each["metadata"]["name"] for each in gone] == ["98-master-chrony", "98-worker-chrony"]
    assert by_filter([], [machine("m", "")], found, ["ntp1.example.com", "192.0.2.7"]) == {"present": [], "absent": []}
