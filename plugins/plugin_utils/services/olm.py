# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that the Operator Lifecycle Manager (OLM) installs: their Namespaces, OperatorGroups and Subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils.base.json_objects import mapping

CATALOGS = "openshift-marketplace"
"""Namespace of the CatalogSources for all namespaces."""

# Pods of both operators use the network or the disks of their host (OpenShift's pages on installing MetalLB and LVM Storage).
_LABELS = {"pod-security.kubernetes.io/enforce": "privileged", "openshift.io/cluster-monitoring": "true"}


@dataclass(frozen=True)
class Operator:
    """A package of a catalogue.

    ``channel`` may contain ``{minor}``, the minor version of the cluster, for example 4.20. ``namespaces`` are the default ones of the
    documentation, each with the first minor version of OpenShift 4 that has it. ``targets_own``: it watches its namespace alone.
    """

    package: str
    channel: str
    namespaces: Mapping[int, str]
    targets_own: bool


OPERATORS: Mapping[str, Operator] = {
    "metallb": Operator("metallb-operator", "stable", {0: "metallb-system"}, targets_own=False),
    "lvms": Operator("lvms-operator", "stable-{minor}", {0: "openshift-storage", 20: "openshift-lvm-storage"}, targets_own=True),
}
"""The operators by service. A catalogue has the versions for one minor version of OpenShift, so a channel is enough to pin one."""


def operator_subscription(
    service: str, current: Iterable[Mapping[str, Any]], version: str, catalog: str, channel: str = ""
) -> dict[str, Any]:
    """Return ``package`` and ``namespace`` of a service's operator, and the ``objects`` that install it, its Namespace first.

    ``current``: Subscriptions and OperatorGroups of all namespaces. A Subscription that exists keeps its namespace, whatever the default of
    this version is, and a namespace keeps its OperatorGroup, since OLM refuses a second one. ``version``: the one of the cluster.
    """
    operator = OPERATORS[service]
    objects = list(current)
    major, minor = (*version.split("."), "0")[:2]
    first = max(minimum for minimum in operator.namespaces if minimum <= int(minor))
    subscriptions = [
        subscription
        for subscription in _of_kind(objects, "Subscription")
        if mapping(subscription.get("spec")).get("name") == operator.package
    ]
    metadata = mapping(subscriptions[0].get("metadata")) if subscriptions else {}
    namespace = str(metadata.get("namespace") or operator.namespaces[first])
    has_group = any(mapping(group.get("metadata")).get("namespace") == namespace for group in _of_kind(objects, "OperatorGroup"))
    group = {
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": operator.package, "namespace": namespace},
        "spec": {"targetNamespaces": [namespace]} if operator.targets_own else {},
    }
    subscription = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": str(metadata.get("name") or operator.package), "namespace": namespace},
        "spec": {
            "name": operator.package,
            "channel": channel or operator.channel.format(minor=f"{major}.{minor}"),
            "source": catalog,
            "sourceNamespace": CATALOGS,
            "installPlanApproval": "Automatic",
        },
    }
    return {
        "package": operator.package,
        "namespace": namespace,
        "subscription": metadata.get("name") or operator.package,
        "objects": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": dict(_LABELS)}},
            *([] if has_group else [group]),
            subscription,
        ],
    }


def _of_kind(objects: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [item for item in objects if item.get("kind") == kind]
