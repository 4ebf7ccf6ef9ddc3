# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``create manifests`` writes: the cluster's first objects, by file name.

File names and contents follow the installer's for the platforms none and external: no Machine objects, Infrastructure and
Scheduler as users know (and edit) them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from .catalogue import Release
from .certificates import KeyPair
from .host_files import digest_mirror_set, proxy_spec, proxy_status
from .install_config import InstallConfig

SCHEDULER: Final = "manifests/cluster-scheduler-02-config.yml"


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
        "manifests/cvo-overrides.yaml": {
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"namespace": "openshift-cluster-version", "name": "version"},
            "spec": {"channel": f"stable-{release.minor}", "clusterID": identity.cluster_id},
        },
        "manifests/kube-cloud-config.yaml": _config_map("openshift-config-managed", "kube-cloud-config", {}),
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
        # The real one stores a bcrypt hash here; the cluster of the sandbox lets nobody log in by password.
        "openshift/99_kubeadmin-password-secret.yaml": _secret("kube-system", "kubeadmin", {"kubeadmin": b"!"}),
        "openshift/99_feature-gate.yaml": _feature_gate(config),
        "openshift/openshift-install-manifests.yaml": _config_map(
            "openshift-config", "openshift-install-manifests", {"invoker": "user", "version": f"v{release.version}"}
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
            objects[f"openshift/99_openshift-machineconfig_{name}.yaml"] = _ssh_machine_config(name, role, str(config.data["sshKey"]))
    return {path: yaml.safe_dump(value, sort_keys=False, width=1 << 20).encode() for path, value in sorted(objects.items())}


def masters_schedulable(files: Mapping[str, bytes]) -> bool:
    """Read the answer back from the (perhaps edited) scheduler manifest; without the file the API's default holds."""
    document = yaml.safe_load(files.get(SCHEDULER, b"{}")) or {}
    return bool((document.get("spec") or {}).get("mastersSchedulable", False))


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


def _ssh_machine_config(name: str, role: str, keys: str) -> dict[str, Any]:
    users = [{"name": "core", "sshAuthorizedKeys": [keys]}]
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"creationTimestamp": None, "labels": {"machineconfiguration.openshift.io/role": role}, "name": name},
        "spec": {
            "baseOSExtensionsContainerImage": "",
            "config": {"ignition": {"version": "3.2.0"}, "passwd": {"users": users}},
            "extensions": None,
            "fips": False,
            "kernelArguments": None,
            "kernelType": "",
            "osImageURL": "",
        },
    }
