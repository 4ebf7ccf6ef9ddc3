"""The image registry is as chosen, and a second run changes nothing."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.services.image_registry import registry_changes


def config(**spec: Any) -> dict[str, Any]:
    return {"kind": "Config", "metadata": {"name": "cluster"}, "spec": {"logLevel": "Normal", **spec}}


REMOVED = config(managementState="Removed", replicas=1, rolloutStrategy="RollingUpdate", storage={})
EMPTYDIR = config(managementState="Managed", replicas=1, rolloutStrategy="Recreate", storage={"emptyDir": {}, "managementState": "Managed"})
PVC = config(managementState="Managed", replicas=1, rolloutStrategy="Recreate", storage={"pvc": {"claim": "image-registry-storage"}})
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "image-registry-storage"}}


@pytest.mark.parametrize(
    ("choice", "current", "kinds"),
    [
        ("removed", [REMOVED], []),
        ("emptydir", [EMPTYDIR], []),
        ("emptydir", [PVC, CLAIM], ["Config"]),
        ("pvc", [REMOVED], ["PersistentVolumeClaim", "Config"]),
        ("pvc", [REMOVED, CLAIM], ["Config"]),
        ("pvc", [PVC, CLAIM], []),
    ],
)
def test_only_what_differs_is_written(choice: str, current: list[dict[str, Any]], kinds: list[str]) -> None:
    assert [each["kind"] for each in registry_changes(choice, current, "100Gi")] == kinds


def test_only_one_storage_remains() -> None:
    (changed,) = registry_changes("emptydir", [PVC], "100Gi")
    assert changed["spec"]["storage"] == {"emptyDir": {}, "pvc": None}
