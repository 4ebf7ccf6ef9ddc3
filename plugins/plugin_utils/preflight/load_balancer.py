# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the load balancer of the API and the routers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from ..manifests.ingress_controller import CONTROL_PLANE
from ..services.metallb import IPV4, address_range
from ..settings.networks import ip_families, is_address
from ..settings.vlan import ipv4_network
from .context import Context, Machine
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if, warning

API_PORT, MACHINE_CONFIG_PORT, HTTPS_PORT = 6443, 22623, 443
FIREWALL = "check that this is the address of the load balancer, and that no firewall drops the controller's packets to it"
MOST = 2
"""Load balancer devices that can share an elastic address."""


def kind(context: Context) -> Finding:
    chosen = context.text("load_balancer")
    machines = context.groups["load_balancer"]
    metros = sorted({str(machine.get("metro")) for machine in machines})
    state = f"{chosen}, {counted(len(machines), 'host')} in the group load_balancer"
    if len(metros) > 1 or (len(machines) > 1 and any(machine.get("placement") for machine in machines)):
        return failed(
            f"{state}; the load balancers are in {' and '.join(metros)}, and their elastic address belongs to one metro",
            "set the same metal_metro for all hosts of the group load_balancer, and no metal_placement",
        )
    addresses = {name: context.text(name) for name in ("api_address", "ingress_address")}
    if chosen == "external":
        malformed = [f"openshift_{name} is {text or 'not set'}" for name, text in addresses.items() if not is_address(text)]
        if malformed:
            return failed(f"{state}; {' and '.join(malformed)}", "set both to the addresses of your load balancer")
    elif any(addresses.values()) and not uses_arp(context):
        return failed(
            f"{state}; openshift_api_address, alone or with openshift_ingress_address, is of kube_vip or of an external load balancer",
            "set openshift_load_balancer to kube_vip or external, and openshift_api_address, or remove the addresses",
        )
    if chosen == "kube_vip":
        problems = list(_kube_vip_problems(context))
        return passed_if(not problems, f"{state}; {problems[0]}" if problems else state)
    if chosen == "haproxy" and needs_bgp(context) and not context.text("metadata_url"):
        return failed(
            f"{state}; they read the routers to which they announce their address from their metadata, and openshift_metadata_url is empty",
            "set openshift_metadata_url to the URL of the service's metadata, or use one load balancer",
        )
    fits = {"dns": not machines, "external": not machines, "haproxy": 1 <= len(machines) <= MOST}
    return passed_if(fits.get(chosen, False), state)


def _kube_vip_problems(context: Context) -> Iterator[str]:
    if context.groups["load_balancer"]:
        yield "kube_vip uses no load balancer devices: remove the hosts from the group load_balancer"
    if context.texts("service_networks") and IPV4 not in ip_families(context.texts("service_networks")):
        yield "the address that kube-vip announces is of IPv4, and openshift_service_networks has none"
    if uses_arp(context):
        yield from _arp_problems(context)
        return
    masters = context.groups["control_plane"]
    metros = sorted({str(machine.get("metro")) for machine in masters})
    if len(metros) > 1 or any(machine.get("placement") for machine in masters):
        where = " and ".join(metros) if len(metros) > 1 else "the metros of metal_placement"
        yield f"the control plane is in {where}, and the elastic address that kube-vip announces belongs to one metro"
    if context.text("machine_network") == "layer3":
        yield "BGP sessions use the private addresses, and openshift_machine_network layer3 configures none: use bond"


def _arp_problems(context: Context) -> Iterator[str]:
    """Yield why the nodes cannot announce these addresses by ARP."""
    announced = announced_addresses(context)
    yield from (f"{name} {text} is not an IPv4 address" for name, text in announced if ":" in text or not address_range(text))
    taken, subnets = list(announced), set()
    # The check of the VLAN knows the addresses in it.
    for device in context.devices if context.text("machine_network") != "vlan" else ():
        for entry in (entry for entry in device["ip_addresses"] if entry["public"] and entry["address_family"] == IPV4):
            taken += [(str(device["hostname"]), str(entry["address"])), ("the gateway", str(entry["gateway"]))]
            subnets.add(ipv4_network(f"{entry['address']}/{entry['cidr']}"))
    yield from announced_problems(context, [subnet for subnet in subnets if subnet], taken)
    if context.text("ingress_address") and not context.settings.get("metallb"):
        yield "MetalLB announces openshift_ingress_address: set openshift_metallb to true"


