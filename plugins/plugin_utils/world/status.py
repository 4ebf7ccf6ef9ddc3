# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a cluster's status is made of: what its plan is made of, and beside it certificates, versions and pending CSRs.

Lists only, so the number of calls does not grow with the number of machines but for pages of objects. Nothing is written. An API that
does not answer is a result, and the other one is read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...module_utils.base.errors import ClusterRefusedError, CollectionError
from ...module_utils.base.json_objects import mapping, text
from ...module_utils.base.printable import printable
from ...module_utils.base.tags import INFRA_TAG, ROLE_TAG, tag_values
from ...module_utils.boot.info import BOOT_IMAGES
from ...module_utils.clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ...module_utils.clients.tls import Endpoint, presented_certificates
from ...module_utils.cluster.devices import devices_by_role, joining_machines
from ...module_utils.joining.csr import Past, Policy, Request, Verdict, assess, decide, policy, remember
from ...module_utils.joining.history import from_texts
from ...module_utils.nodes.addresses import api_addresses, reachable_address
from ...module_utils.nodes.details import node_details
from ...module_utils.nodes.identity import named_by_nodes
from ...module_utils.nodes.node import Node, node_rows, read_node
from ..machines.node_settings import settable
from ..preflight.context import Context
from ..preflight.load_balancer import MACHINE_CONFIG_PORT
from . import cluster, controller, metal, names
from .certificates import Validity, annotated_validity, validity_of_der, validity_of_pem, validity_of_request

NODE_SIGNERS = "/api/v1/namespaces/openshift-config-managed/configmaps/csr-controller-ca"
"""The ConfigMap with the CAs that sign the certificates of kubelets."""
SIGNER_NAMESPACES = (
    "openshift-kube-apiserver-operator",
    "openshift-kube-controller-manager-operator",
    "openshift-machine-config-operator",
    "openshift-etcd",
)
"""Namespaces with the Secrets of the cluster's signers, and of the machine config server."""

KUBELET_PORT = 10250
READ_SECONDS = 4.0
"""Seconds for the certificates of all servers: five hundred kubelets answer in two."""


Value = TypeVar("Value")


@dataclass(frozen=True)
class MetalReading:
    """What the Metal API has of the cluster. ``problem``: why it could not be read."""

    problem: str = ""
    devices: Sequence[Mapping[str, Any]] = ()
    locks: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Dated:
    """A certificate: its kind, whose it is, and its validity."""

    kind: str
    subject: str
    validity: Validity


@dataclass(frozen=True)
class ClusterReading:
    """What the cluster's API has. ``problem``: why it could not be read; ``unread``: single objects that were refused."""

    problem: str = ""
    now: datetime | None = None
    kube_version: str = ""
    cluster_version: Mapping[str, Any] | None = None
    operators: Sequence[Mapping[str, Any]] = ()
    pools: Sequence[Mapping[str, Any]] = ()
    boot_images: Mapping[str, Any] | None = None
    nodes: Sequence[Mapping[str, Any]] = ()
    planned: Mapping[str, Any] = field(default_factory=dict)
    """What the plan knows of it: the reading ``kubeconfig``."""
    has_nodes: bool = True
    """Whether the Nodes could be listed."""
    verdicts: Sequence[Verdict] = ()
    certificates: Sequence[Dated] = ()
    servers: Sequence[tuple[str, int, str]] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class StatusReadings:
    """``context``: the settings, and the readings that the plan is made of; ``presented``: certificates that servers have presented."""

    context: Context
    metal: MetalReading
    api: ClusterReading
    presented: Sequence[Dated]


def collect(settings: Mapping[str, Any], options: Mapping[str, Any]) -> StatusReadings:
    """Read both APIs, the DNS records and the cluster folder. ``settings``: those of the lookup ``preflight``.

    ``options``: ``server_certificates``, ``history``, and those of :func:`approval_rules`. Raises CollectionError for one of these.
    """
    with ThreadPoolExecutor() as pool:
        records = pool.submit(names.collect_records, settings)
        readings: dict[str, Any] = {**metal.collect_owned(settings), "controller": controller.read_folder(str(settings["directory"]))}
        owned = metal_reading(readings)
        rules = approval_rules(options, owned.devices, (machine["hostname"] for machine in Context(settings, {}).machines))
        api = read_cluster(partial(_client, settings, owned.devices), rules, str(options["history"]), settings)
        presented = list(_presented(settings, owned, api)) if options["server_certificates"] else []
        readings |= {"kubeconfig": api.planned or {"msg": api.problem or "the Nodes cannot be listed"}, **records.result()}
    readings |= metal.collect_others(settings, readings)
    return StatusReadings(Context(settings, readings), owned, api, presented)


