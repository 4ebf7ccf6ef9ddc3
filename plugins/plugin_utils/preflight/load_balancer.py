# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the load balancer of the API and the routers."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from ..manifests.ingress_controller import CONTROL_PLANE
from ..settings.networks import ip_families
from .context import Context, Machine
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if, warning

API_PORT, MACHINE_CONFIG_PORT = 6443, 22623
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
    elif addresses["ingress_address"] or (addresses["api_address"] and chosen != "kube_vip"):
        return failed(
            f"{state}; openshift_api_address is that of kube_vip or of an external load balancer, openshift_ingress_address of the latter",
            "set openshift_load_balancer to external, or remove the addresses",
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
    if address := context.text("api_address"):
        yield from _arp_problems(context, address)
        return
    masters = context.groups["control_plane"]
    metros = sorted({str(machine.get("metro")) for machine in masters})
    if len(metros) > 1 or any(machine.get("placement") for machine in masters):
        where = " and ".join(metros) if len(metros) > 1 else "the metros of metal_placement"
        yield f"the control plane is in {where}, and the elastic address that kube-vip announces belongs to one metro"
    if context.text("machine_network") == "layer3":
        yield "BGP sessions use the private addresses, and openshift_machine_network layer3 configures none: use bond"
    if context.texts("service_networks") and 4 not in ip_families(context.texts("service_networks")):
        yield "the elastic address that kube-vip announces is of IPv4, and openshift_service_networks has none"


def _arp_problems(context: Context, address: str) -> Iterator[str]:
    """Yield why the control plane nodes cannot announce this address by ARP."""
    if not is_address(address) or ":" in address:
        yield f"openshift_api_address {address} is not an IPv4 address"
    elif context.text("machine_network") == "private":
        yield "private addresses are routed one by one, and ARP needs one subnet of the control plane: use vlan"
    if context.texts("service_networks") and 4 not in ip_families(context.texts("service_networks")):
        yield "ARP is of IPv4, and openshift_service_networks has none"


def uses_arp(context: Context) -> bool:
    """Return whether the control plane nodes announce the address of the API by ARP."""
    return context.text("load_balancer") == "kube_vip" and bool(context.text("api_address"))


def needs_bgp(context: Context) -> bool:
    """Return whether devices of the cluster announce an address by BGP."""
    chosen = context.text("load_balancer")
    return (chosen == "kube_vip" and not uses_arp(context)) or (chosen == "haproxy" and len(context.groups["load_balancer"]) > 1)


def bgp(context: Context) -> Finding:
    if not needs_bgp(context):
        return passed("not needed: no device announces an address")
    context.read("bgp", "bgp_sessions")
    config = context.readings["bgp"].get("bgp_config")
    if config is None:
        return passed("not enabled yet: this run enables local BGP for the project")
    observed = f"{config['deployment_type']} BGP with ASN {config['asn']}, status {config['status']}"
    return passed_if(config["status"] == "enabled", observed)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


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
    if uses_arp(context) and results:
        return _announced(context, is_open=results[0]["answer"] == "open")
    finding = _ports(context, [result for result in results if result["port"] != MACHINE_CONFIG_PORT], is_own=bool(reading.get("own")))
    published = [str(result["address"]) for result in results if (result["port"], result["answer"]) == (MACHINE_CONFIG_PORT, "open")]
    if not published or finding.verdict == "failed":
        return finding
    return warning(
        f"{finding.found}; {listed(published)} port {MACHINE_CONFIG_PORT} is open to the controller: clients that reach it get the pull"
        " secret and the token for node CSRs",
        "let the load balancer accept connections to this port from the nodes alone",
    )


def _announced(context: Context, *, is_open: bool) -> Finding:
    """Return the finding for the address that the control plane announces by ARP."""
    endpoint = f"{context.text('api_address')} port {API_PORT}"
    if context.is_bootstrapped:
        advice = "check the pods kube-vip in the namespace kube-system, and journalctl -u kube-vip on the control plane nodes"
        return passed(f"open: {endpoint}") if is_open else failed(f"no control plane node answers at {endpoint}", advice)
    if is_open and not context.devices:
        return failed(f"{endpoint} is open, and no machine of the cluster exists", "set openshift_api_address to an address that is free")
    return passed("the control plane is not complete yet")


def _ports(context: Context, results: list[Mapping[str, Any]], *, is_own: bool) -> Finding:
    if not results and context.text("load_balancer") in ("dns", "kube_vip"):
        return passed("no load balancer device")
    if not results:
        return not_checkable("not checked: this run creates the load balancer")
    ports_by_answer = {
        answer: [f"{result['address']} port {result['port']}" for result in results if result["answer"] == answer]
        for answer in ("open", "refused", "silent")
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
