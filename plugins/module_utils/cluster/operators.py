# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions that the installation waits for: pure functions over the cluster's objects, in a table by condition.

The steps are those of `openshift-install wait-for bootstrap-complete` and `wait-for install-complete` (installer source), for old
and new releases: what a release does not have is not waited for. Each function returns what is pending, one text each, and an empty list
if the condition is reached. Ages use the cluster's own times, so a wait can be split into several calls. Causes come before their effects,
since operators read the first lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..base.errors import ClusterUnreachableError, CollectionError
from ..base.json_objects import mapping
from ..base.kubernetes_objects import CLUSTER_OPERATORS, CLUSTER_VERSION, ETCD, INGRESS_CA, MACHINE_CONFIG_POOLS, conditions_of
from ..base.printable import printable
from ..base.times import time_of
from ..joining.csr import Request, pending_client_requests
from ..nodes.details import node_details, pod_details, pod_is_well
from ..nodes.identity import of_another_device
from ..nodes.node import Node, read_node

if TYPE_CHECKING:
    from ..clients.cluster import ClusterClient
    from ..machines.watch import MachineWatch
    from .readiness import ObjectWatch


BOOTSTRAP_STATUS = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
"""The ConfigMap in which the bootstrap node reports that the bootstrap is complete."""
CONSOLE_ROUTE = "/apis/route.openshift.io/v1/namespaces/openshift-console/routes/console"
MACHINE_CONFIG_SERVERS = "/api/v1/namespaces/openshift-machine-config-operator/pods"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

_LINE, _FIELD = 400, 2000
"""Characters of a message of the cluster in a line of progress, and in the module's result."""

REPORTS_ETCD_MEMBER = (4, 16)
"""The first release whose etcd operator reports the removal of the bootstrap machine's member, and whose installer waits for it."""


def since_text(moment: datetime | None) -> str:
    return f" (since {moment.astimezone(UTC):%H:%M:%SZ})" if moment else ""


@dataclass(frozen=True)
class Condition:
    status: str
    reason: str
    message: str
    since: datetime | None

    def text(self) -> str:
        """Return its message or reason, and the time of its last transition."""
        return _words(self.message or self.reason or "no reason given", _LINE) + since_text(self.since)


def _words(text: str, limit: int) -> str:
    """Return a message of the cluster as one printable line: workloads can write any text into it."""
    return printable(" ".join(text.split()), limit)


CONNECTIONS = 20
"""New connections that show whether a load balancer has backends that do not answer: several for each of six backends in turn."""


@dataclass(frozen=True)
class View:
    """The objects that conditions read. None: the object does not exist (yet)."""

    now: datetime
    bootstrap_status: Mapping[str, Any] | None = None
    etcd: Mapping[str, Any] | None = None
    cluster_version: Mapping[str, Any] | None = None
    cluster_operators: Sequence[Mapping[str, Any]] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    desired_nodes: Sequence[str] = ()
    asking: Mapping[str, Request] = field(default_factory=dict)
    skipped_nodes: Collection[str] = ()
    """Nodes that are not waited for any longer, since enough others are Ready."""
    heard_at: Mapping[str, datetime] = field(default_factory=dict)
    """When each Node's kubelet renewed its Lease last, which it does every ten seconds."""
    since: datetime | None = None
    """The cluster's time of the first answer to this module."""
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """MachineConfigPools by name."""
    desired_pools: Mapping[str, int] = field(default_factory=dict)
    """The MachineConfigPools that are waited for, with the number of nodes that each has at least."""
    pending_objects: Sequence[str] = ()
    """Objects that are waited for and are not ready, one text each."""
    control_plane_nodes: Sequence[Mapping[str, Any]] = ()
    machine_config_servers: Sequence[Mapping[str, Any]] = ()
    """The pods of the DaemonSet machine-config-server."""
    machines: Sequence[str] = ()
    """Progress of machines that have not joined yet, shown beside what is pending."""
    stable_for: float = 30.0
    failed_connections: Sequence[str] = ()
    """Why new connections to the API fail, one text for each of CONNECTIONS that does."""


def conditions(obj: Mapping[str, Any] | None) -> dict[str, Condition]:
    """Return the conditions of an object by type, without malformed ones."""
    return {
        kind: Condition(
            since=time_of(item.get("lastTransitionTime")), **{key: str(item.get(key) or "") for key in ("status", "reason", "message")}
        )
        for kind, item in conditions_of(obj).items()
    }


def name_of(obj: Mapping[str, Any]) -> str:
    return printable(mapping(obj.get("metadata")).get("name") or "")