def uses_arp(context: Context) -> bool:
    """Return whether nodes announce the address of the API by ARP, and those of MetalLB."""
    return context.text("load_balancer") == "kube_vip" and bool(context.text("api_address"))


def announced_addresses(context: Context) -> list[tuple[str, str]]:
    """Return what nodes announce by ARP: variables with an address, or with a network or a range of addresses."""
    names = ("api_address", "ingress_address") if uses_arp(context) else ()
    pools = [("openshift_metallb_addresses", text) for text in context.texts("metallb_addresses") if names]
    return [*((f"openshift_{name}", context.text(name)) for name in names if context.text(name)), *pools]


def announced_problems(context: Context, subnets: Collection[IPv4Network], taken: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield which addresses that nodes announce by ARP are in none of the subnets, or taken: owners and their addresses."""
    for name, text in announced_addresses(context):
        first, last = address_range(text) or (0, 0)
        if first and subnets and not any(int(subnet[0]) < first and last < int(subnet[-1]) for subnet in subnets):
            yield f"{name} {text} is not within the addresses of machines in {listed(map(str, subnets))}"
        for owner, address in taken:
            other = address_range(address)
            if other and (owner, address) != (name, text) and first <= other[1] and other[0] <= last:
                yield f"{name} {text} conflicts with {owner} ({address})"


def needs_bgp(context: Context) -> bool:
    """Return whether devices of the cluster announce an address by BGP."""
    chosen = context.text("load_balancer")
    return (chosen == "kube_vip" and not uses_arp(context)) or (chosen == "haproxy" and len(context.groups["load_balancer"]) > 1)


def metallb_uses_bgp(context: Context) -> bool:
    return bool(context.settings.get("metallb")) and not uses_arp(context)


def bgp(context: Context) -> Finding:
    if not needs_bgp(context) and not metallb_uses_bgp(context):
        return passed("not needed: no device announces an address by BGP")
    context.read("bgp", "bgp_sessions")
    config = context.readings["bgp"].get("bgp_config")
    if config is None:
        return passed("not enabled yet: this run enables local BGP for the project")
    observed = f"{config['deployment_type']} BGP with ASN {config['asn']}, status {config['status']}"
    return passed_if(config["status"] == "enabled", observed)


def ingress(context: Context) -> Finding:
    problem = next(_ingress_problems(context), None)
    if problem:
        return failed(problem)
    workers = context.groups["workers"]
    able = _router_machines(context)
    if context.text("ingress_pool") or context.text("ingress_replicas"):
        return passed(f"{counted(_router_count(context), 'router')} in {_router_pool(context)}")
    if workers and not able:
        return warning(
            "no worker without taints: routers run on none of them unless openshift_ingress_pool or a manifest of an IngressController"
            " says otherwise"
        )
    return passed(f"routers may run on {counted(len(able), 'worker')}" if workers else "routers run on the control plane")


def _ingress_problems(context: Context) -> Iterator[str]:
    pool, replicas = context.text("ingress_pool"), context.text("ingress_replicas")
    able = len(_router_machines(context))
    slots = context.text("load_balancer_ingress_slots")
    if context.text("load_balancer") == "haproxy" and slots.isdecimal() and able > int(slots):
        yield (
            f"routers may run on {counted(able, 'machine')}, and HAProxy has {counted(int(slots), 'slot')} for them: routers on others get"
            f" no connections. Set openshift_ingress_pool to a pool of at most {slots} machines, or load_balancer_ingress_slots to at least"
            f" {able}: this changes the userdata of load balancer devices, and existing ones keep their slots until they are created again"
        )
    elif replicas and not (replicas.isdecimal() and int(replicas) > 0):
        yield f"openshift_ingress_replicas is {replicas}: set it to 1 or more, since the installation does not complete without routers"
    elif pool == CONTROL_PLANE and context.groups["workers"]:
        yield "openshift_ingress_pool is control_plane, whose machines run no routers beside workers: set it to a pool of workers"
    elif pool and not (able and (context.groups["workers"] or pool == CONTROL_PLANE)):
        pools = sorted({str(machine.get("pool")) for machine in context.groups["workers"]})
        yield f"no machine is in the pool {pool} of openshift_ingress_pool; pools of workers: {listed(pools) or 'none'}"
    elif (pool or replicas) and (context.readings.get("manifests") or {}).get("ingress_controller"):
        yield "openshift_manifests has the IngressController default, which openshift_ingress_pool and openshift_ingress_replicas write"
    elif (pool or replicas) and able < _router_count(context):
        yield (
            f"{counted(_router_count(context), 'router')} in {_router_pool(context)}, which has {counted(able, 'machine')}, and each needs"
            " a machine of its own: add machines, or set openshift_ingress_replicas to their number"
        )


def _router_machines(context: Context) -> list[Machine]:
    workers = context.groups["workers"]
    return [machine for machine in workers if machine.get("may_run_router")] if workers else context.groups["control_plane"]


def _router_pool(context: Context) -> str:
    pool = context.text("ingress_pool")
    if pool and pool != CONTROL_PLANE:
        return f"the pool {pool}"
    return "the pool of workers without taints" if context.groups["workers"] else "the control plane"


def _router_count(context: Context) -> int:
    """Return the number of routers: that of the inventory, or the ingress operator's default by the topology of the cluster."""
    return int(context.text("ingress_replicas") or (1 if len(context.groups["control_plane"]) == 1 else 2))


def ports(context: Context) -> Finding:
    reading = context.readings.get("load_balancer") or {}
    results = reading.get("results") or []
    if uses_arp(context) and results and not reading.get("own"):
        return _announced(context, results)
    finding = _ports(context, [result for result in results if result["port"] != MACHINE_CONFIG_PORT], is_own=bool(reading.get("own")))
    published = [str(result["address"]) for result in results if (result["port"], result["answer"]) == (MACHINE_CONFIG_PORT, "open")]
    if not published or finding.verdict == "failed":
        return finding
    return warning(
        f"{finding.found}; {listed(published)} port {MACHINE_CONFIG_PORT} is open to the controller: clients that reach it get the pull"
        " secret and the token for node CSRs",
        "let the load balancer accept connections to this port from the nodes alone",
    )


def _announced(context: Context, results: Sequence[Mapping[str, Any]]) -> Finding:
    """Return the finding for the addresses that nodes announce by ARP."""
    nodes: Sequence[Mapping[str, Any]] = (context.readings.get("kubeconfig") or {}).get("nodes") or ()
    has_service = any(context.text("ingress_address") in node.get("ingress_addresses", ()) for node in nodes)
    expected = {API_PORT: context.is_bootstrapped, HTTPS_PORT: has_service}
    opened = listed(_endpoint(result) for result in results if result["answer"] == "open")
    closed = listed(_endpoint(result) for result in results if result["answer"] != "open" and expected[result["port"]])
    if closed:
        return failed(
            f"no node answers at {closed}",
            "check journalctl -u kube-vip on the control plane nodes, and for ingress the routers and the pods speaker in metallb-system",
        )
    if opened and not context.devices:
        return failed(f"{opened} is open, and no machine of the cluster exists", "set an address that is free")
    if nodes and not has_service and any((result["port"], result["answer"]) == (HTTPS_PORT, "open") for result in results):
        return failed("port 443 of openshift_ingress_address is open, and no Service has the address", "set an address that is free")
    return passed(f"open: {opened}" if opened else "the cluster is not complete yet")


def _endpoint(result: Mapping[str, Any]) -> str:
    return f"{result['address']} port {result['port']}"


def _ports(context: Context, results: list[Mapping[str, Any]], *, is_own: bool) -> Finding:
    if not results:
        has_none = context.text("load_balancer") in ("dns", "kube_vip")
        return passed("no load balancer device") if has_none else not_checkable("not checked: this run creates the load balancer")
    ports_by_answer = {
        answer: [_endpoint(result) for result in results if result["answer"] == answer] for answer in ("open", "refused", "silent")
    }
    observed = "; ".join(f"{answer}: {listed(where)}" for answer, where in ports_by_answer.items() if where)
    if not ports_by_answer["refused"] and not ports_by_answer["silent"]:
        return passed(observed)
    if not is_own:
        return _external(
            context, observed, {result["answer"] for result in results if result["port"] == API_PORT}, bool(ports_by_answer["silent"])
        )
    if not context.is_bootstrapped:
        return not_checkable(f"{observed}; this run waits for the load balancer")
    return failed(observed, FIREWALL if ports_by_answer["silent"] else None)


def _external(context: Context, observed: str, api: set[str], silent: bool) -> Finding:
    """Return the finding for a load balancer of another owner.

    It may refuse connections while it has no backends, and drop the controller's packets to other ports than the API's.
    """
    if "silent" in api:
        return failed(observed, FIREWALL)
    if context.is_bootstrapped and "refused" in api:
        return failed(observed, "check why the load balancer has no backends")
    if silent:
        return not_checkable(f"{observed}; the machines may have access although the controller has none")
    return passed(f"{observed}; the load balancer is reachable and has no backends yet")
