# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the services that a complete cluster gets.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mapping, mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_manifests.node_network import NODE_ADDRESS
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.metallb import malformed_addresses
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context, Machine
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import (
    Finding,
    failed,
    listed,
    not_checkable,
    passed,
    warning,
)


def registry(context: Context) -> Finding:
    choice = context.text("registry")
    if choice == "removed":
        return warning("no image registry: builds and image streams do not work")
    if choice == "emptydir":
        return warning("its images are in its pod, and are lost when that restarts")
    return passed("in a PersistentVolumeClaim" if choice == "pvc" else "left as the cluster has it; a new cluster on bare metal has none")


def local_storage(context: Context) -> Finding:
    """Check that each machine with storage has a disk besides the one on which CoreOS is installed."""
    if not context.text("local_storage"):
        return passed("none")
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
    each = listed(f"{count} in {plan}" for plan, count in disks.items())
    return passed(f"{context.text('local_storage')}, disks in each machine: {each}")


def _storage_machines(context: Context, labels: Mapping[str, Any]) -> list[Machine]:
    """Return the machines whose nodes get a volume group."""
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
    if not context.settings.get("metallb"):
        return passed("not installed")
    given = context.settings.get("metallb_addresses")
    addresses = given if isinstance(given, list) else []
    network = context.text("machine_network")
    if network not in NODE_ADDRESS:
        return failed(
            f"openshift_machine_network is {network}, and its nodes have no private address, from which alone the routers of the Metal API"
            " accept BGP sessions",
            "set openshift_machine_network to bond or private before the cluster is installed, or openshift_metallb to false",
        )
    if not addresses and not context.text("metallb_reservation"):
        return failed(
            "no addresses for Services",
            "set openshift_metallb_addresses, or openshift_metallb_reservation to the ID of a block of elastic addresses",
        )
    malformed = malformed_addresses(addresses)
    if malformed:
        return failed(f"neither a network nor a range of addresses: {listed(malformed)}", "correct openshift_metallb_addresses")
    return _project(context)


def _project(context: Context) -> Finding:
    """Check the BGP configuration of the project."""
    reading = context.readings.get("bgp") or {}
    if "bgp_config" not in reading:
        # Also of a Metal API without BGP, whose answer is 404.
        context.read("bgp", "bgp_config")
    config = reading["bgp_config"]
    if not config:
        return passed("the run enables local BGP for the project")
    if config.get("status") != "enabled":
        return failed(
            f"BGP of the project is {config.get('status')}, not enabled: no device can have a BGP session",
            "wait until the service has approved BGP for the project, or set openshift_metallb to false",
        )
    has_password, is_set = bool(config.get("md5_enabled")), bool(context.text("metallb_password"))
    if has_password != is_set:
        return failed(
            f"BGP of the project has {'a' if has_password else 'no'} password, and openshift_metallb_password is"
            f" {'set' if is_set else 'not set'}",
            "set openshift_metallb_password to the password of the project's BGP configuration, or leave it unset if that has none",
        )
    return passed(f"by {config.get('deployment_type')} BGP with the ASN {config.get('asn')}")
