# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the VLAN of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from ...module_utils.machines.placement import metros_of
from ...module_utils.metal.gateway import SUBNET_SIZES
from ..settings.networks import parse_network
from ..settings.variables import VARIABLES
from ..settings.vlan import LAYER_2, OWN_GATEWAYS, gateway_kind, ipv4_network
from .context import Context, is_placement
from .devices import block_problem
from .findings import Finding, UnreadableError, counted, failed, listed, not_checkable, passed
from .load_balancer import announced_addresses, announced_problems, metallb_uses_bgp, needs_bgp, uses_arp

FEWEST_ADDRESSES = 4
"""A smaller network has no addresses between its own and that for broadcasts."""


def vlan(context: Context) -> Finding:
    if context.text("machine_network") != "vlan":
        unused = list(_without_effect(context))
        return failed("; ".join(unused)) if unused else passed(f"not used by the machine network {context.text('machine_network')}")
    problems = list(_mode_problems(context))
    metros = sorted(metros_of((machine for machine in context.nodes if is_placement(machine.get("placement"))), context.devices))
    if len(metros) > 1:
        problems.append(f"the machines may be in the metros {listed(metros)}, and a VLAN is in one metro")
    unread = []
    for rule in (_existing_problems, _gateway_problems, _reservation_problems):
        try:
            problems += rule(context, metros)
        except UnreadableError as problem:
            unread.append(problem)
    subnet = _subnet(context)
    if not unread:
        problems += [*_subnet_problems(context, subnet), *_machine_problems(context, subnet), *_announced_problems(context, subnet)]
    if problems or any(problem.failed for problem in unread):
        return failed("; ".join([*problems, *map(str, unread)]))
    if unread:
        return not_checkable(str(unread[0]))
    return passed(_description(context, subnet))


def _description(context: Context, subnet: IPv4Network | None) -> str:
    gateway, size = context.text("vlan_gateway"), context.text("vlan_gateway_size")
    which = f"the existing VLAN {context.text('vlan_id')}" if context.text("vlan_id") else "a VLAN of the cluster"
    through = {"none": "", "private": f" with a private gateway of {size} addresses", "public": " with a public gateway"}
    where = through.get(gateway, f" with the gateway {gateway}")
    if gateway == "public" and not context.text("vlan_reservation_id"):
        where += f" of {size} addresses"
    in_layer2 = " in layer 2" if context.text("vlan_mode") == LAYER_2 else ""
    return ", ".join([f"{which}{where}", *([str(subnet)] if subnet else []), f"{counted(len(context.nodes), 'machine')}{in_layer2}"])


def _mode_problems(context: Context) -> Iterator[str]:
    """Yield why machines would be without a way out, or the cluster without an API that machines reach when they boot."""
    kind, gateway = gateway_kind(context.text("vlan_gateway")), context.text("vlan_gateway")
    if not kind:
        yield (
            "openshift_vlan_gateway has to be none, private, public, the id of a Metal gateway or the address of a router, it is"
            f" '{gateway}'"
        )
    if kind == "private" and context.text("vlan_id"):
        yield (
            "openshift_vlan_gateway private cannot be used in the existing VLAN of openshift_vlan_id, since destroy could not distinguish"
            " its gateway from others: create a gateway there and give its id"
        )
    if kind == "id" and not context.text("vlan_id"):
        yield f"openshift_vlan_gateway {gateway} is an existing gateway, and openshift_vlan_id does not name its VLAN"
    size = context.text("vlan_gateway_size")
    if kind in OWN_GATEWAYS and not context.text("vlan_reservation_id") and size not in map(str, SUBNET_SIZES):
        yield f"openshift_vlan_gateway_size has to be {', '.join(map(str, SUBNET_SIZES[:-1]))} or {SUBNET_SIZES[-1]}, it is {size}"
    if context.text("vlan_mode") != LAYER_2:
        if kind == "address":
            yield f"openshift_vlan_gateway {gateway} has no effect with openshift_vlan_mode hybrid: the default gateway is that of the bond"
        if uses_arp(context):
            yield (
                "openshift_api_address needs openshift_vlan_mode layer2: machines that boot reach the VLAN through its public gateway"
                " alone, and in hybrid mode the answers leave by the bond"
            )
        return
    if kind == "none":
        yield "openshift_vlan_mode layer2 needs openshift_vlan_gateway: machines in layer 2 reach other networks by a gateway alone"
    is_public = _is_public(context)
    has_other_images = bool(context.settings.get("proxy") or context.settings.get("image_digest_sources"))
    if kind in ("private", "id") and is_public is False and not has_other_images:
        yield (
            "a private gateway does not lead to the internet: machines in layer 2 need openshift_proxy or openshift_image_digest_sources to"
            " pull images"
        )
    if kind in ("private", "address", "id") and is_public is False and context.text("load_balancer") != "external":
        yield (
            "machines boot in layer 3 and fetch their configs from the API in layer 2, which they reach through a public gateway or"
            " openshift_load_balancer external alone"
        )
    is_kube_vip = context.text("load_balancer") == "kube_vip" and needs_bgp(context)
    if is_kube_vip or metallb_uses_bgp(context):
        name = "openshift_load_balancer kube_vip without openshift_api_address" if is_kube_vip else "openshift_metallb"
        yield f"{name} speaks BGP from the private address of the device, which machines in layer 2 have not"


