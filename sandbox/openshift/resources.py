# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a new cluster beside the installer's manifests: kinds, namespaces, RBAC, pools."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sandbox.openshift import pki
from sandbox.openshift.api import Object
from sandbox.openshift.control_plane_keys import BOOTSTRAPPER, KUBELETS_CLIENT

CONFIG: Final = "/apis/config.openshift.io/v1"
OPERATOR: Final = "/apis/operator.openshift.io/v1"
MACHINE_CONFIGURATION: Final = "/apis/machineconfiguration.openshift.io/v1"
CLUSTER_VERSION: Final = f"{CONFIG}/clusterversions/version"
CLUSTER_OPERATORS: Final = f"{CONFIG}/clusteroperators"
POOLS: Final = f"{MACHINE_CONFIGURATION}/machineconfigpools"
MACHINE_CONFIGS: Final = f"{MACHINE_CONFIGURATION}/machineconfigs"
ETCD: Final = f"{OPERATOR}/etcds/cluster"
SCHEDULER: Final = f"{CONFIG}/schedulers/cluster"
BOOTSTRAP_STATUS: Final = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
REGISTRY: Final = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster"
REGISTRY_CLAIMS: Final = "/api/v1/namespaces/openshift-image-registry/persistentvolumeclaims"
NODE_CA_BUNDLE: Final = "/api/v1/namespaces/openshift-config-managed/configmaps/csr-controller-ca"
KUBELET_SIGNER: Final = "/api/v1/namespaces/openshift-kube-controller-manager-operator/secrets/csr-signer"
SERVING_SIGNER: Final = "/api/v1/namespaces/openshift-kube-apiserver-operator/secrets/loadbalancer-serving-signer"
CONSOLE_ROUTE: Final = "/apis/route.openshift.io/v1/namespaces/openshift-console/routes/console"

ETCD_NAMESPACE: Final = "openshift-etcd"
ETCD_PODS: Final = f"/api/v1/namespaces/{ETCD_NAMESPACE}/pods"
ETCD_SECRETS: Final = f"/api/v1/namespaces/{ETCD_NAMESPACE}/secrets"

ROLE_LABEL: Final = "node-role.kubernetes.io/"
MACHINE_CONFIG_ANNOTATION: Final = "machineconfiguration.openshift.io/"
APPLIES_CONFIGS: Final = "sandbox/applies-machine-configs"
"""Annotation of the Node of a machine that gets the configs of its pool. For other Nodes the operators wait as long as that takes."""

_NAMESPACES: Final = (
    "openshift",
    "openshift-apiserver",
    "openshift-authentication",
    "openshift-cluster-machine-approver",
    "openshift-cluster-version",
    "openshift-config",
    "openshift-config-managed",
    "openshift-console",
    "openshift-dns",
    "openshift-etcd",
    "openshift-image-registry",
    "openshift-infra",
    "openshift-ingress",
    "openshift-ingress-operator",
    "openshift-kube-apiserver",
    "openshift-kube-apiserver-operator",
    "openshift-kube-controller-manager",
    "openshift-kube-controller-manager-operator",
    "openshift-kube-scheduler",
    "openshift-machine-api",
    "openshift-machine-config-operator",
    "openshift-marketplace",
    "openshift-monitoring",
    "openshift-multus",
    "openshift-network-operator",
    "openshift-ovn-kubernetes",
)


@dataclass(frozen=True)
class Kind:
    """A custom resource; its content is free, as nothing in the sandbox depends on OpenShift's validation of it."""

    group: str
    kind: str
    plural: str
    namespaced: bool = False
    short: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    version: str = "v1"

    def definition(self) -> Object:
        """Return its CustomResourceDefinition."""
        version = {
            "name": self.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "subresources": {"status": {}},
        }
        if self.columns:
            version["additionalPrinterColumns"] = [{"name": name, "type": "string", "jsonPath": path} for name, path in self.columns]
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": {
                    "kind": self.kind,
                    "listKind": f"{self.kind}List",
                    "plural": self.plural,
                    "singular": self.kind.lower(),
                    "shortNames": list(self.short),
                },
                "versions": [version],
            },
        }


def _condition(kind: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].status'