def bootstrap_complete(view: View) -> list[str]:
    """Return what is pending until the bootstrap machine can be deleted.

    The bootstrap machine writes the ConfigMap when it is finished. The etcd operator reports when that machine's member is removed:
    deleted before, etcd could lose its quorum. In older releases, which do not report this, the bootstrap machine removes the member before
    it writes the ConfigMap.
    """
    status = mapping(mapping(view.bootstrap_status).get("data")).get("status")
    if status != "complete":
        report = "it has not reported" if view.bootstrap_status is None else f"it reports '{printable(status)}'"
        return [f"the bootstrap machine has not finished ({report})", *view.machines]
    if view.etcd is None:
        return []
    removed = conditions(view.etcd).get("EtcdBootstrapMemberRemoved")
    if (removed and removed.status == "True") or (removed is None and _older_than(REPORTS_ETCD_MEMBER, version_of(view.cluster_version))):
        return []
    return [f"etcd still has the bootstrap machine as a member{': ' + removed.text() if removed else ''}", *view.machines]


def _older_than(release: tuple[int, int], version: str | None) -> bool:
    number = re.match(r"(\d+)\.(\d+)\.", version or "")
    return number is not None and (int(number[1]), int(number[2])) < release


def install_complete(view: View) -> list[str]:
    """Return what is pending until the cluster version and all operators are available and stable, with the nodes that operators may
    wait for.
    """
    version = _pending_version(view.cluster_version)
    operators = pending_operators(view.cluster_operators, view.now, view.stable_for)
    around = [*pending_nodes(view, view.desired_nodes), *view.machines] if version or operators else []
    return version + around + operators


def _pending_version(cluster_version: Mapping[str, Any] | None) -> list[str]:
    if cluster_version is None:
        return ["the cluster version operator has not started"]
    status_conditions = conditions(cluster_version)
    invalid = status_conditions.get("Invalid")
    if invalid and invalid.status == "True":
        raise CollectionError(f"Giving up: the ClusterVersion is invalid: {invalid.text()}")
    texts = []
    for kind, desired, words in (
        ("Available", "True", "is not available"),
        ("Failing", "False", "is failing"),
        ("Progressing", "False", "is progressing"),
    ):
        condition = status_conditions.get(kind)
        # The operator sets Failing only after a first failure.
        if condition is None and kind == "Failing":
            continue
        if condition is None:
            texts.append(f"the cluster version does not report whether it is {kind}")
        elif condition.status != desired:
            texts.append(f"the cluster version {words}: {condition.text()}")
    return texts


def pending_operators(operators: Iterable[Mapping[str, Any]], now: datetime, stable_for: float) -> list[str]:
    """Return the operators that are not Available, are degraded, or Progressing in the last `stable_for` seconds (in one text)."""
    texts = []
    settling: dict[str, float] = {}
    count = 0
    for operator in operators:
        count += 1
        name, status_conditions = name_of(operator), conditions(operator)
        available, progressing, degraded = (status_conditions.get(kind) for kind in ("Available", "Progressing", "Degraded"))
        if available is None or available.status != "True":
            texts.append(f"operator {name} is not available: {available.text() if available else 'it has not reported'}")
        elif progressing is None or progressing.status != "False":
            texts.append(f"operator {name} is progressing: {progressing.text() if progressing else 'it has not reported'}")
        elif progressing.since and (age := (now - progressing.since).total_seconds()) < stable_for:
            settling[name] = max(age, 0)
        elif degraded and degraded.status == "True":
            texts.append(f"operator {name} is degraded: {degraded.text()}")
    if settling:
        names = f"operator{'s' if len(settling) > 1 else ''} {', '.join(sorted(settling))}"
        texts.append(f"stable for {min(settling.values()):.0f} s, {stable_for:.0f} s are required: {names}")
    return texts if count else ["no cluster operator has reported"]


def pending_nodes(view: View, names: Iterable[str]) -> list[str]:
    """Return which of these Nodes are not Ready, and for one that is not registered its pending CSR."""
    texts = []
    for name in names:
        node, request = view.nodes.get(name), view.asking.get(name)
        if name in view.skipped_nodes:
            continue
        if node is None and request is None:
            texts.append(f"node {name} is not registered")
        elif node is None and request is not None:
            texts.append(f"node {name} is not registered: its request {request.label} waits for approval{since_text(request.filed_at)}")
        elif node is not None and not node.ready:
            texts.append(f"node {printable(name)} is not Ready: {node.message}{since_text(node.since)}")
    return texts