def _is_public(context: Context) -> bool | None:
    """Return whether the addresses in the VLAN are public ones; None as long as an existing gateway was not read."""
    kind = gateway_kind(context.text("vlan_gateway"))
    if kind != "id":
        return kind == "public"
    gateway = _given(context, "vlan_gateway", "metal_gateways", "vlan_gateway")
    return None if gateway is None else gateway.get("private_ipv4_subnet_size") is None and gateway.get("vrf_id") is None


def _given(context: Context, reading: str, payload: str, name: str) -> Mapping[str, Any] | None:
    """Return the existing object that a variable names; None of one that the project lacks."""
    objects = (context.readings.get(reading) or {}).get(payload) or ()
    return next((item for item in objects if item.get("id") == context.text(name)), None)


def _without_effect(context: Context) -> Iterator[str]:
    for name in ("vlan_id", "vlan_subnet", "vlan_mode", "vlan_gateway", "vlan_reservation_id"):
        if context.text(name) not in ("", VARIABLES[f"openshift_{name}"].default):
            yield f"openshift_{name} has no effect with openshift_machine_network {context.text('machine_network')}"
    if named := [str(machine["hostname"]) for machine in context.machines if machine.get("vlan_address")]:
        yield f"openshift_vlan_address has no effect with openshift_machine_network {context.text('machine_network')}: {listed(named)}"


def _subnet(context: Context) -> IPv4Network | None:
    """Return the network of the VLAN: that of the Metal gateway or of its block; None if it is malformed, or not known before the run."""
    kind = gateway_kind(context.text("vlan_gateway"))
    if kind == "id":
        return ipv4_network(str((_given(context, "vlan_gateway", "metal_gateways", "vlan_gateway") or {}).get("gateway_address")))
    if kind == "public" and context.text("vlan_reservation_id"):
        chosen = _given(context, "vlan_reservation", "ip_reservations", "vlan_reservation_id")
        return ipv4_network(f"{chosen.get('network')}/{chosen.get('cidr')}") if chosen else None
    return None if kind in OWN_GATEWAYS else ipv4_network(context.text("vlan_subnet"))


def _subnet_problems(context: Context, subnet: IPv4Network | None) -> Iterator[str]:
    text, kind = context.text("vlan_subnet"), gateway_kind(context.text("vlan_gateway"))
    if kind in ("id", *OWN_GATEWAYS):
        if text and text != str(subnet):
            known = f", {subnet}" if subnet else ""
            yield f"openshift_vlan_subnet is {text}, and the subnet is that of the Metal gateway{known}: leave openshift_vlan_subnet empty"
        return
    if subnet is None or not text.startswith(f"{subnet[0]}/") or subnet.num_addresses < FEWEST_ADDRESSES:
        yield f"openshift_vlan_subnet has to be an IPv4 network such as 192.168.40.0/24, it is '{text}'"
        return
    if not any(parse_network(text) in network for network in filter(None, map(parse_network, context.texts("machine_networks")))):
        yield f"openshift_vlan_subnet {text} is in none of openshift_machine_networks"
    if kind == "address" and IPv4Address(context.text("vlan_gateway")) not in subnet:
        yield f"openshift_vlan_gateway {context.text('vlan_gateway')} is not in openshift_vlan_subnet {text}"


def _machine_problems(context: Context, subnet: IPv4Network | None) -> Iterator[str]:
    address_of = {str(machine["hostname"]): str(machine.get("vlan_address") or "") for machine in context.nodes}
    if without := [name for name, address in address_of.items() if not address]:
        yield f"openshift_vlan_address is not set for {listed(without)}"
    size = context.text("vlan_gateway_size")
    where = str(subnet or f"a subnet of {size} addresses")
    if subnet is None and gateway_kind(context.text("vlan_gateway")) in OWN_GATEWAYS:
        if named := [name for name, address in address_of.items() if address and not address.isdecimal()]:
            yield (
                f"openshift_vlan_address of {listed(named)} has to be a number: the subnet of the gateway is not known before"
                " the gateway is created"
            )
        address_of = {name: address for name, address in address_of.items() if address.isdecimal()}
        # Numbers are the same in any network of this size.
        subnet = IPv4Network((0, 33 - int(size).bit_length())) if size in map(str, SUBNET_SIZES) else None
    addresses = {name: _in_subnet(subnet, address) for name, address in address_of.items() if address}
    for address, times in Counter(addresses.values()).items():
        if times > 1:
            names = [name for name, own in addresses.items() if own == address]
            yield f"{listed(names)} have the same openshift_vlan_address {address_of[names[0]]}"
    for name, address in addresses.items():
        if subnet is None:
            break
        number = int(address) if address.isdecimal() else int(IPv4Address(address)) - int(subnet.network_address)
        if not 0 < number < subnet.num_addresses - 1:
            yield f"openshift_vlan_address {address_of[name]} of {name} is no address of a machine in {where}"
        elif address == _gateway_address(context, subnet):
            yield f"openshift_vlan_address {address_of[name]} of {name} is that of the gateway"
    if frozen := [str(machine["hostname"]) for machine in context.nodes if machine.get("network_frozen")]:
        yield f"metal_network_frozen forbids to put {listed(frozen)} into a VLAN"
    outside = [machine for machine in context.machines if machine not in context.nodes and machine.get("vlan_address")]
    if outside:
        yield f"openshift_vlan_address has no effect on the load balancers {listed(str(machine['hostname']) for machine in outside)}"