def _config_kinds() -> Iterator[Kind]:
    for kind, plural in (
        ("APIServer", "apiservers"),
        ("Authentication", "authentications"),
        ("Build", "builds"),
        ("Console", "consoles"),
        ("DNS", "dnses"),
        ("FeatureGate", "featuregates"),
        ("Image", "images"),
        ("ImageDigestMirrorSet", "imagedigestmirrorsets"),
        ("ImageTagMirrorSet", "imagetagmirrorsets"),
        ("Infrastructure", "infrastructures"),
        ("Ingress", "ingresses"),
        ("Network", "networks"),
        ("Node", "nodes"),
        ("OAuth", "oauths"),
        ("OperatorHub", "operatorhubs"),
        ("Project", "projects"),
        ("Proxy", "proxies"),
        ("Scheduler", "schedulers"),
    ):
        yield Kind("config.openshift.io", kind, plural)
    yield Kind(
        "config.openshift.io",
        "ClusterVersion",
        "clusterversions",
        columns=(
            ("Version", '.status.history[?(@.state=="Completed")].version'),
            ("Available", _condition("Available")),
            ("Progressing", _condition("Progressing")),
            ("Status", '.status.conditions[?(@.type=="Progressing")].message'),
        ),
    )
    yield Kind(
        "config.openshift.io",
        "ClusterOperator",
        "clusteroperators",
        short=("co",),
        columns=(
            ("Version", '.status.versions[?(@.name=="operator")].version'),
            ("Available", _condition("Available")),
            ("Progressing", _condition("Progressing")),
            ("Degraded", _condition("Degraded")),
            ("Message", '.status.conditions[?(@.type=="Available")].message'),
        ),
    )


KINDS: Final = (
    *_config_kinds(),
    *(
        Kind("operator.openshift.io", kind, plural)
        for kind, plural in (
            ("Authentication", "authentications"),
            ("CloudCredential", "cloudcredentials"),
            ("Console", "consoles"),
            ("DNS", "dnses"),
            ("Etcd", "etcds"),
            ("KubeAPIServer", "kubeapiservers"),
            ("KubeControllerManager", "kubecontrollermanagers"),
            ("KubeScheduler", "kubeschedulers"),
            ("MachineConfiguration", "machineconfigurations"),
            ("Network", "networks"),
            ("Storage", "storages"),
        )
    ),
    Kind("operator.openshift.io", "IngressController", "ingresscontrollers", namespaced=True),
    Kind("imageregistry.operator.openshift.io", "Config", "configs"),
    Kind("machineconfiguration.openshift.io", "MachineConfig", "machineconfigs", short=("mc",)),
    Kind("machineconfiguration.openshift.io", "KubeletConfig", "kubeletconfigs"),
    Kind("machineconfiguration.openshift.io", "ContainerRuntimeConfig", "containerruntimeconfigs", short=("ctrcfg",)),
    Kind(
        "machineconfiguration.openshift.io",
        "MachineConfigPool",
        "machineconfigpools",
        short=("mcp",),
        columns=(
            ("Config", ".status.configuration.name"),
            ("Updated", _condition("Updated")),
            ("Updating", _condition("Updating")),
            ("Degraded", _condition("Degraded")),
            ("MachineCount", ".status.machineCount"),
            ("ReadyMachineCount", ".status.readyMachineCount"),
            ("UpdatedMachineCount", ".status.updatedMachineCount"),
        ),
    ),
    Kind("route.openshift.io", "Route", "routes", namespaced=True, columns=(("Host", ".spec.host"),)),
    Kind("security.openshift.io", "SecurityContextConstraints", "securitycontextconstraints", short=("scc",)),
    Kind("operators.coreos.com", "CatalogSource", "catalogsources", namespaced=True, version="v1alpha1", short=("catsrc",)),
    Kind("monitoring.coreos.com", "ServiceMonitor", "servicemonitors", namespaced=True),
    Kind("monitoring.coreos.com", "PrometheusRule", "prometheusrules", namespaced=True),
)


def namespaces() -> list[Object]:
    """Return the namespaces that manifests and operators use."""
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES]


def rights() -> list[Object]:
    """Return the cluster roles and bindings beside Kubernetes' own.

    The cluster approves no first join (``nodeclient`` is not bound), only renewals (``selfnodeclient`` is bound to all nodes): OpenShift's
    machine-config-operator and controller-manager manifests.
    """
    namespace, name = BOOTSTRAPPER.split(":")[2:]

    def binding(name: str, role: str, kind: str, subject: str) -> Object:
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}]
        if kind == "ServiceAccount":
            subjects = [{"kind": kind, "name": subject, "namespace": namespace}]
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        }

    renewal = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        binding("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", "ServiceAccount", name),
        binding("system-bootstrap-node-renewal", renewal, "Group", "system:nodes"),
        binding("cluster-admins", "cluster-admin", "Group", "system:cluster-admins"),
        binding("system-admin", "cluster-admin", "User", "system:admin"),
        binding("kube-apiserver", "system:kubelet-api-admin", "User", KUBELETS_CLIENT),
    ]


def pool(name: str) -> Object:
    """Return one of the two pools every cluster has."""
    role = MACHINE_CONFIG_ANNOTATION + "role"
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": {f"pools.operator.machineconfiguration.openshift.io/{name}": ""}},
        "spec": {
            "machineConfigSelector": {"matchLabels": {role: name}},
            "nodeSelector": {"matchLabels": {f"{ROLE_LABEL}{name}": ""}},
            "paused": False,
        },
    }