def metal_reading(readings: Mapping[str, Any]) -> MetalReading:
    """Return the readings of the Metal API, with role and install of each device by its tags."""
    listed = readings["devices"]
    if "devices" not in listed:
        return MetalReading(problem=str(listed["msg"]))
    devices = [
        {
            **device,
            "role": next(iter(tag_values(device["tags"], ROLE_TAG)), None),
            "infra_id": next(iter(tag_values(device["tags"], INFRA_TAG)), None),
        }
        for device in listed["devices"]
    ]
    return MetalReading(devices=devices, locks=readings["locks"].get("locks") or ())


def controller_addresses(devices: Iterable[Mapping[str, Any]], network: str = "layer3") -> list[str]:
    """Return the addresses at which the controller reaches the cluster's API, those of active devices first."""
    ordered = sorted(devices, key=lambda device: device.get("state") != "active")
    return api_addresses({group: sorted(members, key=ordered.index) for group, members in devices_by_role(ordered).items()}, network)


def approval_rules(options: Mapping[str, Any], devices: Iterable[Mapping[str, Any]], hostnames: Iterable[str]) -> Policy:
    """Return the rules by which ``csr_approval`` would decide on the CSRs of this inventory's machines."""
    return policy({**options, "machines": joining_machines(devices, set(hostnames))})


def _client(settings: Mapping[str, Any], devices: Iterable[Mapping[str, Any]]) -> ClusterClient:
    """Return a client with the kubeconfig of the cluster: until the bootstrap is complete that of the installer."""
    if KUBERNETES_IMPORT_ERROR:
        raise CollectionError("the Python library kubernetes is not installed on the controller")
    folder = Path(str(settings["directory"])).expanduser()
    written = folder / "kubeconfig"
    path = written if written.is_file() else folder / "ignition" / "auth" / "kubeconfig"
    addresses = controller_addresses(devices, str(settings["machine_network"]))
    return ClusterClient(str(path), addresses=addresses, timeout=float(settings["timeout"]), read_only=True)


def read_cluster(make: Callable[[], ClusterClient], rules: Policy, history: str, settings: Mapping[str, Any]) -> ClusterReading:
    """Return what the cluster's API has: one call for each list and object, more only for lists of more than 500 objects."""
    try:
        client = make()
    except CollectionError as problem:
        return ClusterReading(problem=str(problem))
    reading = _Reading(client)
    reading.bundle("kubeconfig", "its client certificate", client.client_certificate())
    try:
        return reading.read(rules, history, settings)
    except CollectionError as problem:
        # What was read of it before would be taken for differences.
        return ClusterReading(problem=str(problem), servers=client.servers(), certificates=reading.certificates)


def _presented(settings: Mapping[str, Any], owned: MetalReading, api: ClusterReading) -> Iterator[Dated]:
    """Yield the certificates that the cluster's servers present, of those that can be reached from here."""
    servers = list(_servers(Context(settings, {}).cluster, str(settings["machine_network"]), owned, api))
    certificates = presented_certificates([endpoint for _kind, _subject, endpoint in servers], seconds=READ_SECONDS)
    for (kind, subject, _endpoint), presented in zip(servers, certificates, strict=True):
        validity = validity_of_der(presented.certificate) if presented.certificate else None
        if validity is not None:
            yield Dated(kind, subject, validity)


def _servers(name: str, network: str, owned: MetalReading, api: ClusterReading) -> Iterator[tuple[str, str, Endpoint]]:
    """Yield kind, subject and place of each server: API servers, machine config servers and kubelets."""
    for address, port, server in api.servers:
        yield "API server", f"{server} at {address}", Endpoint(address, port, server)
    for address in controller_addresses(owned.devices, network):
        yield "machine config server", f"api-int.{name} at {address}", Endpoint(address, MACHINE_CONFIG_PORT, f"api-int.{name}")
    nodes = {node["name"] for node in api.nodes}
    for device in named_by_nodes(owned.devices, api.nodes):
        if device["hostname"] in nodes and device.get("state") == "active" and (address := reachable_address(device, network)):
            yield "kubelet serving", str(device["hostname"]), Endpoint(address, KUBELET_PORT, str(device["hostname"]))


