"""What OLM, MetalLB and LVM Storage do at an API server, as far as the role services can see it: a thread that reacts to Subscriptions."""

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import httpx
import yaml

from tests.cluster.control_plane import START_LIMIT

CRDS = Path(__file__).resolve().parent / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OPERATORS = "/apis/operators.coreos.com/v1alpha1"
REGISTRY = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster"
CLAIMS = "/api/v1/persistentvolumeclaims"
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "lvms-vg1", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "topolvm.io",
    "volumeBindingMode": "WaitForFirstConsumer",
}
PACKAGES = {"metallb-operator": ("metallb", "stable"), "lvms-operator": ("lvms", "stable-4.20")}
"""The packages of the catalogue: the file with their custom resources, and their only channel."""


class Cluster(Protocol):
    """A cluster's API, called as an administrator."""

    def call(self, method: str, path: str, body: Any = None) -> httpx.Response: ...


def prepare(cluster: Cluster) -> None:
    """Create what a cluster has of OLM when it is installed: its custom resources and a catalogue."""
    define(cluster, "olm")
    _create(cluster, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-marketplace"}})
    catalog = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "redhat-operators"}}
    _create(cluster, f"{OPERATORS}/namespaces/openshift-marketplace/catalogsources", {**catalog, "spec": {"sourceType": "grpc"}})


def _create(cluster: Cluster, path: str, body: dict[str, Any]) -> None:
    answer = cluster.call("POST", path, body)
    if answer.status_code != 409:
        answer.raise_for_status()


def define(cluster: Cluster, name: str) -> None:
    """Create the custom resources of a file of ``crds``, and return when the API server serves them."""
    kinds = yaml.safe_load((CRDS / f"{name}.yml").read_text(encoding="utf-8"))
    for each in kinds:
        _create(cluster, DEFINITIONS, definition(**each))
    waiting = threading.Event()
    for _attempt in range(int(START_LIMIT / 0.05)):
        if all(cluster.call("GET", f"/apis/{each['group']}/{each['version']}/{each['plural']}").status_code == 200 for each in kinds):
            return
        waiting.wait(0.05)
    raise TimeoutError(f"the custom resources of {name} are not served")


def definition(
    *,
    group: str,
    kind: str,
    plural: str,
    version: str,
    scope: str = "Namespaced",
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    required: list[str] | None = None,
) -> dict[str, Any]:
    """Return a CustomResourceDefinition. Fields that it does not list are unknown, so strict validation refuses them."""
    properties = {
        "spec": {"type": "object", "properties": spec or {}, **({"required": required} if required else {})},
        "status": {"type": "object", "properties": status or {}},
    }
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