def machine_config_server() -> Object:
    """Return the DaemonSet of the machine config servers, one on each master (machine-config-operator's manifests)."""
    labels = {"k8s-app": "machine-config-server"}
    tolerated = [
        ("node-role.kubernetes.io/master", "NoSchedule"),
        *(("node.kubernetes.io/not-ready", effect) for effect in ("NoSchedule", "NoExecute")),
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "machine-config-server", "namespace": "openshift-machine-config-operator", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "nodeSelector": {f"{ROLE_LABEL}master": ""},
                    "tolerations": [{"key": key, "operator": "Exists", "effect": effect} for key, effect in tolerated],
                    "containers": [{"name": "machine-config-server", "image": "quay.io/openshift-release-dev/machine-config-operator"}],
                },
            },
        },
    }


def user_data_secret(pool_name: str, domain: str, root_ca: bytes, version: str = "4.20") -> Object:
    """Return the pool's pointer as the machine-config-operator of a release keeps it: in its own newest spec, 3.5.0 since 4.19."""
    minor = tuple(int(part) for part in version.split(".")[:2])
    pointer = {
        "ignition": {
            "config": {"merge": [{"source": f"https://api-int.{domain}:22623/config/{pool_name}", "verification": {}}], "replace": {}},
            "proxy": {},
            "security": {
                "tls": {
                    "certificateAuthorities": [
                        {"source": f"data:text/plain;charset=utf-8;base64,{base64.b64encode(root_ca).decode()}", "verification": {}}
                    ]
                }
            },
            "timeouts": {},
            "version": "3.5.0" if minor >= (4, 19) else "3.4.0",
        },
        "passwd": {},
        "storage": {},
        "systemd": {},
    }
    return secret(
        "openshift-machine-api",
        f"{pool_name}-user-data-managed",
        {"userData": json.dumps(pointer).encode(), "disableTemplating": b"true"},
    )


def console_route(domain: str) -> Object:
    """Return the web console's route, as its ingress controller admitted it."""
    host = f"console-openshift-console.apps.{domain}"
    return {
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"name": "console", "namespace": "openshift-console"},
        "spec": {
            "host": host,
            "port": {"targetPort": "https"},
            "tls": {"termination": "reencrypt", "insecureEdgeTerminationPolicy": "Redirect"},
            "to": {"kind": "Service", "name": "console", "weight": 100},
            "wildcardPolicy": "None",
        },
    }


def config_map(namespace: str, name: str, data: dict[str, str]) -> Object:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def secret(namespace: str, name: str, data: dict[str, bytes], kind: str = "Opaque") -> Object:
    """Return a Secret."""
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "type": kind, "data": encoded}


def secret_data(item: Object) -> dict[str, bytes]:
    """Return the contents of a Secret."""
    return {key: base64.b64decode(value) for key, value in (item.get("data") or {}).items()}


def signer_secret(path: str, certificate: bytes, key: bytes) -> Object:
    """Return a signer's Secret as the operator that rotates it writes it: with the validity as annotations (library-go, certrotation)."""
    _namespaces, namespace, _secrets, name = path.rsplit("/", maxsplit=3)
    begins, ends = pki.validity(certificate)
    item = secret(namespace, name, {"tls.crt": certificate, "tls.key": key})
    moments = {"not-before": begins, "not-after": ends}
    item["metadata"]["annotations"] = {
        f"auth.openshift.io/certificate-{suffix}": moment.strftime("%Y-%m-%dT%H:%M:%SZ") for suffix, moment in moments.items()
    }
    return {**item, "type": "kubernetes.io/tls"}


def labels_of(item: Object) -> dict[str, str]:
    """Return the labels of an object."""
    return dict(item["metadata"].get("labels") or {})


def annotations_of(item: Object) -> dict[str, str]:
    """Return the annotations of an object."""
    return dict(item["metadata"].get("annotations") or {})


def condition_of(item: Object, kind: str) -> dict[str, Any] | None:
    """Return one of the conditions in an object's status."""
    for condition in (item.get("status") or {}).get("conditions") or []:
        if condition["type"] == kind:
            return dict(condition)
    return None


def is_ready(node: Object) -> bool:
    """Whether a Node is Ready."""
    condition = condition_of(node, "Ready")
    return condition is not None and condition["status"] == "True"


def selects(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """Whether a label selector matches (an absent or empty one selects nothing here, as in machine config pools)."""
    if not selector:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for expression in selector.get("matchExpressions") or []:
        value, values = labels.get(expression["key"]), expression.get("values") or []
        matches = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not matches.get(expression["operator"], False):
            return False
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))
