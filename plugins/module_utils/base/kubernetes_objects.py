# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the Kubernetes API: their conditions, and what this collection writes into them and reads of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .json_objects import mapping, mappings, text

CERTIFICATE_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLUSTER_VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
CLUSTER_OPERATORS = "/apis/config.openshift.io/v1/clusteroperators"
INGRESS_CA = "/api/v1/namespaces/openshift-config-managed/configmaps/default-ingress-cert"
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
ETCD_PODS = "/api/v1/namespaces/openshift-etcd/pods"
ETCD_SECRETS = "/api/v1/namespaces/openshift-etcd/secrets"
MACHINE_CONFIG_POOLS = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
"""Paths of objects and lists that several files read."""

FIELD_OWNER = "equinix_metal.openshift"
"""The field manager of all writes of this collection."""

DEVICE = "equinix-metal.openshift/device"
"""Annotation of a Node with the id of the device that it runs on."""

MANAGED = "equinix-metal.openshift/managed"
"""Of objects in the cluster that follow the inventory: as a label its value is ``true``, as an annotation it is what was set for the
inventory (of a Node labels, annotations and taints, JSON; of an IngressController fields of its spec, separated by commas)."""

PROVIDER = "equinixmetal://"
"""Beginning of ``spec.providerID`` of a Node on a device, as cloud-provider-equinix-metal writes it; the id of the device follows."""

_PROVIDER_ID = re.compile(r"(?:equinixmetal|packet)://(?P<device>[^/]+)")
"""Older releases of that cloud provider wrote ``packet://``."""


def object_path(objects: str, name: str) -> str:
    """Return the path of an object in the list with this path."""
    return f"{objects}/{quote(name, safe='')}"


def device_of_provider_id(provider_id: str) -> str:
    """Return the id of the device in a ``spec.providerID``; empty for that of another provider."""
    match = _PROVIDER_ID.fullmatch(provider_id)
    return match["device"] if match else ""


def recorded_device(node: Any) -> str:
    """Return the id of the device that a Node object records: in its annotation, or else in ``spec.providerID``; empty without one."""
    annotations = mapping(mapping(mapping(node).get("metadata")).get("annotations"))
    return text(annotations.get(DEVICE)) or device_of_provider_id(text(mapping(mapping(node).get("spec")).get("providerID")))


def conditions_of(obj: Any) -> dict[str, Mapping[str, Any]]:
    """Return the conditions in an object's status by their type."""
    return {text(condition.get("type")): condition for condition in mappings(mapping(mapping(obj).get("status")).get("conditions"))}


def is_ready(obj: Any) -> bool:
    return mapping(conditions_of(obj).get("Ready")).get("status") == "True"
