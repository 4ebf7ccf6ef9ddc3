# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ingress operator: the default IngressController, and the Deployment of its routers.

On the platforms none and external the routers use the network of their nodes (HostNetwork), so a node has at most one, and a node without
one answers on none of their ports. How many there are, and on which nodes, follows the IngressController's ``replicas`` and
``nodePlacement``, whose defaults follow the installer's manifests (cluster-ingress-operator, desiredRouterDeployment).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sandbox.openshift import resources
from sandbox.openshift.api import Object
from sandbox.openshift.resources import ROLE_LABEL, condition_of
from sandbox.openshift.router import PORTS
from sandbox.openshift.workloads import ROUTER_LABEL, STOPS_AFTER

if TYPE_CHECKING:
    from sandbox.openshift.cluster import Cluster

NAMESPACE: Final = "openshift-ingress"
CONTROLLER: Final = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers/default"
DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/router-default"
BUDGET: Final = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/router-default"
ROUTES: Final = "/apis/route.openshift.io/v1/routes"

# Simulated seconds in which a router that is being stopped still serves, while it reports that it is not ready.
_SHUTDOWN_DELAY: Final = 45
_GRACE: Final = 3600


@dataclass(frozen=True)
class IngressReport:
    """The routers of the default IngressController. ``problem``: why no router is available, empty if one is."""

    replicas: int
    available: int
    problem: str


class IngressOperator:
    """Applies the Deployment of the routers and writes the status of the IngressController."""

    def __init__(self, cluster: Cluster, domain: str, write_status: Callable[..., Any], conditions: Callable[..., Any]) -> None:
        self._cluster = cluster
        self._domain = domain
        self._write_status = write_status
        self._conditions = conditions
        self._applied: dict[str, Object] = {}

    async def round(self, nodes: int) -> IngressReport:
        """Update the Deployment from the IngressController; ``nodes``: number of Nodes, for messages."""
        api = self._cluster.api
        controller = await api.get(CONTROLLER)
        if controller is None:
            controller = await api.apply(CONTROLLER, _controller())
        spec = controller.get("spec") or {}
        infrastructure = await api.get(f"{resources.CONFIG}/infrastructures/cluster")
        ingress = await api.get(f"{resources.CONFIG}/ingresses/cluster")
        replicas, placement = _defaults(infrastructure, ingress)
        replicas = int(spec["replicas"]) if spec.get("replicas") is not None else replicas
        node_placement = spec.get("nodePlacement") or {}
        selector = node_placement.get("nodeSelector") or {"matchLabels": placement}
        labels = _as_labels(selector)
        if labels is not None:
            await self._apply(DEPLOYMENT, _deployment(replicas, labels, node_placement.get("tolerations") or []))
        if replicas > 1:
            await self._apply(BUDGET, _budget(replicas))
        elif self._applied.pop(BUDGET, None) is not None:
            await api.delete(BUDGET)
        self._cluster.routers.serve_hosts(self._domain, await api.items(ROUTES))
        deployment = await api.get(DEPLOYMENT) or {}
        available = int((deployment.get("status") or {}).get("availableReplicas") or 0)
        report = IngressReport(replicas, available, "" if available else _shortage(deployment, nodes))
        await self._report(controller, selector, report)
        return report

    async def _apply(self, path: str, item: Object) -> None:
        if self._applied.get(path) != item:
            await self._cluster.api.apply(path, item)
            self._applied[path] = item

    async def _report(self, controller: Object, selector: Mapping[str, Any], report: IngressReport) -> None:
        all_available = report.available >= report.replicas
        shortage = f"{report.available}/{report.replicas} of replicas are available"
        status = {
            "availableReplicas": report.available,
            "domain": f"apps.{self._domain}",
            "endpointPublishingStrategy": {
                "type": "HostNetwork",
                "hostNetwork": {"protocol": "TCP", "httpPort": PORTS["http"], "httpsPort": PORTS["https"], "statsPort": PORTS["stats"]},
            },
            "selector": f"{ROUTER_LABEL}=default",
            "observedGeneration": controller["metadata"].get("generation", 1),
            "conditions": self._conditions(
                "ingresscontroller default",
                {
                    "Admitted": ("True", "Valid", ""),
                    "DeploymentAvailable": ("False", "DeploymentUnavailable", report.problem)
                    if report.problem
                    else ("True", "DeploymentAvailable", "The deployment has Available status condition set to True"),
                    "DeploymentReplicasAllAvailable": ("True", "DeploymentReplicasAvailable", "All replicas are available")
                    if all_available
                    else ("False", "DeploymentReplicasNotAvailable", shortage),
                    "Available": ("False", "IngressControllerUnavailable", report.problem) if report.problem else ("True", "", ""),
                },
            ),
            "namespaceSelector": {},
            "routeSelector": {},
            "tlsProfile": {"minTLSVersion": "VersionTLS12"},
        }
        status["nodePlacement"] = {"nodeSelector": dict(selector)}
        base = {"apiVersion": "operator.openshift.io/v1", "kind": "IngressController"}
        metadata = {"name": "default", "namespace": "openshift-ingress-operator"}
        await self._write_status(CONTROLLER, {**base, "metadata": metadata}, status)


