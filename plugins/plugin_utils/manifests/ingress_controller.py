# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default IngressController: the number of its routers, and the pool whose nodes they run on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...module_utils.base.json_objects import mapping, text
from ...module_utils.base.kubernetes_objects import MANAGED
from .cloud_controller import all_items

CONTROL_PLANE = "control_plane"
"""The ingress pool of a cluster whose routers run on the control plane."""

INGRESS_LABEL = "equinix-metal.openshift/ingress-pool"
"""Label of the nodes of the ingress pool, with its name. With another pool the pods get another node selector, so that they move."""

Machines = Sequence[Mapping[str, Any]]
Object = dict[str, Any]


def ingress_controller(settings: Mapping[str, Any]) -> Iterator[Object]:
    """Yield the IngressController that the settings ask for; none if they leave it to the ingress operator.

    ``ingress``: ``pool`` and ``replicas``, both may be empty. ``workers``: all machines of the inventory's pools.
    """
    ingress = mapping(settings.get("ingress"))
    spec = desired_spec(text(ingress.get("pool")), ingress.get("replicas"), settings.get("workers") or ())
    if spec:
        yield _object(spec, ",".join(sorted(spec)))


def has_ingress_controller(objects: Iterable[Any]) -> bool:
    """Return whether one of these Kubernetes objects is the default IngressController."""
    controllers = (item for item in all_items(objects) if mapping(item).get("kind") == "IngressController")
    return any(mapping(item.get("metadata")).get("name") == "default" for item in controllers)


def desired_spec(pool: str, replicas: Any, workers: Machines) -> Object:
    """Return the fields of the spec that are set for the inventory."""
    fields: Object = {"replicas": int(replicas)} if replicas not in (None, "") else {}
    if pool == CONTROL_PLANE:
        fields["nodePlacement"] = {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/master": ""}}}
    elif pool:
        fields["nodePlacement"] = {"nodeSelector": {"matchLabels": {INGRESS_LABEL: pool}}}
        tolerations = _tolerations([machine for machine in workers if machine.get("pool") == pool])
        if tolerations:
            fields["nodePlacement"]["tolerations"] = tolerations
    return fields


def ingress_changes(controller: Mapping[str, Any], pool: str, replicas: Any, workers: Machines) -> Object | None:
    """Return the merge patch (RFC 7386) that makes the IngressController that of the inventory, None if it is.

    Fields that were set for the inventory and no longer are get the operator's defaults again. Others are not changed.
    """
    desired = desired_spec(pool, replicas, workers)
    owned = text(mapping(mapping(controller.get("metadata")).get("annotations")).get(MANAGED))
    current = mapping(controller.get("spec"))
    released = [field for field in owned.split(",") if field and field not in desired]
    spec: Object = {field: None for field in released if current.get(field) is not None}
    spec |= {field: merge_patch(current.get(field), value) for field, value in desired.items() if current.get(field) != value}
    fields = ",".join(sorted(desired))
    if not spec and fields == owned:
        return None
    return _object(spec, fields or None)


def merge_patch(current: Any, desired: Any) -> Any:
    """Return what changes ``current`` to ``desired`` as a merge patch: None for each key to remove."""
    if not isinstance(current, Mapping) or not isinstance(desired, Mapping):
        return desired
    changed = {key: merge_patch(current.get(key), value) for key, value in desired.items() if current.get(key) != value}
    return {key: None for key in current if key not in desired} | changed


def _object(spec: Object, fields: str | None) -> Object:
    return {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "IngressController",
        "metadata": {"name": "default", "namespace": "openshift-ingress-operator", "annotations": {MANAGED: fields}},
        "spec": spec,
    }


def _tolerations(machines: Machines) -> list[Object]:
    taints = {
        (str(taint["key"]), str(taint.get("value") or ""), str(taint["effect"]))
        for machine in machines
        for taint in machine.get("taints") or ()
    }
    return [
        {"key": key, **({"operator": "Equal", "value": value} if value else {"operator": "Exists"}), "effect": effect}
        for key, value, effect in sorted(taints)
    ]
