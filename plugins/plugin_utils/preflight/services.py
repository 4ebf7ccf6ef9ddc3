# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the services that a complete cluster gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils.base.json_objects import mapping, mappings
from ..manifests.node_network import NODE_ADDRESS
from ..services.lvms import STORAGE_CLASS
from ..services.metallb import address_range
from ..settings.networks import is_address
from .context import NAME, Context, Machine
from .devices import block_problem
from .findings import Finding, failed, listed, not_checkable, passed, passed_if, warning
from .load_balancer import needs_bgp, uses_arp

ANNOUNCED = ("public_ipv4", "global_ipv4")
"""Types of blocks whose addresses MetalLB announces; its sessions are of IPv4."""

QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?([KMGTPE]i|[kMGTPE])?")
"""A size as Kubernetes requires it (apimachinery, resource.Quantity), without the forms that no volume has."""


def registry(context: Context) -> Finding:
    choice = context.text("registry")
    if choice == "removed":
        return warning("no image registry: builds and image streams do not work")
    if choice == "emptydir":
        return warning("its images are in its pod, and are lost when that restarts")
    if choice == "pvc":
        return _registry_volume(context)
    return passed("left as the cluster has it; a new cluster on bare metal has none")


def _registry_volume(context: Context) -> Finding:
    size, storage_class = context.text("registry_size"), context.text("registry_storage_class")
    if not QUANTITY.fullmatch(size):
        return failed(f"openshift_registry_size is {size or 'empty'}, which is no size of a volume", "set it to a size such as 100Gi")
    if context.is_bootstrapped or context.is_adopted or context.settings.get("manifests"):
        return passed("in a PersistentVolumeClaim")
    if not context.text("local_storage"):
        return failed(
            "in a PersistentVolumeClaim, and a new cluster on bare metal has no storage class that it could be bound with",
            "set openshift_local_storage to lvms, or configure the registry when the cluster has storage",
        )
    return passed_if(
        storage_class in ("", STORAGE_CLASS),
        f"in a PersistentVolumeClaim of the storage class {storage_class or STORAGE_CLASS}",
        f"set openshift_registry_storage_class to {STORAGE_CLASS}, the only storage class of the new cluster",
    )


def time_servers(context: Context) -> Finding:
    """Check that each time server is a name or an address, since it becomes a line of chrony.conf."""
    servers = context.texts("time_servers")
    malformed = [server for server in servers if not NAME.fullmatch(server.lower()) and not is_address(server)]
    if malformed:
        return failed(f"neither a host name nor an address: {listed(map(repr, malformed))}")
    return passed(listed(servers) or "those of the operating system")


def local_storage(context: Context) -> Finding:
    """Check that each machine with storage has a disk besides the one on which CoreOS is installed."""
    paths = context.texts("local_storage_paths")
    if not context.text("local_storage"):
        return warning("openshift_local_storage_paths has no effect without openshift_local_storage") if paths else passed("none")
    misplaced = [path for path in paths if not path.startswith("/dev/")]
    if misplaced:
        return failed(
            f"no disks: {listed(misplaced)}", "set openshift_local_storage_paths to names below /dev/disk/by-path or /dev/disk/by-id"
        )
    return _empty_disks(context)


def _empty_disks(context: Context) -> Finding:
    labels = mapping(context.settings.get("local_storage_node_labels"))
    machines = _storage_machines(context, labels)
    if not machines:
        return failed(
            f"no machine has the labels {listed(f'{key}={value}' for key, value in labels.items())} and would get a volume group",
            "set these openshift_node_labels for a pool, or leave openshift_local_storage_node_labels unset",
        )
    ordered = {machine["hostname"] for machine in context.machines_to_order}
    pending = [machine for machine in machines if machine["hostname"] in ordered]
    if not pending:
        return not_checkable("not checked: the machines with storage exist already")
    plans = {place.plan for machine in pending for place in context.places_of(machine)}
    disks = {plan: _disks(context.plans[plan]) for plan in sorted(plans & set(context.plans))}
    short = [plan for plan, count in disks.items() if count == 1]
    if short:
        return failed(f"plans with one disk only, on which CoreOS is installed: {listed(short)}")
    unknown = [plan for plan, count in disks.items() if not count]
    if unknown:
        return not_checkable(f"the Metal API does not report the disks of {listed(unknown)}")
    counts = listed(f"{count} in {plan}" for plan, count in disks.items())
    return passed(f"{context.text('local_storage')}, disks in each machine: {counts}")


