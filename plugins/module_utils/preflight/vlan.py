# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the VLAN of a cluster.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import metros_of
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.networks import parse_network
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context, is_placement
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    UnreadableError,
    counted,
    failed,
    listed,
    not_checkable,
    passed,
)

FEWEST_ADDRESSES = 4
"""A smaller network has no addresses between its own and that for broadcasts."""


def vlan(context: Context) -> Finding:
    if context.text("machine_network") != "vlan":
        unused = list(_without_effect(context))
        return failed("; ".join(unused)) if unused else passed(f"not used by the machine network {context.text('machine_network')}")
    problems = [*_subnet_problems(context), *_machine_problems(context)]
    metros = sorted(metros_of((machine for machine in context.nodes if is_placement(machine.get("placement"))), context.devices))
    if len(metros) > 1:
        problems.append(f"the machines may be in the metros {listed(metros)}, and a VLAN is in one metro")
    where = f"{context.text('vlan_subnet')}, {counted(len(context.nodes), 'machine')}"
    if not context.text("vlan_id"):
        return failed("; ".join(problems)) if problems else passed(f"a VLAN of the cluster, {where}")
    try:
        problems += _existing_problems(context, metros)
    except UnreadableError as problem:
        if problems or problem.failed:
            return failed("; ".join([*problems, str(problem)]))
        return not_checkable(str(problem))
    return failed("; ".join(problems)) if problems else passed(f"the existing VLAN {context.text('vlan_id')}, {where}")


def _without_effect(context: Context) -> Iterator[str]:
    for name in ("vlan_id", "vlan_subnet"):
        if context.text(name):
            yield f"openshift_{name} has no effect with openshift_machine_network {context.text('machine_network')}"
    if named := [str(machine["hostname"]) for machine in context.machines if machine.get("vlan_address")]:
        yield f"openshift_vlan_address has no effect with openshift_machine_network {context.text('machine_network')}: {listed(named)}"


def _subnet(context: Context) -> IPv4Network | None:
    try:
        return IPv4Network(context.text("vlan_subnet"))
    except ValueError:
        return None


def _subnet_problems(context: Context) -> Iterator[str]:
    text, subnet = context.text("vlan_subnet"), _subnet(context)
    if subnet is None or "/" not in text or subnet.num_addresses < FEWEST_ADDRESSES:
        yield f"openshift_vlan_subnet has to be an IPv4 network such as 192.168.40.0/24, it is '{text}'"
        return
    given = context.settings.get("machine_networks")
    machine_networks = [found for each in (given if isinstance(given, list) else []) if (found := parse_network(str(each)))]
    own = parse_network(text)
    if own is not None and not any(own in network for network in machine_networks):
        yield f"openshift_vlan_subnet {text} is in none of openshift_machine_networks"


def _machine_problems(context: Context) -> Iterator[str]:
    """Yield problems of the machines' addresses and ports."""
    addresses = {str(machine["hostname"]): str(machine.get("vlan_address") or "") for machine in context.nodes}
    if without := [name for name, address in addresses.items() if not address]:
        yield f"openshift_vlan_address is not set for {listed(without)}"
    for address, times in Counter(filter(None, addresses.values())).items():
        if times > 1:
            yield f"{listed(name for name, own in addresses.items() if own == address)} have the same openshift_vlan_address {address}"
    subnet = _subnet(context)
    ends = (subnet.network_address, subnet.broadcast_address) if subnet else ()
    for name, address in addresses.items():
        if subnet and address and (IPv4Address(address) not in subnet or IPv4Address(address) in ends):
            yield f"openshift_vlan_address {address} of {name} is no address of a machine in {subnet}"
    if frozen := [str(machine["hostname"]) for machine in context.nodes if machine.get("network_frozen")]:
        yield f"metal_network_frozen forbids to put {listed(frozen)} into a VLAN"
    outside = [machine for machine in context.machines if machine not in context.nodes and machine.get("vlan_address")]
    if outside:
        yield f"openshift_vlan_address has no effect on the load balancers {listed(str(machine['hostname']) for machine in outside)}"


def _existing_problems(context: Context, metros: list[str]) -> Iterator[str]:
    """Yield why machines cannot be in the VLAN that is given. Raises :class:`UnreadableError` if it was not read."""
    found = context.read("vlan", "virtual_networks")
    if not found:
        yield f"the project has no VLAN {context.text('vlan_id')} (openshift_vlan_id)"
    elif others := [metro for metro in metros if metro != found[0]["metro"]]:
        yield f"the VLAN {context.text('vlan_id')} is in {found[0]['metro']}, and machines are in {listed(others)}"
