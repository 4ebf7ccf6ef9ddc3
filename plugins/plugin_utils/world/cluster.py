# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the cluster that the kubeconfig in the cluster folder is for: what it is, its nodes, and what the playbooks have written to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mapping
from ...module_utils.base.kubernetes_objects import CLUSTER_OPERATORS, CLUSTER_VERSION, ETCD, INGRESS_CA, MACHINE_CONFIG_POOLS, MANAGED
from ...module_utils.clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ...module_utils.cluster.operators import View, ca_certificates, cluster_id_of, install_complete, name_of, pools_updated
from ...module_utils.etcd.members import read_operator
from ...module_utils.nodes.node import node_rows, read_node
from ...module_utils.nodes.routers import INGRESS_CONTROLLER, read_routers
from ..cluster_folder.kubeconfig import certificates_of, unique_certificates
from ..machines.node_settings import settable
from ..manifests.pools import ROLE

MACHINE_CONFIGS = "/apis/machineconfiguration.openshift.io/v1/machineconfigs"


class Objects:
    """The objects of a cluster's API that the plan and the status are made of: each list is read once, when it is first asked for."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client

    @cached_property
    def version(self) -> dict[str, Any] | None:
        return self.client.get(CLUSTER_VERSION)

    @cached_property
    def nodes(self) -> list[dict[str, Any]]:
        return sorted(self.client.nodes(), key=lambda node: str(mapping(node.get("metadata")).get("name")))

    @cached_property
    def operators(self) -> list[dict[str, Any]]:
        return list(self.client.objects(CLUSTER_OPERATORS))

    @cached_property
    def pools(self) -> list[dict[str, Any]]:
        return list(self.client.objects(MACHINE_CONFIG_POOLS))

    @cached_property
    def ingress_ca(self) -> dict[str, Any] | None:
        return self.client.get(INGRESS_CA)

    def unanswered(self) -> list[str]:
        """Return the names of the CSRs without an answer."""
        pages = self.client.certificate_requests()
        return [name_of(item) for items, _version in pages for item in items if not mapping(item.get("status")).get("conditions")]


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reading ``kubeconfig``, see :func:`planned`. If the request failed it has ``msg`` instead. Empty without a kubeconfig."""
    path = Path(str(settings["directory"])).expanduser() / "kubeconfig"
    if not settings.get("bootstrap_over"):
        return {}
    if KUBERNETES_IMPORT_ERROR:
        return {"kubeconfig": {"msg": "the Python library kubernetes is not installed on the controller"}}
    try:
        return {"kubeconfig": planned(Objects(ClusterClient(str(path), timeout=float(settings["timeout"]))), settings)}
    except CollectionError as problem:
        return {"kubeconfig": {"msg": problem.message}}


def planned(objects: Objects, settings: Mapping[str, Any], unanswered: Iterable[str] | None = None) -> dict[str, Any]:
    """Return what a plan knows of the cluster: ``cluster_id``, its ``nodes`` as ``node_info`` returns them, their ``objects``
    with names, labels, annotations and taints, the names of its ``control_plane`` nodes, and what :func:`_written` returns.

    ``unanswered``: names of the CSRs without an answer, if they were read. Raises CollectionError when the Nodes cannot be read.
    """
    client, version = objects.client, objects.version
    replaced = read_operator(client.get(ETCD)).replacing.node
    placed, moving = read_routers(client, objects.nodes)
    nodes = node_rows(map(read_node, objects.nodes), placed)
    written = _try_written(objects, settings, unanswered)
    # Also one whose replacement is not complete: it may have no Node now.
    members = sorted({node["name"] for node in nodes if node["control_plane"]} | ({replaced} if replaced else set()))
    return {
        "cluster_id": cluster_id_of(version) or "",
        "nodes": nodes,
        "objects": [settable(node) for node in objects.nodes],
        "control_plane": members,
        **written,
        "waiting": [*written["waiting"], *moving],
    }


def _try_written(objects: Objects, settings: Mapping[str, Any], unanswered: Iterable[str] | None) -> dict[str, Any]:
    """Return the values of :func:`_written`, or ``unread``, why there are none: the identity of the cluster and its nodes stay known."""
    try:
        return _written(objects, settings, objects.unanswered() if unanswered is None else unanswered)
    except CollectionError as problem:
        return {"unread": problem.message, "waiting": []}


def _written(objects: Objects, settings: Mapping[str, Any], unanswered: Iterable[str]) -> dict[str, Any]:
    """Return what the playbooks have written to the cluster, and what they would wait for.

    These are ``configs`` (MachineConfigPools, and MachineConfigs of ours), ``ingress`` (the default IngressController), ``requests`` (names
    of CSRs without an answer), ``waiting`` (why the cluster is not complete) and ``kubeconfig``: the addresses that it has (``servers``),
    and whether it has the CAs of the cluster and no others (``is_trusting``).
    """
    client, folder = objects.client, Path(str(settings["directory"])).expanduser()
    sizes = Counter(str(worker["machine_config_pool"]) for worker in settings["machines"]["workers"] if worker.get("machine_config_pool"))
    view = View(
        now=client.now(),
        cluster_version=objects.version,
        cluster_operators=objects.operators,
        pools={name_of(pool): pool for pool in objects.pools},
        desired_pools=sizes,
        # An operator that has changed a moment ago is well too: a wait for it has ended, or begins with another reason.
        stable_for=0.0,
    )
    return {
        "configs": [_shortened(item) for item in [*objects.pools, *client.objects(MACHINE_CONFIGS, labels=ROLE)] if _is_ours(item)],
        "ingress": client.get(INGRESS_CONTROLLER),
        "requests": sorted(unanswered),
        "waiting": [*install_complete(view), *pools_updated(view)],
        "kubeconfig": _kubeconfig(folder, ca_certificates(objects.ingress_ca) or ""),
    }


def _is_ours(config: Mapping[str, Any]) -> bool:
    """Return whether it is a MachineConfigPool, or a MachineConfig with our label: those of the release are large."""
    return config.get("kind") == "MachineConfigPool" or MANAGED in mapping(mapping(config.get("metadata")).get("labels"))


def _shortened(config: Mapping[str, Any]) -> dict[str, Any]:
    metadata = mapping(config.get("metadata"))
    kept = {name: metadata[name] for name in ("name", "labels", "annotations") if name in metadata}
    return {**{name: config.get(name) for name in ("apiVersion", "kind", "spec")}, "metadata": kept}


def _kubeconfig(folder: Path, routers: str) -> dict[str, Any]:
    """Return what of the kubeconfig changes with the cluster. ``routers``: CAs (PEM) of the routers."""
    try:
        used, made = (yaml.safe_load((folder / name).read_bytes()) for name in ("kubeconfig", "ignition/auth/kubeconfig"))
        return {
            "servers": [urlsplit(str(entry["cluster"]["server"])).hostname for entry in used["clusters"]],
            "is_trusting": certificates_of(used) == unique_certificates([certificates_of(made), routers]),
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError, yaml.YAMLError):
        # The playbook writes it again.
        return {"servers": [], "is_trusting": False}
