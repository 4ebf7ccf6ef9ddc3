# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of an install-config that openshift-install accepts, or crashes on, and that make no working cluster.

What the installer refuses is not here: preflight asks the installer of the release. Values of a wrong type are left to it, too.

Source: openshift/installer, pkg/types/validation; openshift/cluster-network-operator, pkg/network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...module_utils.base.json_objects import mapping
from ..settings.networks import address_bits, ip_network, overlap, parse_network

if TYPE_CHECKING:
    from netaddr import IPNetwork

Release = tuple[int, int]
"""Major and minor number of an OpenShift release: ``(4, 19)``."""

KINDS = ("cluster", "service", "machine")
"""Of the networks of an install-config."""
CLOUD_CONTROLLERS = ("", "External")
CPU_PARTITIONING = ("", "None", "AllNodes")
FEATURE_SETS = ("", "CustomNoUpgrade", "DevPreviewNoUpgrade", "OKD", "TechPreviewNoUpgrade")
SOURCE_POLICIES = ("", "AllowContactingSource", "NeverContactSource")

OVN_SUBNETS: Mapping[int, Sequence[str]] = {
    4: ("100.64.0.0/16", "100.88.0.0/16", "169.254.169.0/29"),
    6: ("fd98::/64", "fd97::/64", "fd69::/125"),
}
"""What OVN-Kubernetes keeps for itself by IP version, its join subnet first, in releases whose installer does not compare: before 4.18."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a field: its path, and a text that begins with the path."""

    path: str
    text: str

    @property
    def top(self) -> str:
        """The field of the install-config that it is in."""
        return re.split(r"[.\[]", self.path, maxsplit=1)[0]


def problems(config: Mapping[str, Any], release: Release | None) -> list[Problem]:
    """Return the values that make no cluster of this release; of any release if it is not known."""
    return [*_unknown_values(config), *_small_subnets(config), *_ovn_subnets(config, release)]


def warnings(config: Mapping[str, Any]) -> list[Problem]:
    """Return the values that the network operator of most releases refuses."""
    pods, services = ({network.version for _index, network, _entry in networks_of(config, kind)} for kind in ("cluster", "service"))
    if not pods or not services or pods == services:
        return []
    path = "networking.clusterNetwork"
    return [Problem(path, f"{path}: the cluster's network operator wants cluster and service networks of the same IP versions")]


def networks_of(config: Mapping[str, Any], kind: str) -> list[tuple[int, IPNetwork, Mapping[str, Any]]]:
    """Return the networks of one of ``KINDS`` with their index and their entry; malformed ones are left out."""
    networks = []
    for index, entry in enumerate(_list(mapping(config.get("networking")).get(f"{kind}Network"))):
        fields = entry if isinstance(entry, Mapping) else {"cidr": entry}
        network = parse_network(str(fields.get("cidr")))
        if network is not None:
            networks.append((index, network, fields))
    return networks


def _unknown_values(config: Mapping[str, Any]) -> Iterator[Problem]:
    external = mapping(mapping(config.get("platform")).get("external"))
    known: list[tuple[str, Any, Sequence[str]]] = [
        ("platform.external.cloudControllerManager", external.get("cloudControllerManager"), CLOUD_CONTROLLERS),
        ("cpuPartitioningMode", config.get("cpuPartitioningMode"), CPU_PARTITIONING),
        # The installer ends with a Go stack trace.
        ("featureSet", config.get("featureSet"), FEATURE_SETS),
    ]
    for index, entry in enumerate(_list(config.get("imageDigestSources"))):
        known.append((f"imageDigestSources[{index}].sourcePolicy", mapping(entry).get("sourcePolicy"), SOURCE_POLICIES))
    for path, value, supported in known:
        if isinstance(value, str) and value not in supported:
            values = ", ".join(json.dumps(value) for value in supported if value)
            yield Problem(path, f"{path}: Unsupported value: {json.dumps(value, ensure_ascii=False)}: supported values: {values}")


def _small_subnets(config: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield host subnets that the cluster's network operator refuses when the bootstrap has begun."""
    for index, network, entry in networks_of(config, "cluster"):
        prefix, most = entry.get("hostPrefix"), address_bits(network) - 2
        if isinstance(prefix, int) and prefix > most:
            path = f"networking.clusterNetwork[{index}].hostPrefix"
            text = f"the cluster's network operator wants /{most} or larger: a node's subnet has no addresses for pods"
            yield Problem(path, f"{path}: Invalid value: {int(prefix)}: {text}")


def _ovn_subnets(config: Mapping[str, Any], release: Release | None) -> Iterator[Problem]:
    networking = mapping(config.get("networking"))
    if release is None or release >= (4, 18) or networking.get("networkType") != "OVNKubernetes":
        return
    own_join_subnet = mapping(mapping(networking.get("ovnKubernetesConfig")).get("ipv4")).get("internalJoinSubnet")
    for kind in KINDS:
        for index, network, _entry in networks_of(config, kind):
            used = OVN_SUBNETS[network.version]
            for subnet in used[1:] if own_join_subnet and network.version == 4 else used:
                if overlap(network, ip_network(subnet)):
                    path = f"networking.{kind}Network[{index}]"
                    yield Problem(path, f"{path}: {network} must not overlap with {subnet}, which OVN-Kubernetes uses itself")


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else ()
