"""Services of a complete cluster: image registry, time servers and the manifests of a cloud controller manager."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

REGISTRY = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster"
CLAIM = "/api/v1/namespaces/openshift-image-registry/persistentvolumeclaims/image-registry-storage"
MACHINE_CONFIGS = "/apis/machineconfiguration.openshift.io/v1/machineconfigs"


def write_settings(user: User, **settings: Any) -> None:
    (user.inventory / "03-services.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")


def state_of_registry(user: User) -> str:
    conditions = user.kube("/apis/config.openshift.io/v1/clusteroperators/image-registry")["status"]["conditions"]
    return str(next(each["message"] for each in conditions if each["type"] == "Available"))


def time_servers(user: User, pool: str) -> list[str]:
    (file,) = user.kube(f"{MACHINE_CONFIGS}/98-{pool}-chrony")["spec"]["config"]["storage"]["files"]
    lines = b64decode(file["contents"]["source"].partition("base64,")[2]).decode().splitlines()
    return [line.split()[1] for line in lines if line.startswith("server ")]


def test_services_follow_the_inventory(tmp_path: Path) -> None:
    user = User(tmp_path, speed=600)
    with user.at_work():
        write_settings(user, openshift_registry="emptydir", openshift_time_servers=["ntp1.example.com"])
        user.play("install.yml").ended_well()
        assert user.kube(REGISTRY)["spec"]["storage"] == {"emptyDir": {}}
        assert state_of_registry(user) == "Available: The registry is ready"
        assert [time_servers(user, pool) for pool in ("master", "worker")] == [["ntp1.example.com"]] * 2
        again = user.play("install.yml").ended_well()
        assert (again.changed, again.writes) == (0, [])

        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "registry"},
            "spec": {
                "capacity": {"storage": "20Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "hostPath": {"path": "/var/registry"},
            },
        }
        user.kube("/api/v1/persistentvolumes", "POST", volume)
        size = {"openshift_registry_size": "20Gi", "openshift_registry_storage_class": "local"}
        write_settings(user, openshift_registry="pvc", openshift_time_servers=["ntp2.example.com"], **size)
        predicted = user.play("install.yml", "--check").ended_well()
        assert predicted.changed > 0
        assert user.kube(REGISTRY)["spec"]["storage"] == {"emptyDir": {}}, "check mode writes nothing"
        user.play("install.yml").ended_well()
        assert user.kube(REGISTRY)["spec"]["storage"] == {"pvc": {"claim": "image-registry-storage"}}
        assert user.kube(CLAIM)["status"]["phase"] == "Bound"
        assert time_servers(user, "worker") == ["ntp2.example.com"]
        last = user.play("install.yml").ended_well()
        assert (last.changed, last.writes) == (0, [])
        user.destroy().ended_well()
        assert user.sandbox.inventory_is_empty()