def _storage_machines(context: Context, labels: Mapping[str, Any]) -> list[Machine]:
    nodes = context.groups["workers"] or context.groups["control_plane"]
    if not labels:
        return [machine for machine in nodes if not any(taint.get("effect") == "NoSchedule" for taint in mappings(machine.get("taints")))]
    # A pool with a MachineConfigPool of its own has the label of its role.
    return [
        machine
        for machine in [*context.groups["workers"], *context.groups["control_plane"]]
        if labels.items() <= {f"node-role.kubernetes.io/{machine.get('pool')}": "", **mapping(machine.get("labels"))}.items()
    ]


def _disks(plan: Mapping[str, Any]) -> int:
    drives = mappings(mapping(plan.get("specs")).get("drives"))
    counts = [drive.get("count") for drive in drives]
    return sum(count for count in counts if isinstance(count, int))


def metallb(context: Context) -> Finding:
    addresses = context.texts("metallb_addresses")
    if not context.settings.get("metallb"):
        if addresses or context.text("metallb_reservation"):
            return warning("addresses for Services are set, which have no effect without openshift_metallb")
        return passed("not installed")
    unannounced = _unannounced(context, addresses)
    return unannounced or (passed("by ARP") if uses_arp(context) else _block(context) or _project(context))


def _unannounced(context: Context, addresses: list[str]) -> Finding | None:
    network = context.text("machine_network")
    if uses_arp(context):
        if unused := [f"openshift_metallb_{name}" for name in ("reservation", "password") if context.text(f"metallb_{name}")]:
            return failed(f"with openshift_api_address MetalLB announces by ARP, without {listed(unused)}", "leave these unset")
    elif network not in NODE_ADDRESS:
        return failed(
            f"openshift_machine_network is {network}, and its nodes have no private address, from which alone the routers of the Metal API"
            " accept BGP sessions",
            "set openshift_machine_network to bond or private before the cluster is installed, or openshift_metallb to false",
        )
    has_ingress = uses_arp(context) and bool(context.text("ingress_address"))
    if not addresses and not context.text("metallb_reservation") and not has_ingress:
        return failed(
            "no addresses for Services",
            "set openshift_metallb_addresses, or openshift_metallb_reservation to the ID of a block of elastic addresses",
        )
    if malformed := [text for text in addresses if not address_range(text) or not {"/", "-"} & {*text}]:
        return failed(f"neither a network nor a range of addresses: {listed(malformed)}", "correct openshift_metallb_addresses")
    if context.text("load_balancer") == "kube_vip" and needs_bgp(context) and not context.groups["workers"]:
        return failed(
            "without workers MetalLB and kube-vip run on the same nodes, and the routers of the Metal API accept one BGP session from each",
            "add workers, or choose another openshift_load_balancer",
        )
    return None


def _block(context: Context) -> Finding | None:
    identity = context.text("metallb_reservation")
    if not identity:
        return None
    block = next(iter(context.read("metallb_block", "ip_reservations")), None)
    nodes = context.groups["workers"] or context.groups["control_plane"]
    problem = block_problem(identity, block, sorted({place.metro for machine in nodes for place in context.places_of(machine)}))
    if block and not problem and block["type"] not in ANNOUNCED:
        problem = f"the IP reservation {identity} is {block['type']}, not {' or '.join(ANNOUNCED)}"
    advice = "set openshift_metallb_reservation to another block of the project: the module metal_ip_reservation_info lists them"
    return failed(problem, advice) if problem else None


def _project(context: Context) -> Finding:
    """Return the finding for the project's BGP. The check "BGP" reports whether it is enabled."""
    config = (context.readings.get("bgp") or {}).get("bgp_config") or {}
    has_password, is_set = bool(config.get("md5_enabled")), bool(context.text("metallb_password"))
    if config and has_password != is_set:
        return failed(
            f"BGP of the project has {'a' if has_password else 'no'} password, and openshift_metallb_password is"
            f" {'set' if is_set else 'not set'}",
            "set openshift_metallb_password to the password of the project's BGP configuration, or leave it unset if that has none",
        )
    return passed("by BGP")