def skipped_nodes(nodes: Mapping[str, Node], now: datetime, params: Mapping[str, Any], lost: Collection[str] = ()) -> list[str]:
    """Return the Nodes of ``quorum_of`` that are not waited for any longer, since ``quorum`` others are Ready: ``lost`` ones at once, all
    others after ``quorum_wait`` seconds, by the cluster's own times.
    """
    quorum, members = params["quorum"], params["quorum_of"]
    ready = [nodes[name] for name in members if name in nodes and nodes[name].ready]
    if not quorum or len(ready) < quorum:
        return []
    enough_since = sorted(node.since or now for node in ready)[quorum - 1]
    over = (now - enough_since).total_seconds() >= params["quorum_wait"]
    names = {node.name for node in ready}
    return [name for name in members if name not in names and (over or name in lost)]


def nodes_ready(view: View) -> list[str]:
    """Return what is pending until the desired Nodes are Ready, or without such a list all Nodes, at least one."""
    names = list(view.desired_nodes) or sorted(view.nodes)
    texts = pending_nodes(view, names) if names else ["no node is registered"]
    return [*texts, *view.machines] if texts else []


def nodes_current(view: View) -> list[str]:
    """Return the Nodes that are Ready only by a report from before this module's start, so perhaps from before their machine was off."""
    texts = []
    for name, node in sorted(view.nodes.items()):
        heard_at = view.heard_at.get(name)
        if node.ready and (heard_at is None or view.since is None or heard_at < view.since):
            texts.append(f"node {printable(name)} is Ready by an old report: its kubelet has not reported{since_text(heard_at)}")
    return texts if view.nodes else ["no node is registered"]


def pools_rendered(view: View) -> list[str]:
    """Return the MachineConfigPools without a rendered config: the machine config server does not serve it yet."""
    return [
        f"pool {name} {'has no rendered config yet' if name in view.pools else 'does not exist'}"
        for name in view.desired_pools
        if not mapping(_pool_status(view, name).get("configuration")).get("name")
    ]


def pools_updated(view: View) -> list[str]:
    """Return the MachineConfigPools that have fewer nodes than expected, or nodes without the pool's newest config."""
    texts = pools_rendered(view)
    for name, least in view.desired_pools.items():
        status, status_conditions = _pool_status(view, name), conditions(view.pools.get(name))
        present, updated, ready = (_count(status, f"{what}achineCount") for what in ("m", "updatedM", "readyM"))
        degraded, state = status_conditions.get("Degraded"), status_conditions.get("Updated")
        if degraded and degraded.status == "True":
            texts.append(f"pool {name} is degraded: {degraded.text()}")
        elif present < least:
            texts.append(f"pool {name} has {present} of {least} nodes")
        elif not state or state.status != "True" or min(updated, ready) < present:
            texts.append(f"pool {name}: {min(updated, ready)} of {present} nodes are updated")
        elif newest := _newest_config(view.pools[name]):
            texts.append(f"pool {name} does not report {newest} yet")
    return texts


def machine_config_servers_ready(view: View) -> list[str]:
    """Return the control plane nodes without a machine config server that is Ready.

    The pods are read and their port is not: the firewall of the nodes closes it to the controller, and OVN-Kubernetes to connections of the
    API server's proxy (generateBlockMCSRules rejects what a node opens to 22623).
    """
    pods: dict[str, Mapping[str, Any]] = {}
    for pod in view.machine_config_servers:
        if not mapping(pod.get("metadata")).get("deletionTimestamp"):
            pods[printable(mapping(pod.get("spec")).get("nodeName") or "")] = pod
    texts = []
    for name in sorted(name_of(node) for node in view.control_plane_nodes):
        ready = conditions(pods.get(name)).get("Ready")
        if name not in pods:
            texts.append(f"node {name} has no machine config server")
        elif ready is None or ready.status != "True":
            state = ready.text() if ready else "it has not reported"
            texts.append(f"the machine config server of node {name} ({name_of(pods[name])}) is not Ready: {state}")
    return texts if view.control_plane_nodes else ["no control plane node is registered"]


def _newest_config(pool: Mapping[str, Any]) -> str:
    """Return what a MachineConfigPool's status does not report yet: its newest rendered config or generation. Empty if it reports both.

    The operator writes a new rendered config to the spec and counts the updated nodes afterwards, so the counts may be of the one before.
    """
    metadata, status = mapping(pool.get("metadata")), mapping(pool.get("status"))
    name = mapping(mapping(pool.get("spec")).get("configuration")).get("name")
    if name and name != mapping(status.get("configuration")).get("name"):
        return f"its rendered config {name}"
    return "its newest generation" if _count(status, "observedGeneration") < _count(metadata, "generation") else ""