def _controller() -> Object:
    return {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "IngressController",
        "metadata": {
            "name": "default",
            "namespace": "openshift-ingress-operator",
            "finalizers": ["ingresscontroller.operator.openshift.io/finalizer-ingresscontroller"],
        },
        "spec": {},
    }


def _defaults(infrastructure: Object | None, ingress: Object | None) -> tuple[int, dict[str, str]]:
    """Return replicas and node labels of an IngressController without them.

    They follow the topology of the nodes that ``defaultPlacement`` chooses: one for SingleReplica, else two.
    """
    on_masters = ((ingress or {}).get("status") or {}).get("defaultPlacement") == "ControlPlane"
    topology = ((infrastructure or {}).get("status") or {}).get("controlPlaneTopology" if on_masters else "infrastructureTopology")
    role = "master" if on_masters else "worker"
    return 1 if topology == "SingleReplica" else 2, {"kubernetes.io/os": "linux", f"{ROLE_LABEL}{role}": ""}


def _as_labels(selector: Mapping[str, Any]) -> dict[str, str] | None:
    """Return a selector as labels, None if labels cannot express it (``LabelSelectorAsMap``): the Deployment is not changed then."""
    expressions = selector.get("matchExpressions") or []
    if any(expression["operator"] != "In" or len(expression.get("values") or []) != 1 for expression in expressions):
        return None
    return {**(selector.get("matchLabels") or {}), **{expression["key"]: expression["values"][0] for expression in expressions}}


def _deployment(replicas: int, node_labels: Mapping[str, str], tolerations: list[Any]) -> Object:
    labels = {ROUTER_LABEL: "default"}
    ports = [{"name": name, "containerPort": port, "hostPort": port, "protocol": "TCP"} for name, port in PORTS.items()]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "router-default", "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": labels, "annotations": {STOPS_AFTER: str(_SHUTDOWN_DELAY)}},
                "spec": {
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": _GRACE,
                    "nodeSelector": dict(node_labels),
                    "tolerations": tolerations,
                    "containers": [{"name": "router", "image": "quay.io/openshift-release-dev/router", "ports": ports}],
                },
            },
        },
    }


def _budget(replicas: int) -> Object:
    """Half of two routers may be missing, a quarter of more; a single one has no budget (cluster-ingress-operator)."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "router-default", "namespace": NAMESPACE},
        "spec": {"maxUnavailable": "50%" if replicas == 2 else "25%", "selector": {"matchLabels": {ROUTER_LABEL: "default"}}},
    }


def _shortage(deployment: Object, nodes: int) -> str:
    available = condition_of(deployment, "Available") or {}
    return available.get("message") or f"0/{nodes} nodes are available: {nodes} node(s) had untolerated taint(s)"
