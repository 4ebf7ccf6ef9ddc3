# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a playbook, from the settings and the readings of preflight, and the checks of what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.tags import CLUSTER_TAG, INFRA_TAG
from ...module_utils.cluster.dns import Owner
from ..machines.orders import device_orders
from ..machines.removal import Request, choose_removals, removal_request
from ..machines.removal_plan import plan_removal
from ..machines.replacement import Fleet, unhealthy_machines
from ..plan.install import Installation, plan_install
from ..plan.replace import plan_replace
from ..plan.scale import plan_scale
from ..plan.step import Plan
from ..plan.world import CLUSTER, METAL, Desired, World
from ..settings.networks import ip_families, url_of
from ..settings.vlan import OWN_GATEWAYS
from .capacity import offers
from .context import Context
from .findings import Finding, failed, listed, not_checkable, passed, warning
from .load_balancer import needs_bgp, uses_arp

ORDERING = ("install.yml", "scale.yml", "replace.yml")
"""The playbooks that order machines."""


def plan_of(context: Context) -> Plan | None:
    """Return the plan of the playbook that runs; None for one that changes nothing."""
    playbook = context.text("playbook")
    if playbook not in ORDERING or not context.has_names:
        return None
    try:
        desired, world = desired_of(context), world_of(context)
    except (CollectionError, ValueError, TypeError):
        # A check reports the malformed value, and the run ends.
        return None
    if playbook == "install.yml":
        return plan_install(desired, world, installation_of(context))
    return plan_scale(desired, world) if playbook == "scale.yml" else plan_replace(desired, world)[0]


def status_plan(context: Context) -> Plan:
    """Return the plan that would bring a cluster to the inventory: of install.yml while this folder's install is not complete, else of
    scale.yml. Raises as :func:`request_of`.
    """
    settings, readings = context.settings, context.readings
    if settings.get("folder_exists") and not settings.get("bootstrap_over"):
        begun = Context(settings, {name: reading for name, reading in readings.items() if name != "kubeconfig"})
        return plan_install(desired_of(begun), world_of(begun), installation_of(begun))
    running = Context({**settings, "bootstrap_over": True}, readings)
    return plan_scale(desired_of(running), world_of(running))


def request_of(context: Context) -> Request:
    """Return which removals were asked for. Raises CollectionError, ValueError or TypeError for a malformed request."""
    options = {"names": "remove", "sizes": "pool_sizes", "at_most": "remove_at_most"}
    return removal_request({**{name: context.settings.get(key) for name, key in options.items()}, "in_job": context.in_job})


@lru_cache(maxsize=2)
def desired_of(context: Context) -> Desired:
    """Return what the inventory and the settings say. Raises as :func:`request_of`."""
    settings, infra_id = context.settings, str(context.metadata.get("infraID") or "")
    at_most = int(context.text("replace_at_most") or 1)
    return Desired(
        cluster=context.cluster,
        machines=context.groups,
        removal=request_of(context),
        replacement={
            "names": settings.get("replace") or (),
            "pool": context.text("replace_pool"),
            "older_than": context.text("replace_older_than"),
            "at_most": at_most,
            "window": int(settings.get("join_window") or 0),
        },
        replace_not_ready_after=int(settings.get("replace_not_ready_after") or 0),
        replace_failed=int(settings.get("replace_failed") or 0),
        replace_at_most=at_most,
        has_dns=context.text("dns_provider") != "none",
        orders=_orders(context),
        ownership_tags=[f"{CLUSTER_TAG}{context.cluster}", *([f"{INFRA_TAG}{infra_id}"] if infra_id else ())],
        records=_records(context),
        owner=Owner(context.cluster, infra_id),
        routers={"pool": context.text("ingress_pool"), "replicas": context.text("ingress_replicas")},
        time_servers=settings.get("time_servers") or (),
    )


def _orders(context: Context) -> dict[str, list[dict[str, Any]]]:
    """Return the options of the devices that the role ``provision`` orders, without userdata."""
    boot = {
        "architecture": context.release_architecture,
        "ignition_platform": context.text("ignition_platform"),
        "url": url_of(context.text("publish_address"), context.text("publish_http_port")),
    }
    roles = {"control_plane": "control-plane", "workers": "worker"}
    return {group: device_orders(context.groups[group], role=role, boot=boot) for group, role in roles.items()}