def _pool_status(view: View, name: str) -> Mapping[str, Any]:
    return mapping(mapping(view.pools.get(name)).get("status"))


def _count(status: Mapping[str, Any], name: str) -> int:
    value = status.get(name)
    return value if isinstance(value, int) else 0


def connections_complete(view: View) -> list[str]:
    """Return why not every new connection to the API is answered: the load balancer has a backend that does not answer."""
    failed = view.failed_connections
    if not failed:
        return []
    return [
        f"{len(failed)} of {CONNECTIONS} new connections fail ({failed[0]}): a backend of the load balancer does not answer, such as the"
        " bootstrap device"
    ]


CONDITIONS: dict[str, Callable[[View], list[str]]] = {
    "bootstrap_complete": bootstrap_complete,
    "install_complete": install_complete,
    "nodes_ready": nodes_ready,
    "nodes_current": nodes_current,
    "pools_rendered": pools_rendered,
    "pools_updated": pools_updated,
    "machine_config_servers_ready": machine_config_servers_ready,
    "objects_ready": lambda view: list(view.pending_objects),
    "connections_complete": connections_complete,
}


def operator_facts(operators: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    facts = []
    for operator in operators:
        known = conditions(operator)
        states = {kind.lower(): kind in known and known[kind].status == "True" for kind in ("Available", "Progressing", "Degraded")}
        unexpected = [
            known[kind].message
            for kind, good in (("Available", "True"), ("Degraded", "False"), ("Progressing", "False"))
            if kind in known and known[kind].status != good
        ]
        facts.append({"name": name_of(operator), **states, "message": _words(unexpected[0], _FIELD) if unexpected else ""})
    return facts


def stages_of(result: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the stage of each operator and of the Nodes with these names; none without an answer of the API server."""
    if not result.get("api_answers"):
        return {}
    stages = {f"operator {operator['name']}": _stage(operator) for operator in result["operators"]}
    return stages | {f"node {name}": "Ready" if name in result["ready_nodes"] else "not Ready" for name in names}


def _stage(operator: Mapping[str, Any]) -> str:
    if not operator["available"]:
        return "not available"
    return "degraded" if operator["degraded"] else "progressing" if operator["progressing"] else "available"


def failed_only(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result as it is returned with an error: of operators and Nodes those that are not well, and no certificates."""
    kept = {name: value for name, value in result.items() if name != "ingress_ca"}
    if "operators" in kept:
        kept["operators"] = [operator for operator in kept["operators"] if _stage(operator) != "available"]
        kept["nodes"] = [node for node in kept["nodes"] if not node["ready"]]
    return kept


def version_of(cluster_version: Mapping[str, Any] | None) -> str | None:
    """Return the release that the cluster runs or installs, such as 4.20.33."""
    version = mapping(mapping(mapping(cluster_version).get("status")).get("desired")).get("version")
    return printable(version) if isinstance(version, str) else None


def cluster_id_of(cluster_version: Mapping[str, Any] | None) -> str | None:
    """Return the ``spec.clusterID`` of ClusterVersion, which the installer writes into metadata.json; None where there is none."""
    cluster_id = mapping(mapping(cluster_version).get("spec")).get("clusterID")
    return printable(cluster_id) if isinstance(cluster_id, str) and cluster_id else None


def check_condition(
    client: ClusterClient, params: Mapping[str, Any], machines: MachineWatch | None = None, objects: ObjectWatch | None = None
) -> dict[str, Any]:
    """Return the result of one poll of the cluster. Only objects that the condition needs are read.

    An API that does not answer is pending, not an error. If anything is pending, ``machines`` are polled as well. ``objects``: those of the
    condition ``objects_ready``.
    """
    result: dict[str, Any] = {
        "api_answers": False,
        **dict.fromkeys(("kube_version", "cluster_id", "cluster_version", "console_url", "ingress_ca")),
        **{name: [] for name in ("operators", "ready_nodes", "nodes", "pods", "skipped_nodes")},
    }
    condition = params["condition"]
    try:
        result["kube_version"] = client.version()
        view = View(now=client.now(), desired_nodes=params["nodes"], stable_for=params["stable_for"])
        view = replace(view, **_read(client, params))
        if condition == "install_complete":
            result["operators"] = operator_facts(view.cluster_operators)
            result["console_url"] = _console_url(client.get(CONSOLE_ROUTE))
            result["ingress_ca"] = ca_certificates(client.get(INGRESS_CA))
        result["cluster_id"] = cluster_id_of(view.cluster_version)
        result["cluster_version"] = version_of(view.cluster_version)
        if condition in ("nodes_ready", "nodes_current") or view.desired_nodes or params.get("node_details"):
            objects_of_nodes = list(client.nodes())
            nodes = _states(objects_of_nodes, params.get("devices") or {})
            result["nodes"] = [node_details(node) for node in objects_of_nodes] if params.get("node_details") else []
            absent = set(view.desired_nodes) - nodes.keys()
            pages = client.certificate_requests() if absent else ()
            view = replace(view, nodes=nodes, asking=pending_client_requests(item for items, _version in pages for item in items))
            result["ready_nodes"] = sorted(name for name, node in nodes.items() if node.ready)
        if condition == "nodes_current":
            view = replace(view, since=client.first_answer, heard_at=_heard(client.objects(NODE_LEASES)))
        if condition == "objects_ready" and objects:
            view = replace(view, pending_objects=objects.poll(client.get, gives_up=params["wait"] and not client.read_only))
        if params.get("pod_details"):
            result["pods"] = [pod_details(pod) for pod in client.objects("/api/v1/pods") if not pod_is_well(pod)]
    except ClusterUnreachableError as problem:
        # The API may become unreachable between two calls: then nothing of this poll counts.
        return {**result, "reached": False, "waiting": [problem.message, *(machines.poll() if machines else ())]}
    missing = CONDITIONS[condition]
    view = replace(view, skipped_nodes=skipped_nodes(view.nodes, view.now, params))
    if missing(view) and machines:
        texts = machines.poll(result["ready_nodes"])
        view = replace(view, machines=texts, skipped_nodes=skipped_nodes(view.nodes, view.now, params, machines.lost))
    waiting = missing(view)
    return {**result, "api_answers": True, "reached": not waiting, "waiting": waiting, "skipped_nodes": list(view.skipped_nodes)}


def _read(client: ClusterClient, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of View with the objects that the condition needs beside Nodes and ``objects``."""
    condition = params["condition"]
    if condition == "bootstrap_complete":
        return {"bootstrap_status": client.get(BOOTSTRAP_STATUS), "etcd": client.get(ETCD), "cluster_version": client.get(CLUSTER_VERSION)}
    if condition == "install_complete":
        return {"cluster_version": client.get(CLUSTER_VERSION), "cluster_operators": list(client.objects(CLUSTER_OPERATORS))}
    if condition == "connections_complete":
        return {"failed_connections": client.failed_connections(CONNECTIONS)}
    if condition == "machine_config_servers_ready":
        servers = list(client.objects(MACHINE_CONFIG_SERVERS, labels="k8s-app=machine-config-server"))
        # OpenShift gives this label to all control plane nodes.
        masters = list(client.objects("/api/v1/nodes", labels="node-role.kubernetes.io/master"))
        return {"machine_config_servers": servers, "control_plane_nodes": masters}
    if condition in ("pools_rendered", "pools_updated"):
        pools = {name_of(pool): pool for pool in client.objects(MACHINE_CONFIG_POOLS)}
        return {"pools": pools, "desired_pools": {str(name): int(least) for name, least in params["machine_config_pools"].items()}}
    return {}


def _states(objects: Iterable[Mapping[str, Any]], devices: Mapping[str, Any]) -> dict[str, Node]:
    """Return the Nodes by name. ``devices``: ids by the names of Nodes; a Node that records another device has not joined."""
    states = {}
    for state in map(read_node, objects):
        another = of_another_device(state.device_id, str(devices.get(state.name) or ""))
        states[state.name] = replace(state, ready=False, message=another) if another else state
    return states


def _heard(leases: Iterable[Mapping[str, Any]]) -> dict[str, datetime]:
    renewed = {name_of(lease): time_of(mapping(lease.get("spec")).get("renewTime")) for lease in leases}
    return {name: moment for name, moment in renewed.items() if moment is not None}


def _console_url(route: Mapping[str, Any] | None) -> str | None:
    host = mapping(mapping(route).get("spec")).get("host")
    return f"https://{printable(host)}" if isinstance(host, str) and host else None


def ca_certificates(config_map: Mapping[str, Any] | None) -> str | None:
    """Return the CA bundle (PEM) of the routers from the ConfigMap that has it; None as long as it has none."""
    bundle = mapping(mapping(config_map).get("data")).get("ca-bundle.crt")
    return bundle if isinstance(bundle, str) and bundle else None