def _announced_problems(context: Context, subnet: IPv4Network | None) -> Iterator[str]:
    """Yield why nodes cannot announce addresses by ARP in the VLAN. The check "load balancer" reports what is no address."""
    if subnet is None:
        for name, text in announced_addresses(context)[:1]:
            yield (
                f"{name} {text} has to be in the VLAN, and the subnet of its gateway is not known before the gateway is created: set"
                " openshift_vlan_reservation_id to a block of yours, or openshift_vlan_gateway to the ID of an existing gateway"
            )
        return
    nodes = [(str(machine["hostname"]), _in_subnet(subnet, str(machine.get("vlan_address") or ""))) for machine in context.nodes]
    yield from announced_problems(context, [subnet], [*nodes, ("the gateway", _gateway_address(context, subnet))])


def _gateway_address(context: Context, subnet: IPv4Network) -> str:
    """Return the address of the gateway, empty without one. A Metal gateway has the first one of its subnet."""
    gateway = context.text("vlan_gateway")
    kind = gateway_kind(gateway)
    return gateway if kind == "address" else str(subnet[1]) if kind in ("id", *OWN_GATEWAYS) else ""


def _in_subnet(subnet: IPv4Network | None, address: str) -> str:
    """Return an address, also of a number in a known network; a number that is none of the network stays one."""
    if subnet is None or not address.isdecimal() or int(address) >= subnet.num_addresses:
        return address
    return str(subnet[int(address)])


def _existing_problems(context: Context, metros: list[str]) -> Iterator[str]:
    """Yield why machines cannot be in the VLAN that is given. Raises :class:`UnreadableError` if it was not read."""
    if not context.text("vlan_id"):
        return
    networks = context.read("vlan", "virtual_networks")
    if not networks:
        yield f"the project has no VLAN {context.text('vlan_id')} (openshift_vlan_id)"
    elif others := [metro for metro in metros if metro != networks[0]["metro"]]:
        yield f"the VLAN {context.text('vlan_id')} is in {networks[0]['metro']}, and machines are in {listed(others)}"


def _gateway_problems(context: Context, _metros: list[str]) -> Iterator[str]:
    """Yield why the given gateway cannot be that of the machines. Raises :class:`UnreadableError` if it was not read.

    A gateway is in the metro of its VLAN, whose metro is checked.
    """
    identity = context.text("vlan_gateway")
    if gateway_kind(identity) != "id":
        return
    context.read("vlan_gateway", "metal_gateways")
    gateway = _given(context, "vlan_gateway", "metal_gateways", "vlan_gateway")
    if gateway is None:
        yield f"the project has no Metal gateway {identity} (openshift_vlan_gateway)"
    elif gateway["state"] == "deleting":
        yield f"the Metal gateway {identity} (openshift_vlan_gateway) is being deleted"
    elif context.text("vlan_id") and gateway["virtual_network_id"] != context.text("vlan_id"):
        yield (
            f"the Metal gateway {identity} is in the VLAN {gateway['virtual_network_id']}, and"
            f" openshift_vlan_id is {context.text('vlan_id')}"
        )


def _reservation_problems(context: Context, metros: list[str]) -> Iterator[str]:
    """Yield why the given block cannot be that of the gateway. Raises :class:`UnreadableError` if it was not read."""
    identity = context.text("vlan_reservation_id")
    if not identity:
        return
    if context.text("vlan_gateway") != "public":
        yield f"openshift_vlan_reservation_id has no effect with openshift_vlan_gateway {context.text('vlan_gateway')}"
        return
    if context.text("vlan_id"):
        yield (
            "openshift_vlan_reservation_id and openshift_vlan_id exist both, so destroy could not distinguish the gateway of the cluster"
            " from others: create the gateway and give its id"
        )
    context.read("vlan_reservation", "ip_reservations")
    block = _given(context, "vlan_reservation", "ip_reservations", "vlan_reservation_id")
    if problem := block_problem(identity, block, metros):
        yield f"{problem} (openshift_vlan_reservation_id)"
    elif block and (block.get("type") != "public_ipv4" or block.get("quantity") not in SUBNET_SIZES):
        sizes = f"{SUBNET_SIZES[0]} to {SUBNET_SIZES[-1]}"
        yield f"the IP reservation {identity} is {block.get('type')} with {block.get('quantity')} addresses, not a public block of {sizes}"
