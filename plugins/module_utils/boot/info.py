# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running cluster reports about itself that new machines boot from: its identity, version, architecture, boot images and pointers.

A cluster changes all of it: an upgrade replaces the boot images and may replace the CA of the machine config server. Files that the
installer once wrote do not follow.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..base.errors import ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping, mappings
from ..base.kubernetes_objects import CLUSTER_VERSION
from ..base.printable import printable
from ..cluster.operators import cluster_id_of, version_of
from ..nodes.node import read_node
from ..release.versions import GO
from .ignition import IGNITION_VERSION

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient

INFRASTRUCTURE = "/apis/config.openshift.io/v1/infrastructures/cluster"
CLUSTER_DNS = "/apis/config.openshift.io/v1/dnses/cluster"
CLUSTER_NETWORK = "/apis/config.openshift.io/v1/networks/cluster"
BOOT_IMAGES = "/api/v1/namespaces/openshift-machine-config-operator/configmaps/coreos-bootimages"
USER_DATA = "/api/v1/namespaces/openshift-machine-api/secrets/{pool}-user-data-managed"

MULTI = "Multi"
"""``status.desired.architecture`` of ClusterVersion for a release that runs on several architectures; it has no other value."""


def read_boot_info(client: ClusterClient, pools: Iterable[str]) -> dict[str, Any]:
    """Return the result of ``cluster_boot_info``. ``pools``: MachineConfigPools whose Ignition pointers are read.

    Raises CollectionError if the cluster has no ClusterVersion, or no user data for a pool.
    """
    cluster_version = client.get(CLUSTER_VERSION)
    if cluster_version is None:
        text = (
            "Cannot read what machines boot from: the kubeconfig connects to a Kubernetes cluster without a ClusterVersion, so it is not"
            " OpenShift or its installation has not begun. Set openshift_kubeconfig to the kubeconfig of the OpenShift cluster."
        )
        raise client.add_origin(CollectionError(text))
    infrastructure = client.get(INFRASTRUCTURE)
    if infrastructure is None:
        # Every OpenShift cluster has one, before it has a worker.
        raise client.add_origin(ClusterUnreachableError("Cannot read the identity of the cluster: it has no Infrastructure named cluster"))
    status = mapping(infrastructure.get("status"))
    architectures = machine_architectures(cluster_version, client.nodes())
    stream, release = boot_images(client.get(BOOT_IMAGES))
    network = mapping(client.get(CLUSTER_NETWORK))
    pointers = {pool: pointer(pool, client.get(USER_DATA.format(pool=pool))) for pool in pools}
    return {
        "domain": cluster_domain(client.get(CLUSTER_DNS), infrastructure),
        "infra_id": _text(status.get("infrastructureName")),
        "cluster_id": cluster_id_of(cluster_version) or "",
        "api_url": _text(status.get("apiServerURL")),
        "platform": _text(mapping(status.get("platformStatus")).get("type") or status.get("platform")),
        "network_type": _text(mapping(network.get("status")).get("networkType") or mapping(network.get("spec")).get("networkType")),
        "version": version_of(cluster_version) or "",
        "installed_version": installed_version(cluster_version),
        "multi_architecture": is_multi(cluster_version),
        "machine_architectures": architectures,
        "stream": stream,
        "stream_version": release,
        # JSON as the installer writes it, so that the userdata of devices that were ordered with worker.ign is the same.
        "pointers": {pool: json.dumps(config, separators=(",", ":"), sort_keys=True) for pool, config in pointers.items()},
    }


def cluster_domain(dns: Mapping[str, Any] | None, infrastructure: Mapping[str, Any]) -> str:
    """Return C(<name>.<base domain>) of the cluster: ``spec.baseDomain`` of its DNS config, else the host of its API without ``api.``."""
    if domain := _text(mapping(mapping(dns).get("spec")).get("baseDomain")):
        return domain
    host = urlsplit(_text(mapping(infrastructure.get("status")).get("apiServerURL"))).hostname or ""
    return host.removeprefix("api.") if host.startswith("api.") else ""


def installed_version(cluster_version: Mapping[str, Any]) -> str:
    """Return the newest release in the history whose installation is complete, empty when there is none (yet)."""
    history = mappings(mapping(cluster_version.get("status")).get("history"))
    return next((_text(entry.get("version")) for entry in history if entry.get("state") == "Completed"), "")


def is_multi(cluster_version: Mapping[str, Any]) -> bool:
    """Return whether the release that the cluster runs, or is upgraded to, is one for several architectures."""
    return mapping(mapping(cluster_version.get("status")).get("desired")).get("architecture") == MULTI


def machine_architectures(cluster_version: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the architectures of machines that the release runs on: with one architecture that of the control plane's Nodes."""
    if is_multi(cluster_version):
        return sorted(GO)
    control_plane = {
        _text(mapping(mapping(node.get("status")).get("nodeInfo")).get("architecture")) for node in nodes if read_node(node).control_plane
    }
    return sorted(name for name, go_name in GO.items() if go_name in control_plane)


def boot_images(config_map: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], str]:
    """Return the stream metadata of the cluster's boot images, and the release that they are of; empty where the cluster has none."""
    data = mapping(mapping(config_map).get("data"))
    if "stream" not in data:
        return {}, ""
    try:
        stream = json.loads(data["stream"])
    except (ValueError, TypeError) as problem:
        raise CollectionError(f"The key stream of the ConfigMap coreos-bootimages is no JSON: {problem}") from problem
    return mapping(stream), _text(data.get("releaseVersion"))


def pointer(pool: str, user_data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the Ignition config that boots a machine into a pool: the CA and the URL of the machine config server.

    The cluster writes it in the newest spec of its own machine config operator (3.5.0 since OpenShift 4.19), which boot images of an older
    release refuse. So only what it says is taken, in a spec that all of them accept. Raises CollectionError for anything else.
    """
    name = f"The secret {pool}-user-data-managed in the namespace openshift-machine-api"
    if user_data is None:
        raise CollectionError(f"{name} does not exist. Check that the cluster has the MachineConfigPool {pool}: oc get machineconfigpool.")
    try:
        ignition = json.loads(b64decode(mapping(user_data.get("data"))["userData"]))["ignition"]
        # Up to OpenShift 4.5 the spec is 2.2.0, which calls merge append.
        source = (mappings(mapping(ignition["config"]).get("merge")) or mappings(mapping(ignition["config"]).get("append")))[0]["source"]
        ca_bundle = [ca["source"] for ca in ignition["security"]["tls"]["certificateAuthorities"]]
    except (ValueError, TypeError, KeyError, IndexError) as problem:
        raise CollectionError(f"{name} has no Ignition config with a CA and an URL in userData ({type(problem).__name__}).") from None
    if not ca_bundle or not isinstance(source, str) or urlsplit(source).scheme != "https":
        raise CollectionError(f"{name} has no CA, or its URL {printable(source)!r} is not an https URL.")
    proxy = {key: value for key, value in mapping(ignition.get("proxy")).items() if value}
    security = {"tls": {"certificateAuthorities": [{"source": ca} for ca in ca_bundle]}}
    own = {"version": IGNITION_VERSION, "config": {"merge": [{"source": source}]}, "security": security}
    return {"ignition": {**own, **({"proxy": proxy} if proxy else {})}}


def _text(value: Any) -> str:
    return printable(value) if isinstance(value, str) else ""
