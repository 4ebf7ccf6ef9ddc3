"""Routers run in the pool of openshift_ingress_pool: ingress carries traffic by its nodes alone, and moves with the variable.

The tests build on each other's world, in this order.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.harness import NAME, User
from tests.e2e.ingress import assert_served, routers

pytestmark = [pytest.mark.e2e, pytest.mark.long]

LABEL = "equinix-metal.openshift/ingress-pool"
TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
CONTROLLER = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers/default"
PORTS = (80, 443, 1936)


def write_inventory(user: User, **variables: Any) -> None:
    pool = {"hosts": {"infra-[0:1]": None}, "vars": {"openshift_node_taints": [TAINT]}}
    content = {"workers": {"children": {"infra": pool}}, "all": {"vars": variables}}
    (user.inventory / "03-pools.yml").write_text(yaml.safe_dump(content), encoding="utf-8")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("ingress-pool"), speed=600)
    with user.at_work():
        write_inventory(user, openshift_ingress_pool="infra", openshift_ingress_replicas=2)
        user.play("install.yml").ended_well()
        yield user


def full(*names: str) -> set[str]:
    return {f"{name}.{NAME}" for name in names}


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


def assert_routers_in(user: User, *names: str) -> None:
    """Routers run on these nodes, the records of ingress lead to them, and no other machine answers on their ports."""
    assert routers(user) == full(*names)
    assert answering(user) == full(*names)
    records = user.names_in_zone()
    assert sorted(records[f"*.apps.{NAME}. A"]) == sorted(value for name in names for value in records[f"{name}.{NAME}. A"])
    assert_served(user)


def labelled(user: User) -> dict[str, str]:
    nodes = user.kube("/api/v1/nodes")["items"]
    labels = {node["metadata"]["name"]: node["metadata"]["labels"].get(LABEL) for node in nodes}
    return {name: label for name, label in labels.items() if label}


def test_the_pool_alone_carries_ingress(user: User) -> None:
    assert_routers_in(user, "infra-0", "infra-1")
    assert labelled(user) == dict.fromkeys(full("infra-0", "infra-1"), "infra")


def test_a_second_install_changes_nothing(user: User) -> None:
    user.play("install.yml").changed_nothing()


def test_ingress_moves_to_another_pool_with_its_records(user: User) -> None:
    write_inventory(user, openshift_ingress_pool="worker")
    user.play("scale.yml").ended_well()
    assert_routers_in(user, "worker-0", "worker-1")
    assert labelled(user) == dict.fromkeys(full("worker-0", "worker-1"), "worker")
    spec = user.kube(CONTROLLER)["spec"]
    assert spec == {"nodePlacement": {"nodeSelector": {"matchLabels": {LABEL: "worker"}}}}


def test_without_the_variables_the_ingress_operator_decides_again(user: User) -> None:
    write_inventory(user)
    user.play("scale.yml").ended_well()
    assert user.kube(CONTROLLER)["spec"] == {}
    assert labelled(user) == {}
    assert_routers_in(user, "worker-0", "worker-1")
    user.play("scale.yml").changed_nothing()
