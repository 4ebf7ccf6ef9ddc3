"""MetalLB with BGP, local storage, an image registry on it and time servers: one install, and a second run that changes nothing."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sandbox.testing.observer import cluster_response
from tests.cluster.olm import OPERATORS, Olm
from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

REGISTRY = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster"
CLAIM = "/api/v1/namespaces/openshift-image-registry/persistentvolumeclaims/image-registry-storage"
MACHINE_CONFIGS = "/apis/machineconfiguration.openshift.io/v1/machineconfigs"
METALLB = "/apis/metallb.io/v1beta1/namespaces/metallb-system"
PEERS = "/apis/metallb.io/v1beta2/namespaces/metallb-system/bgppeers"
LVM_CLUSTERS = "/apis/lvm.topolvm.io/v1alpha1/namespaces/openshift-lvm-storage/lvmclusters"
OF_THE_ROLE = (
    f"{OPERATORS}/subscriptions",
    "/apis/operators.coreos.com/v1/operatorgroups",
    f"{METALLB}/metallbs",
    f"{METALLB}/ipaddresspools",
    f"{METALLB}/bgpadvertisements",
    PEERS,
    LVM_CLUSTERS,
    MACHINE_CONFIGS,
    CLAIM.rpartition("/")[0],
)


def write_settings(user: User, **settings: Any) -> None:
    (user.inventory / "03-services.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")


def state_of_registry(user: User) -> str:
    conditions = user.kube("/apis/config.openshift.io/v1/clusteroperators/image-registry")["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == "Available"))


def time_servers(user: User, pool: str) -> list[str]:
    (file,) = user.kube(f"{MACHINE_CONFIGS}/98-{pool}-chrony")["spec"]["config"]["storage"]["files"]
    lines = b64decode(file["contents"]["source"].partition("base64,")[2]).decode().splitlines()
    return [line.split()[1] for line in lines if line.startswith("server ")]


class OfUser:
    """The API of a user's cluster. Before its kubeconfig is written, it does not answer."""

    def __init__(self, user: User) -> None:
        self._user = user

    def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        kubeconfig = self._user.cluster / "kubeconfig"
        if not kubeconfig.is_file():
            raise httpx.ConnectError("the cluster is not installed")
        return cluster_response(kubeconfig, path, method, body)


def versions(user: User) -> dict[str, str]:
    """Return generation and spec of each object of the role: a run that changes nothing leaves them."""
    return {
        f"{path}/{each['metadata']['name']}": f"{each['metadata'].get('generation')} {each['spec']}"
        for path in OF_THE_ROLE
        for each in user.kube(path)["items"]
    }


def private_addresses(user: User) -> dict[str, str]:
    return {
        device["hostname"]: next(each["address"] for each in device["ip_addresses"] if not each["public"] and each["address_family"] == 4)
        for device in user.devices()
        if "openshift-role=worker" in device["tags"]
    }


def test_operators_registry_and_time_servers_in_one_install(tmp_path: Path) -> None:
    user = User(tmp_path, speed=600)
    with user.at_work(), Olm(OfUser(user), interval=1, prepares=True):
        project = f"projects/{user.sandbox.environment['METAL_PROJECT_ID']}"
        block = user.ask("POST", f"{project}/ips", json={"type": "public_ipv4", "quantity": 4, "metro": "da"})
        settings: dict[str, Any] = {
            "openshift_machine_network": "bond",
            "openshift_metallb": True,
            "openshift_metallb_reservation": block["id"],
            "openshift_local_storage": "lvms",
            "openshift_registry": "pvc",
            "openshift_registry_size": "20Gi",
            "openshift_registry_storage_class": "lvms-vg1",
            "openshift_time_servers": ["ntp1.example.com"],
        }
        write_settings(user, **settings)
        user.play("install.yml").ended_well()

        workers = private_addresses(user)
        assert len(workers) == 2
        peers = [each["spec"] for each in user.kube(PEERS)["items"]]
        assert sorted((each["sourceAddress"], each["peerAddress"]) for each in peers) == sorted(
            (address, router) for address in workers.values() for router in ("169.254.255.1", "169.254.255.2")
        )
        sessions = user.ask("GET", f"{project}/bgp/sessions")["bgp_sessions"]
        assert [each["address_family"] for each in sessions] == ["ipv4"] * 2
        (pool,) = user.kube(f"{METALLB}/ipaddresspools")["items"]
        assert pool["spec"]["addresses"] == [f"{block['network']}/{block['cidr']}"]
        (storage,) = user.kube(LVM_CLUSTERS)["items"]
        assert storage["status"]["state"] == "Ready"
        assert user.kube(REGISTRY)["spec"]["storage"] == {"pvc": {"claim": "image-registry-storage"}}
        assert (user.kube(CLAIM)["status"]["phase"], state_of_registry(user)) == ("Bound", "Available: The registry is ready")
        assert [time_servers(user, name) for name in ("master", "worker")] == [["ntp1.example.com"]] * 2

        before = versions(user)
        assert len(before) > len(OF_THE_ROLE)
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes, versions(user)) == (0, [], before)
        predicted = user.play("install.yml", "--check").ended_well()
        assert (predicted.changed, versions(user)) == (0, before)

        # A node that joins gets a session and peers from scale.yml.
        user.edit_workers(2)
        user.play("scale.yml").ended_well()
        assert {each["spec"]["sourceAddress"] for each in user.kube(PEERS)["items"]} == set(private_addresses(user).values())
        assert len(private_addresses(user)) == 3
        user.edit_workers(1)
        user.play("scale.yml").ended_well()
        assert {each["spec"]["sourceAddress"] for each in user.kube(PEERS)["items"]} == set(workers.values())

        # A service that is not chosen any more stays, as docs/services.md has it.
        before = versions(user)
        write_settings(user, openshift_machine_network="bond", openshift_time_servers=["ntp1.example.com"])
        user.play("install.yml").ended_well()
        assert versions(user) == before

        user.destroy().ended_well()
        assert user.ask("GET", f"ips/{block['id']}")["id"] == block["id"], "the block is the user's"
        assert user.ask("GET", f"{project}/bgp/sessions")["bgp_sessions"] == []
        assert not [device for device in user.devices() if device["hostname"].endswith(NAME)]