@dataclass
class _Reading:
    """One pass over the API: an object that is refused is noted, and all others are read."""

    client: ClusterClient
    unanswered: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    certificates: list[Dated] = field(default_factory=list)

    def read(self, rules: Policy, history: str, settings: Mapping[str, Any]) -> ClusterReading:
        client, objects = self.client, cluster.Objects(self.client)
        kube_version = client.version()
        nodes: list[dict[str, Any]] = self._read(lambda: objects.nodes, "Nodes", [])
        has_nodes = not self.unread
        requests = self._requests(rules)
        reading = ClusterReading(
            now=client.now(),
            kube_version=kube_version,
            cluster_version=self._read(lambda: objects.version, "ClusterVersion", None),
            operators=self._read(lambda: objects.operators, "ClusterOperators", []),
            pools=self._read(lambda: objects.pools, "MachineConfigPools", []),
            boot_images=self._read(lambda: client.get(BOOT_IMAGES), "coreos-bootimages", None),
            nodes=[_node(node) for node in nodes],
            has_nodes=has_nodes,
            verdicts=self._verdicts(rules, requests, nodes, history),
            servers=client.servers(),
        )
        bundles = (("CA of kubelet certificates", lambda: client.get(NODE_SIGNERS)), ("CA of the routers", lambda: objects.ingress_ca))
        for subject, get in bundles:
            bundle = text(mapping(mapping(self._read(get, subject, None)).get("data")).get("ca-bundle.crt"))
            self.bundle("signer", subject, bundle.encode())
        for namespace in SIGNER_NAMESPACES:
            read = partial(client.secrets_metadata, namespace)
            secrets: list[dict[str, Any]] = self._read(lambda: list(read()), f"Secrets of {namespace}", [])  # noqa: B023 - called at once
            for secret in secrets:
                if (validity := annotated_validity(secret)) is not None:
                    subject = f"{namespace}/{printable(mapping(secret.get('metadata')).get('name'))}"
                    self.certificates.append(Dated("signer", subject, validity))
        planned = self._planned(objects, settings) if has_nodes else {}
        return replace(reading, certificates=self.certificates, unread=self.unread, planned=planned)

    def _planned(self, objects: cluster.Objects, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the plan knows of the cluster; of one that a user may read in part the Nodes alone."""
        try:
            return cluster.planned(objects, settings, self.unanswered)
        except ClusterRefusedError as refused:
            nodes, settings_of = node_rows(map(read_node, objects.nodes), {}), [settable(node) for node in objects.nodes]
            return {"nodes": nodes, "objects": settings_of, "waiting": [], "unread": refused.message}

    def bundle(self, kind: str, subject: str, content: bytes) -> None:
        """Note the certificate of a bundle that ends last: an older CA stays in it until it ends, beside its successor."""
        if lifetime := validity_of_pem(content):
            self.certificates.append(Dated(kind, subject, max(lifetime, key=lambda validity: validity.ends_at)))

    def _read(self, read: Callable[[], Value], name: str, otherwise: Value) -> Value:
        """Return what is read, or ``otherwise`` for an object that is refused."""
        try:
            return read()
        except ClusterRefusedError as refused:
            self.unread.append(f"{name}: {refused.message}")
            return otherwise

    def _requests(self, rules: Policy) -> list[Request]:
        """Return all CSRs without their content, and note the client certificates that were issued for kubelets."""
        requests: list[Request] = []
        newest: dict[str, Dated] = {}
        pages: list[tuple[list[dict[str, Any]], str]]
        pages = self._read(lambda: list(self.client.certificate_requests()), "CertificateSigningRequests", [])
        for item in (item for items, _version in pages for item in items):
            request = assess(item, rules)
            requests.append(request)
            if request.state == "pending":
                self.unanswered.append(request.name)
            validity = validity_of_request(item) if request.kind == "client" else None
            known = newest.get(request.node)
            if validity is not None and (known is None or known.validity.ends_at < validity.ends_at):
                newest[request.node] = Dated("kubelet client", printable(request.node), validity)
        self.certificates += newest.values()
        return requests

    def _verdicts(self, rules: Policy, requests: Sequence[Request], nodes: Iterable[Any], history: str) -> list[Verdict]:
        """Return what ``csr_approval`` would decide on each pending CSR now."""
        if not any(request.state == "pending" for request in requests):
            return []
        states: dict[str, Node] = {state.name: state for state in map(read_node, nodes)}
        past: dict[str, Past] = {}
        if history:
            past = self._read(lambda: from_texts(self.client.history(history)), f"ConfigMap {history}", past)
        past = remember(past, requests, states.values(), rules)
        silent = [name for name, state in states.items() if state.unreachable]
        decided = decide(requests, rules, states, self.client.now(), silent, past)
        return [verdict for verdict in decided if verdict.request.state == "pending"]


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    details, own = node_details(node), read_node(node)
    return {
        **{name: details[name] for name in ("name", "ready", "message", "unschedulable", "kubelet_version", "os_image")},
        "control_plane": own.control_plane,
        "since": own.since,
        "device_id": own.device_id,
        "provider_id": own.provider_id,
        "created_at": own.created_at,
        "addresses": own.addresses,
        "cordoned_here": own.cordoned_here,
        "unreachable": own.unreachable,
    }
