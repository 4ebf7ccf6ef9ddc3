# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes that run routers, and those that may.

Routers are the pods of the default IngressController. On the platforms none and external they use the network of their nodes, so a node
without a router answers on none of the ports of ingress. Where they may run is in the pod template of their Deployment, which the ingress
operator writes from the IngressController, or from the defaults of the installation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import is_ready

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

INGRESS_CONTROLLER = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers/default"
ROUTER_PODS = "/api/v1/namespaces/openshift-ingress/pods"
ROUTER_DEPLOYMENT = "/apis/apps/v1/namespaces/openshift-ingress/deployments/router-default"
INGRESS_SERVICE = "/api/v1/namespaces/openshift-ingress/services/equinix-metal"
"""The Service of type LoadBalancer in front of the routers, of a cluster whose MetalLB announces the address of ingress."""
ROUTER_LABEL = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"

SYSTEM_TAINTS = "node.kubernetes.io/"
"""Taints that Kubernetes sets while a node is cordoned or not ready. They do not decide where routers are configured to run."""


def router_nodes(pods: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the nodes with a router that is ready and not being deleted."""
    return {
        text(mapping(pod.get("spec")).get("nodeName"))
        for pod in pods
        if is_ready(pod) and not mapping(pod.get("metadata")).get("deletionTimestamp")
    }


def may_run_router(deployment: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Return whether a node has the labels that the routers' Deployment selects, and no taint that its pods do not tolerate."""
    template = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    labels = mapping(mapping(node.get("metadata")).get("labels"))
    if not template or any(labels.get(key) != value for key, value in mapping(template.get("nodeSelector")).items()):
        return False
    taints = [
        taint
        for taint in mappings(mapping(node.get("spec")).get("taints"))
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not text(taint.get("key")).startswith(SYSTEM_TAINTS)
    ]
    return all(any(tolerates(toleration, taint) for toleration in mappings(template.get("tolerations"))) for taint in taints)


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return toleration.get("key") == taint.get("key") and text(toleration.get("value")) == text(taint.get("value"))


def read_routers(client: ClusterClient, nodes: Sequence[dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return ``router``, ``may_run_router`` and ``ingress_addresses`` by the name of each Node object, and what is waited for.

    Routers are waited for on nodes that can take one now: as many as are configured, or as such nodes exist. After a change of the
    IngressController they are those of its new placement.
    """
    # Before the Deployment: what the operator has reported, it has applied.
    controller = client.get(INGRESS_CONTROLLER) or {}
    deployment = client.get(ROUTER_DEPLOYMENT) or {}
    running = router_nodes(client.objects(ROUTER_PODS, labels=ROUTER_LABEL))
    status = mapping((client.get(INGRESS_SERVICE) or {}).get("status"))
    addresses = [text(entry.get("ip")) for entry in mappings(mapping(status.get("loadBalancer")).get("ingress"))]
    routers: dict[str, dict[str, Any]] = {
        text(mapping(node.get("metadata")).get("name")): {
            "ingress_addresses": addresses,
            "router": text(mapping(node.get("metadata")).get("name")) in running,
            "may_run_router": may_run_router(deployment, node),
        }
        for node in nodes
    }
    # A new pod can be placed on these now.
    schedulable = [node for node in nodes if is_ready(node) and mapping(node.get("spec")).get("unschedulable") is not True]
    able = [node for node in schedulable if may_run_router(deployment, node)]
    replicas = mapping(deployment.get("spec")).get("replicas")
    desired = min(replicas if isinstance(replicas, int) else 0, len(able))
    pending = [f"{len(running)} of {desired} routers are ready"] if desired > len(running) else []
    return routers, _rollout(controller, deployment) or pending


def _rollout(controller: Mapping[str, Any], deployment: Mapping[str, Any]) -> list[str]:
    """Return which change of the IngressController has not reached the routers yet, by the rules of ``kubectl rollout status``."""
    if _is_unobserved(controller):
        return ["the ingress operator has not applied the change of the IngressController default"]
    status = mapping(deployment.get("status"))
    updated, desired, existing = (
        number if isinstance(number, int) else 0
        for number in (status.get("updatedReplicas"), mapping(deployment.get("spec")).get("replicas"), status.get("replicas"))
    )
    if _is_unobserved(deployment) or updated < desired or existing > updated:
        return [f"{updated} of {desired} routers have the placement of the IngressController default"]
    return []


def _is_unobserved(item: Mapping[str, Any]) -> bool:
    """Return whether an object has changed since its controller has reported its status."""
    generation, observed = mapping(item.get("metadata")).get("generation"), mapping(item.get("status")).get("observedGeneration")
    return isinstance(generation, int) and isinstance(observed, int) and observed < generation
