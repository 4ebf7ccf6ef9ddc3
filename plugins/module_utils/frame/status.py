# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module of a cluster's status: it reads both APIs, neither of which has to answer, and writes to none.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import KUBERNETES_IMPORT_ERROR, ClusterClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.tls import Endpoint, presented_certificates
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.base import ModuleFrame
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.cluster import CLUSTER_OPTIONS
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import METAL_OPTIONS, metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.certificates import validity_of_der
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_addresses import MACHINE_NETWORKS, reachable_address
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.node_identity import named_by_nodes
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.pkcs10 import CRYPTOGRAPHY_IMPORT_ERROR
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.status import Desired, cluster_status
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.status_read import (
    KUBELET_PORT,
    MACHINE_CONFIG_PORT,
    ClusterReading,
    Dated,
    MetalReading,
    approval_rules,
    controller_addresses,
    read_cluster,
    read_metal,
)

STATUS_OPTIONS = Options(
    {
        "cluster": {"type": "str", "required": True},
        "machines": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "hostname": {"type": "str", "required": True},
                "role": {"type": "str"},
                "pool": {"type": "str"},
                "plan": {"type": "str"},
                "metro": {"type": "str"},
                "placement": {"type": "list", "elements": "dict"},
                "labels": {"type": "dict"},
                "annotations": {"type": "dict"},
                "taints": {"type": "list", "elements": "dict"},
            },
        },
        "certificate_days": {"type": "int", "default": 30},
        "server_certificates": {"type": "bool", "default": True},
        "machine_network": {"type": "str", "choices": list(MACHINE_NETWORKS), "default": "layer3"},
        "additional_addresses": {"type": "list", "elements": "str", "default": []},
        "window": {"type": "float", "default": 7200},
        "short_names": {"type": "bool", "default": False},
        "pending_limit": {"type": "int"},
        "second_key_after": {"type": "float", "default": 60, "no_log": False},
        "recover_nodes": {"type": "bool", "default": False},
        "history": {"type": "str", "default": ""},
        "in_job": {"type": "bool", "default": False},
    }
).merge(CLUSTER_OPTIONS, METAL_OPTIONS)

READ_SECONDS = 4.0
"""Seconds for the certificates of all servers: five hundred kubelets answer in two."""


class StatusModule(ModuleFrame):
    """The status of one cluster: used as ``with StatusModule() as module: module.report()``."""

    def __init__(self) -> None:
        super().__init__(STATUS_OPTIONS)
        for library, problem in (("kubernetes", KUBERNETES_IMPORT_ERROR), ("cryptography", CRYPTOGRAPHY_IMPORT_ERROR)):
            if problem:
                self.module.fail_json(msg=missing_required_lib(library), exception=problem)

    def report(self) -> None:
        """Read both APIs and return the status. An API that does not answer is a part of the status, not an error."""
        params = self.params
        desired = Desired(params["cluster"], params["machines"], params["certificate_days"], params["machine_network"], params["in_job"])
        metal = read_metal(self._metal_client, params["cluster"], params["project_id"])
        addresses = params["api_addresses"] or controller_addresses(metal.devices, params["machine_network"])
        rules = approval_rules(params, metal.devices, (machine["hostname"] for machine in params["machines"]))
        api = read_cluster(lambda: self._cluster_client(addresses), rules, params["history"])
        presented = list(self._presented(metal, api)) if params["server_certificates"] else []
        self.result["status"] = cluster_status(desired, metal, api, presented, datetime.now(UTC))

    def _metal_client(self) -> MetalClient:
        return metal_client(self.module, read_only=True)

    def _cluster_client(self, addresses: list[str]) -> ClusterClient:
        params = self.params
        return ClusterClient(
            params["kubeconfig"], addresses=addresses, timeout=params["api_timeout"], read_only=True, directory=self.module.tmpdir
        )

    def _presented(self, metal: MetalReading, api: ClusterReading) -> Iterator[Dated]:
        """Yield the certificates that the cluster's servers present, of those that can be reached from here."""
        servers = list(self._servers(metal, api))
        found = presented_certificates([endpoint for _kind, _subject, endpoint in servers], seconds=READ_SECONDS)
        for (kind, subject, _endpoint), presented in zip(servers, found, strict=True):
            validity = validity_of_der(presented.certificate) if presented.certificate else None
            if validity is not None:
                yield Dated(kind, subject, validity)

    def _servers(self, metal: MetalReading, api: ClusterReading) -> Iterator[tuple[str, str, Endpoint]]:
        """Yield kind, subject and place of each server: API servers, machine config servers and kubelets."""
        for address, port, name in api.servers:
            yield "API server", f"{name} at {address}", Endpoint(address, port, name)
        internal = f"api-int.{self.params['cluster']}"
        for address in controller_addresses(metal.devices, self.params["machine_network"]):
            yield "machine config server", f"{internal} at {address}", Endpoint(address, MACHINE_CONFIG_PORT, internal)
        nodes = {node["name"] for node in api.nodes}
        for hostname, address in _addresses(named_by_nodes(metal.devices, api.nodes), self.params["machine_network"]):
            if hostname in nodes:
                yield "kubelet serving", hostname, Endpoint(address, KUBELET_PORT, hostname)


def _addresses(devices: Iterable[Any], network: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each active device and the address at which it is reached from here, of those that have one."""
    for device in devices:
        if device.get("state") == "active" and (address := reachable_address(device, network)):
            yield str(device["hostname"]), address