def _records(context: Context) -> dict[str, Any]:
    """Return the options of :func:`cluster_dns_records` that follow from the settings, as the role ``dns`` has them."""
    blocks = (context.readings.get("elastic") or {}).get("ip_reservations") or ()
    elastic = [str(block["network"]) for block in blocks if block.get("network")]
    return {
        "workers": [str(machine["hostname"]) for machine in context.groups["workers"] if machine.get("may_run_router")],
        "balanced": context.text("load_balancer") in ("haproxy", "external"),
        "adopted": bool(context.settings.get("adopted")),
        "network": context.text("machine_network"),
        "families": ip_families(context.settings.get("service_networks") or ()),
        "entries": {name: [*elastic, *filter(None, [context.text(f"{name}_address")])] for name in ("api", "ingress")},
    }


def _unread(context: Context) -> dict[str, str]:
    """Return the topics that only the roles compare, with the reason."""
    settings, topics = context.settings, {}
    if not settings.get("bootstrap_over"):
        return {"bootstrap": "it is not complete"}
    if not (context.readings.get("controller") or {}).get("project"):
        topics["folder"] = "the id of the project is not in it"
    if unread := (context.readings.get("kubeconfig") or {}).get("unread"):
        topics["cluster"] = str(unread)
    if context.text("machine_network") == "vlan":
        topics["network"] = "ports and gateway of the VLAN"
    if context.text("load_balancer") in ("haproxy", "kube_vip") and not uses_arp(context):
        topics["load balancer"] = "BGP sessions, and the configuration of HAProxy"
    private = any(machine.get("customdata") or machine.get("userdata") for machine in context.nodes)
    if private or context.text("ignition_platform") == "packet" or context.text("publish") == "object_storage":
        topics["devices"] = "userdata, customdata and signed addresses"
    records = context.readings.get("records") or {}
    if context.text("dns_provider") == "none" or not records or any(record["problem"] for record in records.values()):
        topics["records"] = "they were not read"
    elif settings.get("dns_reverse_zones") or settings.get("dns_parent_zone"):
        topics["records"] = "other zones than that of the cluster"
    if context.text("publish") != "controller":
        topics["boot files"] = "where they are published"
    if any(settings.get(name) for name in ("local_storage", "registry", "metallb")):
        topics["services"] = "their objects"
    return topics


@lru_cache(maxsize=2)
def world_of(context: Context) -> World:
    """Return what exists, as far as it was read. The plan and the checks of what it asks for have the same one."""
    devices, cluster = context.readings.get("devices") or {}, context.readings.get("kubeconfig") or {}
    problems = {}
    if "devices" not in devices:
        problems[METAL] = str(devices.get("msg") or (context.readings.get("project") or {}).get("msg") or context.why_unread("devices"))
    if context.settings.get("bootstrap_over") and "nodes" not in cluster:
        problems[CLUSTER] = str(cluster.get("msg") or "not read")
    return World(
        devices=context.devices,
        nodes=cluster.get("nodes") or (),
        objects=cluster.get("objects") or (),
        missing=context.machines_without_device,
        # A status has read no prices: what others of the plan cost is known.
        offers=offers(context) if "plans" in context.readings else {},
        problems=problems,
        records=context.readings.get("records") or {} if context.text("dns_provider") != "none" else {},
        cluster=cluster,
        others=(context.readings.get("others") or {}).get("devices"),
        publishes=bool((context.readings.get("controller") or {}).get("publishes")),
        unread=_unread(context),
    )


def installation_of(context: Context) -> Installation:
    """Return how far the installation is."""
    release = "" if context.is_ignition_in_use or context.settings.get("folder_exists") else context.text("version")
    return Installation(
        release=release,
        bootstrap_over=context.is_bootstrapped or context.is_adopted,
        reused=str(context.reused_worker["hostname"]) if context.reused_worker else "",
        network=_network(context),
    )