class Olm:
    """OLM with a catalogue, MetalLB and LVM Storage. Used as ``with Olm(cluster):``.

    ``interval``: seconds between two reads. ``prepares``: the cluster is being installed, and gets OLM as soon as its API answers.
    """

    def __init__(self, cluster: Cluster, *, interval: float = 0.1, prepares: bool = False) -> None:
        self._cluster = cluster
        self._interval = interval
        self._prepares = prepares
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._problem: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ends.set()
        self._thread.join()
        if self._problem is not None and error is None:
            raise self._problem

    def _run(self) -> None:
        try:
            while not self._ends.wait(self._interval):
                # An API server that is being installed, or restarted.
                with suppress(httpx.TransportError):
                    self._step()
        except Exception as problem:  # noqa: BLE001 - raised by __exit__
            self._problem = problem

    def _step(self) -> None:
        if self._prepares:
            prepare(self._cluster)
            self._prepares = False
        for subscription in self._items(f"{OPERATORS}/subscriptions"):
            self._install(subscription)

    def _install(self, subscription: dict[str, Any]) -> None:
        """One step: resolve, install, or let the operator report its object as ready."""
        namespace, package = subscription["metadata"]["namespace"], subscription["spec"]["name"]
        file, channel = PACKAGES[package]
        if subscription["spec"]["channel"] != channel:
            message = f"no operators found in channel {subscription['spec']['channel']} of package {package} in the catalog"
            reason = {"type": "ResolutionFailed", "status": "True", "reason": "ConstraintsNotSatisfiable", "message": message}
            self._status(f"{OPERATORS}/namespaces/{namespace}/subscriptions", subscription, {"conditions": [reason]})
            return
        versions = f"{OPERATORS}/namespaces/{namespace}/clusterserviceversions"
        name = f"{package}.v4.20.0"
        if not subscription.get("status"):
            body = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": name}, "spec": {}}
            made = self._cluster.call("POST", versions, body)
            made.raise_for_status()
            self._status(versions, made.json(), {"phase": "Installing", "message": "installing: waiting for deployment"})
            self._status(f"{OPERATORS}/namespaces/{namespace}/subscriptions", subscription, {"installedCSV": name, "currentCSV": name})
            return
        define(self._cluster, file)
        version = self._cluster.call("GET", f"{versions}/{name}").json()
        if version["status"]["phase"] != "Succeeded":
            self._status(versions, version, {"phase": "Succeeded", "message": "install strategy completed with no errors"})
        self._report(namespace)

    def _report(self, namespace: str) -> None:
        available = {"conditions": [{"type": "Available", "status": "True", "reason": "Available"}]}
        for path, status in (("metallb.io/v1beta1", available), ("lvm.topolvm.io/v1alpha1", {"state": "Ready", "ready": True})):
            plural = "metallbs" if path.startswith("metallb") else "lvmclusters"
            for each in self._items(f"/apis/{path}/namespaces/{namespace}/{plural}"):
                if each.get("status") != status:
                    self._status(f"/apis/{path}/namespaces/{namespace}/{plural}", each, status)
                if plural == "lvmclusters":
                    self._provision()
                else:
                    self._assign()

    def _assign(self) -> None:
        """Give the addresses of pools to the Services that request them, as MetalLB's controller does."""
        pools = [pool["spec"]["addresses"] for pool in self._items("/apis/metallb.io/v1beta1/ipaddresspools")]
        for service in self._items("/api/v1/services"):
            address = service["spec"].get("loadBalancerIP")
            status = {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}
            if address and any(f"{address}/32" in addresses for addresses in pools) and service["status"] != status:
                self._status(f"/api/v1/namespaces/{service['metadata']['namespace']}/services", service, status)

    def _provision(self) -> None:
        """Create the storage class, and the volume of the registry's claim once its pod needs that (volumeBindingMode)."""
        _create(self._cluster, "/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS)
        config = self._cluster.call("GET", REGISTRY)
        storage = config.json()["spec"].get("storage") or {} if config.status_code == 200 else {}
        used = (storage.get("pvc") or {}).get("claim")
        for claim in self._items(CLAIMS):
            metadata, spec = claim["metadata"], claim["spec"]
            if metadata["name"] == used and spec.get("storageClassName") == "lvms-vg1" and not spec.get("volumeName"):
                volume = {
                    "capacity": spec["resources"]["requests"],
                    "accessModes": spec["accessModes"],
                    "storageClassName": "lvms-vg1",
                    "csi": {"driver": "topolvm.io", "volumeHandle": metadata["uid"]},
                    "claimRef": {
                        "kind": "PersistentVolumeClaim",
                        "apiVersion": "v1",
                        **{key: metadata[key] for key in ("namespace", "name", "uid")},
                    },
                }
                body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pvc-{metadata['uid']}"}, "spec": volume}
                _create(self._cluster, "/api/v1/persistentvolumes", body)

    def _items(self, path: str) -> list[dict[str, Any]]:
        answer = self._cluster.call("GET", path)
        found: list[dict[str, Any]] = answer.json()["items"] if answer.status_code == 200 else []
        return found

    def _status(self, path: str, item: dict[str, Any], status: dict[str, Any]) -> None:
        answer = self._cluster.call("PUT", f"{path}/{item['metadata']['name']}/status", {**item, "status": status})
        # The role has patched the object meanwhile: the next step reads it again.
        if answer.status_code != 409:
            answer.raise_for_status()
