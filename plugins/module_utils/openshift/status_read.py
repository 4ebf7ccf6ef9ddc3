# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a cluster's status is computed from: lists and single objects of both APIs, and the certificates that servers present.

Lists only, so the number of calls does not grow with the number of machines but for pages of 500 objects. Nothing is written. An API that
does not answer is a result, and the other one is read all the same.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    ClusterRefusedError,
    CollectionError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mapping, text
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.certificates import (
    Validity,
    annotated_validity,
    validity_of_pem,
    validity_of_request,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_devices import ROLES, joining_machines
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_objects import find_clusters
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.csr import (
    NodeState,
    Policy,
    Request,
    Verdict,
    assess,
    decide,
    node_state,
    policy,
    remember,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.csr_history import from_texts
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_addresses import api_addresses
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_details import node_details
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_settings import settable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.nodes import read_node

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient

SIGNER_NAMESPACES = (
    "openshift-kube-apiserver-operator",
    "openshift-kube-controller-manager-operator",
    "openshift-machine-config-operator",
    "openshift-etcd",
)
"""Namespaces with the Secrets of the cluster's signers, and of the machine config server."""

MACHINE_CONFIG_PORT, KUBELET_PORT = 22623, 10250

DEVICE_ATTRIBUTES = ("addresses", "ip_addresses", "provisioning_started_at", "provisioning_percentage", "tags", "spot_instance")
"""Attributes of a device that are read beside those of ``metal_cluster_info``."""


@dataclass(frozen=True)
class MetalReading:
    """What the Metal API has of the cluster. ``problem``: why it could not be read."""

    problem: str = ""
    devices: Sequence[Mapping[str, Any]] = ()
    ip_reservations: int = 0
    networks: int = 0
    price_per_hour: float | None = None
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
    objects: Sequence[Mapping[str, Any]] = ()
    """The Nodes with what can be set on them for the inventory."""
    has_nodes: bool = True
    """Whether the Nodes could be listed."""
    verdicts: Sequence[Verdict] = ()
    certificates: Sequence[Dated] = ()
    servers: Sequence[tuple[str, int, str]] = ()
    unread: Sequence[str] = ()


def read_metal(make: Callable[[], MetalClient], cluster: str, project: str | None) -> MetalReading:
    """Return what the Metal API has of a cluster: three lists, one more where it has VLANs or blocks for gateways."""
    try:
        params = {"names": [cluster], "project_ids": None, "project_id": project}
        found = find_clusters(make(), params, device_attributes=DEVICE_ATTRIBUTES)["clusters"][0]
    except CollectionError as problem:
        return MetalReading(problem=str(problem))
    return MetalReading(
        devices=found["devices"],
        ip_reservations=len(found["ip_reservations"]),
        networks=len(found["virtual_networks"]),
        price_per_hour=found["price_per_hour"],
        locks=found["locks"],
    )


def controller_addresses(devices: Iterable[Mapping[str, Any]], network: str = "layer3") -> list[str]:
    """Return the addresses at which the controller reaches the cluster's API, those of active devices first."""
    ordered = sorted(devices, key=lambda device: (device.get("state") != "active", str(device.get("hostname"))))
    by_role = {group: [device for device in ordered if device.get("role") == role] for group, role in ROLES.items()}
    return api_addresses(by_role, network)


def approval_rules(settings: Mapping[str, Any], devices: Iterable[Mapping[str, Any]], names: Iterable[str]) -> Policy:
    """Return the rules by which ``csr_approval`` would decide on the CSRs of this inventory's machines."""
    return policy({**settings, "machines": joining_machines(devices, set(names))})


def read_cluster(make: Callable[[], ClusterClient], rules: Policy, history: str) -> ClusterReading:
    """Return what the cluster's API has: one call for each list and object, more only for lists of more than 500 objects."""
    try:
        client = make()
    except CollectionError as problem:
        return ClusterReading(problem=str(problem))
    reading = _Reading(client)
    reading.bundle("kubeconfig", "its client certificate", client.client_certificate())
    try:
        return reading.read(rules, history)
    except CollectionError as problem:
        # What was read of it before would be taken for differences.
        return ClusterReading(problem=str(problem), servers=client.servers(), certificates=reading.certificates)


@dataclass
class _Reading:
    """One pass over the API: an object that is refused is noted, and all others are read."""

    client: ClusterClient
    unread: list[str] = field(default_factory=list)
    certificates: list[Dated] = field(default_factory=list)

    def read(self, rules: Policy, history: str) -> ClusterReading:
        client = self.client
        kube_version = client.version()
        nodes = self._listed(client.nodes, "Nodes")
        has_nodes = not self.unread
        requests = self._requests(rules)
        reading = ClusterReading(
            now=client.now(),
            kube_version=kube_version,
            cluster_version=self._object(client.cluster_version, "ClusterVersion"),
            operators=self._listed(client.cluster_operators, "ClusterOperators"),
            pools=self._listed(client.machine_config_pools, "MachineConfigPools"),
            boot_images=self._object(client.coreos_boot_images, "coreos-bootimages"),
            nodes=[_node(node) for node in nodes],
            objects=[settable(node) for node in nodes],
            has_nodes=has_nodes,
            verdicts=self._verdicts(rules, requests, nodes, history),
            servers=client.servers(),
        )
        for subject, get in (("CA of kubelet certificates", client.node_signers), ("CA of the routers", client.ingress_ca)):
            bundle = text(mapping(mapping(self._object(get, subject)).get("data")).get("ca-bundle.crt"))
            self.bundle("signer", subject, bundle.encode())
        for namespace in SIGNER_NAMESPACES:
            for secret in self._listed(partial(client.secrets_metadata, namespace), f"Secrets of {namespace}"):
                if (validity := annotated_validity(secret)) is not None:
                    subject = f"{namespace}/{printable(mapping(secret.get('metadata')).get('name'))}"
                    self.certificates.append(Dated("signer", subject, validity))
        return replace(reading, certificates=self.certificates, unread=self.unread)

    def bundle(self, kind: str, subject: str, content: bytes) -> None:
        """Note the certificate of a bundle that ends last: an older CA stays in it until it ends, beside its successor."""
        if found := validity_of_pem(content):
            self.certificates.append(Dated(kind, subject, max(found, key=lambda validity: validity.ends_at)))

    def _listed(self, read: Callable[[], Iterator[dict[str, Any]]], name: str) -> list[dict[str, Any]]:
        try:
            return list(read())
        except ClusterRefusedError as refused:
            self.unread.append(f"{name}: {refused.message}")
            return []

    def _object(self, read: Callable[[], dict[str, Any] | None], name: str) -> dict[str, Any] | None:
        try:
            return read()
        except ClusterRefusedError as refused:
            self.unread.append(f"{name}: {refused.message}")
            return None

    def _requests(self, rules: Policy) -> list[Request]:
        """Return all CSRs without their content, and note the client certificates that were issued for kubelets."""
        found: list[Request] = []
        newest: dict[str, Dated] = {}

        def read() -> Iterator[dict[str, Any]]:
            for items, _version in self.client.certificate_requests():
                yield from items

        for item in self._listed(read, "CertificateSigningRequests"):
            request = assess(item, rules)
            found.append(request)
            validity = validity_of_request(item) if request.kind == "client" else None
            known = newest.get(request.node)
            if validity is not None and (known is None or known.validity.ends_at < validity.ends_at):
                newest[request.node] = Dated("kubelet client", printable(request.node), validity)
        self.certificates += newest.values()
        return found

    def _verdicts(self, rules: Policy, requests: Sequence[Request], nodes: Iterable[Any], history: str) -> list[Verdict]:
        """Return what ``csr_approval`` would decide on each pending CSR now."""
        if not any(request.state == "pending" for request in requests):
            return []
        states: dict[str, NodeState] = {state.name: state for state in map(node_state, nodes)}
        past = {}
        if history:
            try:
                past = from_texts(self.client.history(history))
            except ClusterRefusedError as refused:
                self.unread.append(f"ConfigMap {history}: {refused.message}")
        past = remember(past, requests, states.values(), rules)
        silent = [name for name, state in states.items() if state.silent]
        decided = decide(requests, rules, states, self.client.now(), silent, past)
        return [verdict for verdict in decided if verdict.request.state == "pending"]


def _node(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the comparison needs of a Node."""
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