def _network(context: Context) -> list[tuple[str, str]]:
    """Return VLAN, gateway and addresses that do not exist yet. They are created before the first device."""
    clusters = (context.readings.get("belongings") or {}).get("clusters")
    if not clusters:
        return []
    existing: Mapping[str, Any] = clusters[0]
    gateway, metros = context.text("vlan_gateway"), sorted({str(machine.get("metro")) for machine in context.nodes})
    topics = []
    if context.text("machine_network") == "vlan":
        if not context.text("vlan_id") and not existing["virtual_networks"]:
            topics.append(("vlan", f"VLAN in {', '.join(metros)}"))
        if gateway in OWN_GATEWAYS and not existing["metal_gateways"]:
            if gateway == "public" and not context.text("vlan_reservation_id") and not existing["ip_reservations"]:
                topics.append(("addresses", f"{context.text('vlan_gateway_size')} public addresses"))
            topics.append(("gateway", f"{gateway} gateway"))
    if needs_bgp(context) and not existing["ip_reservations"]:
        topics.append(("addresses", "elastic address"))
    return topics


def removals(context: Context) -> Finding:
    try:
        request = request_of(context)
    except (CollectionError, ValueError, TypeError) as problem:
        return failed(str(problem), "correct openshift_remove, openshift_remove_at_most or openshift_pool_sizes")
    scales, complete = context.text("playbook") == "scale.yml", bool(context.settings.get("bootstrap_over"))
    choice = choose_removals(context.devices, context.groups, context.cluster, request)
    texts = [f"scale.yml removes {name} ({reason})" for name, reason in choice.removed.items()]
    texts += [f"{name} is kept ({reason})" for name, reason in choice.kept.items()]
    if not scales:
        # install.yml removes no worker. With sizes of pools it would create more machines than asked for.
        if choice.blockers:
            return (failed if request.sizes else warning)(" ".join(choice.blockers))
        return warning(listed(texts)) if texts else passed("none")
    reading = context.readings.get("kubeconfig") or {}
    blockers = plan_removal(
        context.devices,
        context.groups,
        cluster=context.cluster,
        request=request,
        nodes=reading.get("nodes"),
        least_workers=int(context.settings.get("least_workers") or 0),
        joining=True,
    )["blockers"]
    if choice.removed and not complete:
        folder, names = context.text("directory"), ", ".join(choice.removed)
        blockers.append(f"{folder}/kubeconfig does not exist, so {names} cannot be drained. Run install.yml, which writes it.")
    elif choice.removed and "nodes" not in reading:
        blockers.append(f"{', '.join(choice.removed)} cannot be drained: the cluster's API does not answer ({reading.get('msg')}).")
    # The plan has a line for each.
    return failed(" ".join([*blockers, *texts])) if blockers else passed(listed(texts) or "none")


def health(context: Context) -> Finding:
    """Return the machines whose device failed, was deleted or is switched off, or whose Node is not Ready."""
    reading = context.readings.get("kubeconfig") or {}
    if not context.settings.get("bootstrap_over"):
        return passed("no cluster is installed yet")
    if "nodes" not in reading:
        return not_checkable("the nodes of the cluster cannot be read")
    fleet = Fleet(context.devices, reading["nodes"], context.groups)
    unhealthy = unhealthy_machines(fleet, now=datetime.now(UTC))
    return warning("; ".join(entry["line"].rstrip(".") for entry in unhealthy)) if unhealthy else passed("every machine is healthy")


def replacement(context: Context) -> Finding:
    if context.text("playbook") != "replace.yml":
        return passed("none: replace.yml replaces machines")
    if not context.settings.get("bootstrap_over"):
        return failed(
            f"{context.text('directory')}/kubeconfig does not exist, so no node of {context.cluster} can be drained",
            "run install.yml, which writes it, or set openshift_directory to the folder that the cluster was installed from",
        )
    try:
        desired, world = desired_of(context), world_of(context)
    except (CollectionError, ValueError, TypeError):
        return not_checkable("not checked: a variable has a wrong value")
    plan, problems = plan_replace(desired, world)
    if problems:
        return failed(" ".join(problems))
    if plan.unknown:
        why = "; ".join(f"{source}: {problem}" for source, problem in plan.unknown.items())
        return failed(f"which machines are replaced is not known: {why}", "run replace.yml again when it answers")
    return passed(listed(step.object for step in plan.steps if step.kind == "device") or "none")
