# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``create manifests`` writes: the cluster's first objects, by file name.

File names and contents follow the installer's for the platforms none and external: no Machine objects, Infrastructure and
Scheduler in the form that users edit.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from .catalogue import Release
from .certificates import KeyPair
from .documents import first_document
from .errors import InstallerError
from .host_files import digest_mirror_set, proxy_spec, proxy_status
from .install_config import InstallConfig

SCHEDULER: Final = "manifests/cluster-scheduler-02-config.yml"
CLUSTER_VERSION: Final = "manifests/cvo-overrides.yaml"
ORIGINAL_OVERRIDES: Final = "original_cvo_overrides.patch"


@dataclass(frozen=True)
class ClusterIdentity:
    """Made once per asset directory."""

    cluster_id: str
    infra_id: str


def manifests(
    config: InstallConfig,
    identity: ClusterIdentity,
    release: Release,
    pairs: Mapping[str, KeyPair],
    pointers: Mapping[str, bytes],
) -> dict[str, bytes]:
    """Return path -> content for ``manifests/`` and ``openshift/``.

    ``pairs`` has root-ca and machine-config-server; ``pointers`` role -> pointer Ignition config.
    """
    objects: dict[str, dict[str, Any]] = {
        "manifests/cluster-config.yaml": _config_map(
            "kube-system", "cluster-config-v1", {"install-config": config.dump(secrets=False).decode()}
        ),
        "manifests/cluster-dns-02-config.yml": _config("DNS", {"baseDomain": config.cluster_domain}),
        "manifests/cluster-infrastructure-02-config.yml": _infrastructure(config, identity),
        "manifests/cluster-ingress-02-config.yml": _config(
            "Ingress",
            {"domain": f"apps.{config.cluster_domain}", "loadBalancer": {"platform": {"type": ""}}},
            # A single node without workers keeps the routers when workers are added later.
            {"defaultPlacement": "ControlPlane" if (config.control_plane_replicas, config.compute_replicas) == (1, 0) else "Workers"},
        ),
        "manifests/cluster-network-02-config.yml": _network(config),
        "manifests/cluster-proxy-01-config.yaml": {**_config("Proxy", proxy_spec(config)), "status": proxy_status(config)},
        SCHEDULER: _config("Scheduler", {"mastersSchedulable": config.compute_replicas == 0, "policy": {"name": ""}}),
        CLUSTER_VERSION: {
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"namespace": "openshift-cluster-version", "name": "version"},
            "spec": {"channel": f"stable-{release.minor}", "clusterID": identity.cluster_id},
        },
        "manifests/kube-cloud-config.yaml": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "kube-cloud-cfg", "namespace": "kube-system"},
            "type": "Opaque",
            "data": {"config": None},
        },
        "manifests/kube-system-configmap-root-ca.yaml": _config_map(
            "kube-system", "root-ca", {"ca.crt": pairs["root-ca"].certificate.decode()}
        ),
        "manifests/machine-config-server-ca-configmap.yaml": _config_map(
            "openshift-machine-config-operator",
            "machine-config-server-ca",
            {"ca-bundle.crt": pairs["root-ca"].certificate.decode()},
        ),
        "manifests/machine-config-server-ca-secret.yaml": _secret(
            "openshift-machine-config-operator",
            "machine-config-server-ca",
            {"tls.crt": pairs["root-ca"].certificate, "tls.key": pairs["root-ca"].key},
            "kubernetes.io/tls",
        ),
        "manifests/machine-config-server-tls-secret.yaml": _secret(
            "openshift-machine-config-operator",
            "machine-config-server-tls",
            {"tls.crt": pairs["machine-config-server"].certificate, "tls.key": pairs["machine-config-server"].key},
            "kubernetes.io/tls",
        ),
        "manifests/openshift-config-secret-pull-secret.yaml": _secret(
            "openshift-config",
            "pull-secret",
            {".dockerconfigjson": str(config.data["pullSecret"]).encode()},
            "kubernetes.io/dockerconfigjson",
        ),
        # The real one stores a bcrypt hash here; the cluster of the sandbox accepts no login by password.
        "openshift/99_kubeadmin-password-secret.yaml": _secret("kube-system", "kubeadmin", {"kubeadmin": b"!"}),
        "openshift/99_feature-gate.yaml": _feature_gate(config),
        "openshift/openshift-install-manifests.yaml": _config_map(
            "openshift-config",
            "openshift-install-manifests",
            # What the installer was built as: the same for all releases of a minor version.
            {"invoker": "user", "version": f"v{release.minor}.0"},
        ),
    }
    if config.data.get("additionalTrustBundle"):
        bundle = {"ca-bundle.crt": str(config.data["additionalTrustBundle"])}
        objects["manifests/user-ca-bundle-config.yaml"] = _config_map("openshift-config", "user-ca-bundle", bundle)
    mirrors = digest_mirror_set(config)
    if mirrors is not None:
        objects["manifests/image-digest-mirror-set.yaml"] = mirrors
    for role, pointer in pointers.items():
        objects[f"openshift/99_openshift-cluster-api_{role}-user-data-secret.yaml"] = _secret(
            "openshift-machine-api", f"{role}-user-data", {"disableTemplating": b"true", "userData": pointer}, "Opaque"
        )
        if config.data.get("sshKey"):
            name = f"99-{role}-ssh"
            ignition = {"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [str(config.data["sshKey"])]}]}}
            objects[f"openshift/99_openshift-machineconfig_{name}.yaml"] = _machine_config(name, role, ignition)
        if len(config.data["networking"]["serviceNetwork"]) == 2:
            name = f"99-dual-stack-{role}"
            objects[f"openshift/99_openshift-machineconfig_{name}.yaml"] = _machine_config(name, role, _DUAL_STACK, ["ip=dhcp,dhcp6"])
    return {path: yaml.safe_dump(value, sort_keys=False, width=1 << 20).encode() for path, value in sorted(objects.items())}


def ignored_by_cvo(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return ClusterVersion with an override for each object of the manifests, and the patch that ends these overrides.

    So the cluster version operator does not change the objects while the bootstrap machine creates them.
    """
    overrides: list[dict[str, Any]] = []
    seen: dict[tuple[str, ...], str] = {}
    cluster_version: dict[str, Any] = {}
    for path, content in files.items():
        manifest = _object(path, content)
        group, slash, _version = str(manifest.get("apiVersion", "")).partition("/")
        metadata = manifest.get("metadata") or {}
        identity = (group if slash else "", str(manifest["kind"]), str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        if identity in seen:
            words = " ".join(f"{word} {value}" for word, value in zip(("group", "kind", "namespace", "name"), identity, strict=True))
            raise InstallerError(f"{_FAILED}multiple manifests for {words}: {seen[identity]}, {path}", level="error")
        seen[identity] = path
        if path == CLUSTER_VERSION:
            cluster_version = manifest
            continue
        overrides.append(
            {"kind": identity[1], "group": identity[0], "namespace": identity[2], "name": identity[3], "unmanaged": True},
        )
    original = cluster_version["spec"].get("overrides")
    cluster_version["spec"]["overrides"] = overrides + list(original or [])
    return {
        CLUSTER_VERSION: yaml.safe_dump(cluster_version, sort_keys=False, width=1 << 20).encode(),
        ORIGINAL_OVERRIDES: json.dumps({"spec": {"overrides": original}}, separators=(",", ":")).encode(),
    }


_FAILED: Final = (
    'failed to fetch Bootstrap Ignition Config: failed to fetch dependency of "Bootstrap Ignition Config": failed to generate asset'
    ' "CVO Ignore": '
)


def _object(path: str, content: bytes) -> dict[str, Any]:
    """Return the first object of a manifest; the real one reads no other, but carries the file along as it is."""
    try:
        document = first_document(content)
    except yaml.YAMLError as error:
        raise InstallerError(f'{_FAILED}could not unmarshal "{path}": error converting YAML to JSON: {error}', level="error") from error
    if not isinstance(document, dict) or not document.get("kind"):
        text = json.dumps(document, separators=(",", ":"))
        raise InstallerError(f"{_FAILED}could not unmarshal \"{path}\": Object 'Kind' is missing in '{text}'", level="error")
    return document


def _config(kind: str, spec: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": kind,
        "metadata": {"creationTimestamp": None, "name": "cluster"},
        "spec": dict(spec),
        "status": dict(status or {}),
    }


def _feature_gate(config: InstallConfig) -> dict[str, Any]:
    spec: dict[str, Any] = {"featureSet": config.data["featureSet"]} if config.data.get("featureSet") else {}
    gates = [str(gate).partition("=") for gate in config.data.get("featureGates") or []]
    if gates:
        chosen = {word: [name for name, _equals, value in gates if value.lower() == word] for word in ("true", "false")}
        spec["customNoUpgrade"] = {key: names for key, names in (("enabled", chosen["true"]), ("disabled", chosen["false"])) if names}
    manifest = _config("FeatureGate", spec)
    manifest["status"] = {"featureGates": None}
    return manifest


def _config_map(namespace: str, name: str, data: Mapping[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _secret(namespace: str, name: str, data: Mapping[str, bytes], kind: str = "Opaque") -> dict[str, Any]:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "type": kind, "data": encoded}


def _infrastructure(config: InstallConfig, identity: ClusterIdentity) -> dict[str, Any]:
    topology = "SingleReplica" if config.control_plane_replicas == 1 else "HighlyAvailable"
    workers = config.compute_replicas
    manifest = _config("Infrastructure", {"cloudConfig": {"name": ""}, "platformSpec": {"type": "None"}})
    status: dict[str, Any] = {
        "apiServerInternalURI": f"https://api-int.{config.cluster_domain}:6443",
        "apiServerURL": f"https://api.{config.cluster_domain}:6443",
        "controlPlaneTopology": topology,
        "cpuPartitioning": "None",
        "etcdDiscoveryDomain": "",
        "infrastructureName": identity.infra_id,
        "infrastructureTopology": ("SingleReplica" if workers == 1 else "HighlyAvailable") if workers else topology,
        "platform": "None",
        "platformStatus": {"type": "None"},
    }
    if config.platform == "external":
        external = config.data["platform"]["external"]
        manifest["spec"]["platformSpec"] = {"external": {"platformName": external["platformName"]}, "type": "External"}
        state = {"state": external["cloudControllerManager"] or "None"}
        status["platform"] = "External"
        status["platformStatus"] = {"external": {"cloudControllerManager": state}, "type": "External"}
    manifest["status"] = status
    return manifest


def _network(config: InstallConfig) -> dict[str, Any]:
    networking = config.data["networking"]
    return _config(
        "Network",
        {
            "clusterNetwork": networking["clusterNetwork"],
            "externalIP": {"policy": {}},
            "networkType": networking["networkType"],
            "serviceNetwork": networking["serviceNetwork"],
        },
    )


_DUAL_STACK: Final = {
    "storage": {
        "files": [
            {
                "path": "/etc/kubernetes/kubelet-workaround",
                "overwrite": True,
                "mode": 644,  # decimal, as the real one has it
                "contents": {"source": "data:text/plain;charset=utf-8;base64,S1VCRUxFVF9OT0RFX0lQUz0wLjAuMC4w"},
            }
        ]
    }
}


def _machine_config(name: str, role: str, ignition: Mapping[str, Any], arguments: list[str] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"creationTimestamp": None, "labels": {"machineconfiguration.openshift.io/role": role}, "name": name},
        "spec": {
            "baseOSExtensionsContainerImage": "",
            "config": {"ignition": {"version": "3.2.0"}, **ignition},
            "extensions": None,
            "fips": False,
            "kernelArguments": arguments,
            "kernelType": "",
            "osImageURL": "",
        },
    }
