"""A pool with a MachineConfigPool of its own, first also the pool of the routers: its nodes follow the inventory both ways, and ingress
moves with openshift_ingress_pool.

The tests build on each other's world, in this order.
"""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from tests.e2e.harness import NAME, User
from tests.e2e.ingress import assert_served, routers

pytestmark = [pytest.mark.e2e, pytest.mark.long]

ROLE = "node-role.kubernetes.io/infra"
TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
SETTINGS: dict[str, Any] = {
    "openshift_pool_machine_config": True,
    "openshift_kernel_arguments": ["hugepages=16"],
    "openshift_node_labels": {"example.com/rack": "r7"},
    "openshift_node_annotations": {"example.com/owner": "storage team"},
    "openshift_node_taints": [TAINT],
}
RECORD = "equinix-metal.openshift/managed"
MACHINE_CONFIG = "/apis/machineconfiguration.openshift.io/v1"
LABEL = "equinix-metal.openshift/ingress-pool"
CONTROLLER = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers/default"
PORTS = (80, 443, 1936)


def write_pool(user: User, last: int, ingress: dict[str, Any] | None = None, **settings: Any) -> None:
    """Write the pool infra, and the variables of ingress for all."""
    pool = {"hosts": {f"infra-[0:{last}]": None}, "vars": settings}
    content = {"workers": {"children": {"infra": pool}}, "all": {"vars": ingress or {}}}
    (user.inventory / "03-pools.yml").write_text(yaml.safe_dump(content), encoding="utf-8")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("pools"), speed=600)
    with user.at_work():
        write_pool(user, 1, {"openshift_ingress_pool": "infra", "openshift_ingress_replicas": 2}, **SETTINGS)
        user.play("install.yml").ended_well()
        yield user


def node(user: User, name: str) -> dict[str, Any]:
    found: dict[str, Any] = user.kube(f"/api/v1/nodes/{name}.{NAME}")
    return found


def set_values(found: dict[str, Any]) -> tuple[Any, ...]:
    metadata = found["metadata"]
    return (
        metadata["labels"].get("example.com/rack"),
        ROLE in metadata["labels"],
        metadata["annotations"].get("example.com/owner"),
        [taint for taint in found["spec"].get("taints", []) if taint["key"] == "dedicated"],
    )


def answering(user: User) -> set[str]:
    """Host names of the devices that answer on a port of the routers."""
    found = set()
    for device in user.devices():
        address = next(entry["address"] for entry in device["ip_addresses"] if entry["public"] and entry["address_family"] == 4)
        for port in PORTS:
            with socket.socket() as connection:
                if connection.connect_ex((address, port)) == 0:
                    found.add(device["hostname"])
    return found


def assert_routers_in(user: User, pool: str, label: str) -> None:
    """Routers run on the two nodes of the pool, which alone answer and are labelled, and the records of ingress lead to them."""
    names = {f"{pool}-{number}.{NAME}" for number in range(2)}
    assert routers(user) == answering(user) == names
    records = user.names_in_zone()
    assert sorted(records[f"*.apps.{NAME}. A"]) == sorted(value for name in names for value in records[f"{name}. A"])
    assert_served(user)
    labels = {node["metadata"]["name"]: node["metadata"]["labels"].get(LABEL) for node in user.kube("/api/v1/nodes")["items"]}
    assert {name: found for name, found in labels.items() if found} == (dict.fromkeys(names, label) if label else {})


def test_the_pool_alone_carries_ingress_and_an_idle_run_writes_nothing(user: User) -> None:
    assert_routers_in(user, "infra", "infra")
    user.play("install.yml").changed_nothing()


def test_ingress_moves_to_another_pool_and_back_to_the_operators_choice(user: User) -> None:
    write_pool(user, 1, {"openshift_ingress_pool": "worker"}, **SETTINGS)
    user.play("scale.yml").ended_well()
    assert_routers_in(user, "worker", "worker")
    assert user.kube(CONTROLLER)["spec"] == {"nodePlacement": {"nodeSelector": {"matchLabels": {LABEL: "worker"}}}}
    write_pool(user, 1, **SETTINGS)
    user.play("scale.yml").ended_well()
    assert user.kube(CONTROLLER)["spec"] == {}
    assert_routers_in(user, "worker", "")
    user.play("scale.yml").changed_nothing()


def test_what_leaves_the_inventory_leaves_the_nodes_and_what_others_set_stays(user: User) -> None:
    path = f"/api/v1/nodes/infra-0.{NAME}"
    by_hand = user.kube(path)
    by_hand["metadata"]["labels"]["example.com/other"] = "1"
    user.kube(path, "PUT", by_hand)
    write_pool(user, 2, openshift_pool_machine_config=True, openshift_node_labels={"example.com/other": "1"})
    run = user.play("scale.yml").ended_well()
    assert run.changed > 0
    for name in ("infra-0", "infra-1", "infra-2"):
        found = node(user, name)
        assert set_values(found) == (None, True, None, [])
        assert found["metadata"]["labels"]["example.com/other"] == "1"
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        user.kube(f"{MACHINE_CONFIG}/machineconfigs/98-infra-kernel-arguments")
    write_pool(user, 2, openshift_pool_machine_config=True)
    user.play("scale.yml").ended_well()
    assert node(user, "infra-0")["metadata"]["labels"]["example.com/other"] == "1", "others have set it"
    assert "example.com/other" not in node(user, "infra-1")["metadata"]["labels"]
    assert json.loads(node(user, "infra-1")["metadata"]["annotations"][RECORD]) == {"labels": {ROLE: ""}}
    user.play("scale.yml").changed_nothing()


def test_destroy(user: User) -> None:
    user.leaves_nothing()
