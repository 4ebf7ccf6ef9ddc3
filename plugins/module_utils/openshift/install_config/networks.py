# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installer's rules for the networks of an install-config, and those of the cluster's network operator, which come an hour later.

Source: openshift/installer, pkg/types/validation; openshift/cluster-network-operator, pkg/network.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.context import (
    OVN,
    Config,
    Context,
    Rule,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import Problem, invalid
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import address_bits, ip_network, overlap

if TYPE_CHECKING:
    from netaddr import IPNetwork

OVN_SUBNETS: Mapping[int, Sequence[tuple[str, str]]] = {
    4: (("internal", "100.64.0.0/16"), ("transit", "100.88.0.0/16"), ("masquerade", "169.254.0.0/17")),
    6: (("internal", "fd98::/64"), ("transit", "fd97::/64"), ("masquerade", "fd69::/112")),
}
"""The networks OVN-Kubernetes keeps for itself, by IP version. The installer compares them from 4.18 on."""
OVN_MASQUERADE_BEFORE_4_18 = {4: "169.254.169.0/29", 6: "fd69::/125"}

DOCKER_BRIDGE = "172.17.0.0/16"


KINDS = ("machineNetwork", "serviceNetwork", "clusterNetwork")


def path_of(kind: str, index: int) -> str:
    # The installer names the field of cluster networks alone.
    return f"networking.{kind}[{index}]" + (".cidr" if kind == "clusterNetwork" else "")


def _network_type(context: Context) -> Iterator[Problem]:
    network_type = str(context.networking["networkType"])
    refused = {
        "kuryr": "networkType Kuryr is not supported on OpenShift later than 4.14",
        "openshiftsdn": f"networkType OpenShiftSDN is not supported, please use {OVN}",
    }
    if network_type.casefold() in refused:
        yield invalid("networking.networkType", network_type, refused[network_type.casefold()])
    if context.networking.get("ovnKubernetesConfig") is not None and not context.ovn:
        yield invalid(
            "networking.networkType", network_type, "ovnKubernetesConfig may only be specified with the OVNKubernetes networkType"
        )
    mtu = context.networking.get("clusterNetworkMTU")
    if mtu:
        yield invalid("networking.clusterNetworkMTU", mtu, "cluster network MTU is allowed only in AWS deployments")


def _networks(context: Context) -> Iterator[Problem]:
    for position, kind in enumerate(KINDS):
        for index, cidr in enumerate(context.cidrs(kind)):
            problem = network_problem(cidr, is_service=kind == "serviceNetwork")
            if problem:
                yield invalid(path_of(kind, index), cidr, problem)
                continue
            network = ip_network(cidr)
            yield from _ovn_overlaps(context, path_of(kind, index), network)
            yield from _overlaps(context, KINDS[:position], kind, index)
            if kind == "clusterNetwork":
                yield from _host_prefix(context, index, network)


def network_problem(cidr: str, *, is_service: bool) -> str:
    """Return what the installer finds wrong with one network, or nothing."""
    # What is left out is Go's zero value, which has no text.
    if not cidr:
        return "invalid network address. got <nil>, expecting <nil>"
    network = ip_network(cidr)
    if not int(network.ip):
        return "address must be specified"
    if network.ip != network.network:
        return f"invalid network address. got {network}, expecting {network.cidr}"
    if is_service and network.version == 4 and network.prefixlen < 12:
        return "subnet size for IPv4 service network must be /12 or greater (/16 is recommended)"
    if is_service and network.version == 6 and network.prefixlen < 108:
        return "subnet size for IPv6 service network should be /112"
    return ""


def _ovn_overlaps(context: Context, path: str, network: IPNetwork) -> Iterator[Problem]:
    if not context.ovn:
        return
    for name, cidr in OVN_SUBNETS[network.version]:
        if name == "internal" and network.version == 4 and context.join_subnet:
            continue
        # Older installers do not compare; the network of the cluster has these subnets all the same.
        used = OVN_MASQUERADE_BEFORE_4_18[network.version] if name == "masquerade" and context.before(4, 18) else cidr
        if overlap(network, ip_network(used)):
            yield invalid(path, str(network), f"must not overlap with OVNKubernetes default {name} subnet {used}")


def _overlaps(context: Context, earlier: Sequence[str], kind: str, index: int) -> Iterator[Problem]:
    networks = dict(context.networks(kind))
    network, word = networks[index], kind.removesuffix("Network")
    for other_kind in earlier:
        for other_index, other in context.networks(other_kind):
            if overlap(network, other):
                which = "any of the machine networks" if other_kind == "machineNetwork" else f"service network {other_index}"
                yield invalid(path_of(kind, index), str(network), f"{word} network must not overlap with {which}")
    for other_index, other in networks.items():
        if other_index < index and overlap(network, other):
            yield invalid(path_of(kind, index), str(network), f"{word} network must not overlap with {word} network {other_index}")


def host_prefix(entry: Config, network: IPNetwork) -> int:
    """Return the hostPrefix of a cluster network; 0 when it has none, for there is no default as soon as a network is given."""
    length = int(entry.get("hostSubnetLength") or 0)
    return int(entry.get("hostPrefix") or (address_bits(network) - length if length else 0))


def _host_prefix(context: Context, index: int, network: IPNetwork) -> Iterator[Problem]:
    entries = context.networking["clusterNetwork"]
    prefix, path = host_prefix(entries[index], network), f"networking.clusterNetwork[{index}].hostPrefix"
    if not prefix and not context.ovn:
        return
    earlier = [
        host_prefix(entries[place], other) for place, other in context.networks("clusterNetwork") if place < index and other.version == 4
    ]
    if prefix < 0:
        yield invalid(path, prefix, "hostPrefix must be positive")
    elif prefix < network.prefixlen:
        yield invalid(path, prefix, f"cluster network host subnetwork prefix must not be larger size than CIDR {network}")
    elif network.version == 6 and prefix != 64:
        yield invalid(path, prefix, "cluster network host subnetwork prefix must be 64 for IPv6 networks")
    elif network.version == 4 and any(other != prefix for other in earlier):
        yield invalid(path, prefix, "cluster network host subnetwork prefix must be the same value for IPv4 networks")


def _families(context: Context) -> Iterator[Problem]:
    services = context.cidrs("serviceNetwork")
    versions = {kind: [network.version for _index, network in context.networks(kind)] for kind in KINDS}
    if set(versions["serviceNetwork"]) != {4, 6}:
        if set(versions["serviceNetwork"]) == {4} and len(services) > 1:
            yield invalid("networking.serviceNetwork", ", ".join(services), "only one service network can be specified")
        return
    if len(services) != 2:
        text = "when installing dual-stack IPv4/IPv6 you must provide two service networks, one for each IP address type"
        yield invalid("networking.serviceNetwork", ", ".join(services), text)
    for kind, found in versions.items():
        path, shown = f"networking.{kind}", ", ".join(context.cidrs(kind))
        if len(set(found)) == 1:
            yield invalid(path, shown, f"dual-stack IPv4/IPv6 requires an IPv{10 - found[0]} network in this list")
        elif found and found[0] == 6:
            yield invalid(path, shown, "IPv4 addresses must be listed before IPv6 addresses")


def _join_subnet(context: Context) -> Iterator[Problem]:
    cidr, path = context.join_subnet, "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet"
    if not cidr or not context.ovn:
        return
    problem = network_problem(cidr, is_service=False)
    if problem:
        yield invalid(path, cidr, problem)
        return
    subnet = ip_network(cidr)
    if subnet.version != 4:
        yield invalid(path, cidr, "the value must be in proper IPV4 CIDR format")
        return
    for kind in ("clusterNetwork", "machineNetwork", "serviceNetwork"):
        for _index, network in context.networks(kind):
            if overlap(subnet, network):
                yield invalid(path, cidr, f"must not overlap with {kind} {network}")
    entries = context.networking["clusterNetwork"]
    shares = [
        (network, host_prefix(entries[index], network)) for index, network in context.networks("clusterNetwork") if network.version == 4
    ]
    nodes = sum(1 << (prefix - network.prefixlen) for network, prefix in shares if network.prefixlen <= prefix <= address_bits(network))
    if nodes >= (1 << (32 - subnet.prefixlen)) - 3:
        text = "ipv4InternalJoinSubnet is not large enough for the maximum number of nodes which can be supported by ClusterNetwork"
        yield invalid(path, cidr, text)


def _small_shares(context: Context) -> Iterator[Problem]:
    """Yield shares of nodes that the cluster's network operator refuses when the bootstrap has begun."""
    for index, network in context.networks("clusterNetwork"):
        prefix, most = host_prefix(context.networking["clusterNetwork"][index], network), address_bits(network) - 2
        if prefix > most:
            path = f"networking.clusterNetwork[{index}].hostPrefix"
            yield invalid(path, prefix, f"the cluster's network operator wants /{most} or larger: a node's share has no addresses for pods")


def _docker_bridge(context: Context) -> Iterator[Problem]:
    for kind in KINDS:
        for index, network in context.networks(kind):
            if overlap(network, ip_network(DOCKER_BRIDGE)):
                path = f"networking.{kind}[{index}]"
                yield Problem(path, f"{path}: {network} overlaps with default Docker Bridge subnet")


def _service_families(context: Context) -> Iterator[Problem]:
    """Yield what the cluster's network operator refuses and the installer does not."""
    versions = [{network.version for _index, network in context.networks(kind)} for kind in ("clusterNetwork", "serviceNetwork")]
    if versions[0] != versions[1]:
        path = "networking.clusterNetwork"
        yield Problem(path, f"{path}: the cluster's network operator wants cluster and service networks of the same IP versions")


RULES: tuple[Rule, ...] = (_network_type, _networks, _families, _join_subnet)
BEYOND: tuple[Rule, ...] = (_small_shares,)
"""What the installer accepts and the cluster's network operator refuses."""
WARNINGS: tuple[Rule, ...] = (_docker_bridge, _service_families)
