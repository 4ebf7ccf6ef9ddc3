"""Local storage, an image registry on it and time servers in one install. MetalLB: tests/cluster/test_services.py."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sandbox.testing.observer import cluster_response
from tests.cluster.olm import Olm
from tests.e2e.harness import User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

REGISTRY = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster"
CLAIM = "/api/v1/namespaces/openshift-image-registry/persistentvolumeclaims/image-registry-storage"
CHRONY = "/apis/machineconfiguration.openshift.io/v1/machineconfigs/98-worker-chrony"
SETTINGS: dict[str, Any] = {"openshift_local_storage": "lvms", "openshift_registry": "pvc", "openshift_registry_size": "20Gi"}
SETTINGS |= {"openshift_registry_storage_class": "lvms-vg1", "openshift_time_servers": ["ntp1.example.com"]}


class OfUser(User):
    def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Call the API of the user's cluster. Before its kubeconfig is written, it does not answer."""
        if not (self.cluster / "kubeconfig").is_file():
            raise httpx.ConnectError("the cluster is not installed")
        return cluster_response(self.cluster / "kubeconfig", path, method, body)


def test_local_storage_registry_and_time_servers(tmp_path: Path) -> None:
    user = OfUser(tmp_path, speed=600)
    with user.at_work(), Olm(user, interval=1, prepares=True):
        (user.inventory / "03-services.yml").write_text(yaml.safe_dump({"all": {"vars": SETTINGS}}), encoding="utf-8")
        user.play("install.yml").ended_well()
        assert user.kube(REGISTRY)["spec"]["storage"] == {"pvc": {"claim": "image-registry-storage"}}
        assert user.kube(CLAIM)["status"]["phase"] == "Bound"
        (file,) = user.kube(CHRONY)["spec"]["config"]["storage"]["files"]
        assert "server ntp1.example.com" in b64decode(file["contents"]["source"].partition("base64,")[2]).decode()
        user.play("install.yml").changed_nothing()
        user.leaves_nothing()
