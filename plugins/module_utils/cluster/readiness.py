# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the objects of cluster services are ready, and what to check if they are not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..base.errors import CollectionError
from ..base.json_objects import mapping, mappings, text
from ..base.kubernetes_objects import conditions_of
from ..base.printable import printable

FAILED_FOR_GOOD = 30.0
"""Seconds after which an unresolved Subscription ends the wait. OLM resolves a changed one within seconds, and until then its status, which
has no generation, is about the one before."""

_LINE = 400

Object = Mapping[str, Any]
Read = Callable[[str], "dict[str, Any] | None"]


@dataclass(frozen=True)
class Pending:
    """What an object reports that is not ready. ``failed``: waiting does not help."""

    report: str
    failed: bool = False


@dataclass(frozen=True)
class Resource:
    """A kind of objects. ``pending`` returns None for a ready object; ``advice`` is the next step after a timeout."""

    kind: str
    version: str
    pending: Callable[[Object, Read], Pending | None]
    advice: str


def _subscription(subscription: Object, read: Read) -> Pending | None:
    """Report what OLM reports, until the ClusterServiceVersion that it has installed has succeeded.

    An unhealthy catalogue is no failure: its pod may just have been started.
    """
    status = mapping(subscription.get("status"))
    conditions = {name: condition for name, condition in conditions_of(subscription).items() if condition.get("status") == "True"}
    reports = [f"{name}: {condition.get('message') or condition.get('reason') or 'no message'}" for name, condition in conditions.items()]
    installed = text(status.get("installedCSV"))
    if not installed:
        unresolved = mapping(conditions.get("ResolutionFailed")).get("reason") == "ConstraintsNotSatisfiable"
        return Pending("; ".join(reports) or "OLM has reported nothing", failed=unresolved)
    namespace = text(mapping(subscription.get("metadata")).get("namespace"))
    path = f"/apis/operators.coreos.com/v1alpha1/namespaces/{quote(namespace, safe='')}/clusterserviceversions/{quote(installed, safe='')}"
    state = mapping(mapping(read(path)).get("status"))
    if state.get("phase") == "Succeeded":
        return None
    return Pending("; ".join([*reports, f"{installed} is {state.get('phase') or 'pending'}: {state.get('message') or 'no message'}"]))


def _lvm_cluster(cluster: Object, _read: Read) -> Pending | None:
    """Report the state, and the nodes without a volume group."""
    status = mapping(cluster.get("status"))
    state = text(status.get("state")) or "it has reported nothing"
    if state == "Ready":
        return None
    nodes = [node for device_class in mappings(status.get("deviceClassStatuses")) for node in mappings(device_class.get("nodeStatus"))]
    reports = [
        f"{node.get('node')}: {node.get('status')}{' (' + str(node['reason']) + ')' if node.get('reason') else ''}"
        for node in nodes
        if node.get("status") != "Ready"
    ]
    return Pending("; ".join([state, *reports]))


def _available(current: Object, _read: Read) -> Pending | None:
    condition = conditions_of(current).get("Available")
    if condition is None:
        return Pending("it has not reported")
    if condition.get("status") == "True":
        return None
    return Pending(f"Available={condition.get('status')}: {condition.get('message') or condition.get('reason') or 'no message'}")


def _registry(config: Object, _read: Read) -> Pending | None:
    """Report what the registry operator has not applied of its Config as it is now.

    The ClusterOperator has no generation: after a change it may still be about the Config before.
    """
    status = mapping(config.get("status"))
    conditions = conditions_of(config)
    if not conditions or status.get("observedGeneration") != mapping(config.get("metadata")).get("generation"):
        return Pending("the operator has not read its Config yet")
    reports = [
        f"{name}={mapping(conditions.get(name)).get('status') or 'unknown'}: {mapping(conditions.get(name)).get('message') or 'no message'}"
        for name, desired in (("Available", "True"), ("Progressing", "False"))
        if mapping(conditions.get(name)).get("status") != desired
    ]
    return Pending("; ".join(reports)) if reports else None


RESOURCES: Mapping[str, Resource] = {
    "subscriptions.operators.coreos.com": Resource(
        "Subscription",
        "v1alpha1",
        _subscription,
        "Check the catalogue with: oc -n openshift-marketplace get catalogsources,pods",
    ),
    "lvmclusters.lvm.topolvm.io": Resource(
        "LVMCluster",
        "v1alpha1",
        _lvm_cluster,
        "Each node needs an empty disk besides the one on which CoreOS is installed; check openshift_local_storage_paths,"
        " openshift_local_storage_node_labels and openshift_root_device_hints",
    ),
    "metallbs.metallb.io": Resource("MetalLB", "v1beta1", _available, "Check its pods with: oc -n {namespace} get pods"),
    "configs.imageregistry.operator.openshift.io": Resource(
        "Config",
        "v1",
        _registry,
        "Check the PersistentVolumeClaim and openshift_registry_storage_class with: oc -n openshift-image-registry get pvc,pods",
    ),
}
"""By the name that `oc get` takes, ``<plural>.<group>``."""


class ObjectWatch:
    """The objects of a wait: each with ``resource``, ``name`` and ``namespace``, which is empty for one of the whole cluster."""

    def __init__(self, objects: Sequence[Mapping[str, str]], *, now: Callable[[], float] = time.monotonic) -> None:
        self._objects = objects
        self._now = now
        self._failed_since: float | None = None
        self._pending: list[Mapping[str, str]] = []

    def poll(self, read: Read, *, gives_up: bool) -> list[str]:
        """Return a text for each object that is not ready. With ``gives_up`` a failure that lasts FAILED_FOR_GOOD is an error."""
        states = [(reference, self._read(reference, read)) for reference in self._objects]
        pending = [(reference, state) for reference, state in states if state is not None]
        self._pending = [reference for reference, _state in pending]
        texts = [f"{_title(reference)} is not ready: {printable(state.report, _LINE)}" for reference, state in pending]
        failed = [text for text, (_reference, state) in zip(texts, pending, strict=True) if state.failed]
        if not failed:
            self._failed_since = None
            return texts
        now = self._now()
        if self._failed_since is None:
            self._failed_since = now
        if gives_up and now - self._failed_since >= FAILED_FOR_GOOD:
            raise CollectionError(f"Giving up: {'; '.join(failed)}. {self.advice()}")
        return texts

    def advice(self) -> str:
        """Return the next steps for what was not ready in the last poll."""
        steps = []
        for pending in self._pending:
            resource = RESOURCES[pending["resource"]]
            within = f"-n {pending['namespace']} " if pending.get("namespace") else ""
            steps += [f"Run: oc {within}describe {pending['resource']}/{pending['name']}", resource.advice.format(**pending)]
        return ". ".join(dict.fromkeys(steps))

    @staticmethod
    def _read(reference: Mapping[str, str], read: Read) -> Pending | None:
        plural, _dot, group = reference["resource"].partition(".")
        resource = RESOURCES[reference["resource"]]
        within = f"/namespaces/{quote(reference['namespace'], safe='')}" if reference.get("namespace") else ""
        current = read(f"/apis/{group}/{resource.version}{within}/{plural}/{quote(reference['name'], safe='')}")
        return Pending("it does not exist") if current is None else resource.pending(current, read)


def _title(reference: Mapping[str, str]) -> str:
    within = f" in the namespace {reference['namespace']}" if reference.get("namespace") else ""
    return f"{RESOURCES[reference['resource']].kind} {reference['name']}{within}"
