# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state of the Metal API: each request once, independent requests at the same time.

A reading is the result of the module of its name, or ``msg`` and ``failure`` of its error.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...module_utils.base.argspec import Options
from ...module_utils.base.errors import CollectionError
from ...module_utils.base.play import find_play
from ...module_utils.base.tags import CLUSTER_TAG, ROLE_TAG
from ...module_utils.clients.metal import MetalClient
from ...module_utils.cluster.objects import CLUSTER_INFO_OPTIONS, find_clusters
from ...module_utils.lock.cluster_lock import lock_of_network
from ...module_utils.lock.record import Holder, is_lock
from ...module_utils.machines.capacity import ask_capacity
from ...module_utils.machines.device import DEVICE_INFO_OPTIONS, comparable_attributes, device_result, find_devices
from ...module_utils.metal import catalogue as metal_catalogue
from ...module_utils.metal.bgp import BGP_INFO_OPTIONS, find_bgp
from ...module_utils.metal.gateway import GATEWAY_INFO_OPTIONS, find_gateways
from ...module_utils.metal.hardware_reservation import HARDWARE_RESERVATION_INFO_OPTIONS, find_hardware_reservations
from ...module_utils.metal.ip_reservation import IP_RESERVATION_INFO_OPTIONS, find_ip_reservations
from ...module_utils.metal.project import PROJECT_INFO_OPTIONS, find_projects
from ...module_utils.metal.ssh_key import SSH_KEY_INFO_OPTIONS, find_ssh_keys
from ...module_utils.metal.vlan import VLAN_INFO_OPTIONS, Vlan, find_vlans
from ..preflight import plain_network
from ..preflight.context import Context
from ..preflight.devices import given_blocks, orders_all_keys
from ..preflight.load_balancer import metallb_uses_bgp, needs_bgp, uses_arp
from ..settings.vlan import gateway_kind
from .controller import metadata

Reading = dict[str, Any]


@dataclass(frozen=True)
class _Reader:
    """Calls the functions of ``_info`` modules with the defaults of their options. The reading of a failed request is its error."""

    client: MetalClient
    settings: Mapping[str, Any]

    def __call__(self, find: Callable[[MetalClient, Mapping[str, Any]], Reading], options: Options, **overrides: Any) -> Reading:
        try:
            return find(self.client, {**defaults_of(options), "project_id": str(self.settings["metal_project_id"]), **overrides})
        except CollectionError as problem:
            return _failure(problem)


def collect(settings: Mapping[str, Any]) -> dict[str, Reading]:
    """Return the readings by name, and ``clock``: the time of the Metal API and the controller's. Empty if settings are missing."""
    if not Context(settings, {}).has_metal_settings:
        return {}
    try:
        # Few retries: that the Metal API does not answer is reported at once.
        probe = client_of(settings, retries=int(settings["metal_api_retries"]))
    except CollectionError as problem:
        return {"project": _failure(problem)}
    readings = {"project": _Reader(probe, settings)(find_projects, PROJECT_INFO_OPTIONS)}
    if probe.reported_time:
        date, now = probe.reported_time
        readings["clock"] = {"date": date, "now": now}
    if "project" not in readings["project"]:
        return readings

    read = _Reader(client_of(settings), settings)
    readings |= _devices(read, has_quota=bool(readings["project"]["project"]["max_devices"]))
    if not metadata(str(settings["directory"])) or readings["devices"].get("devices") == []:
        # Without files of an install, every object with the ownership tag of this cluster is of another owner. Without devices an
        # earlier run may have created the network, which the plan has to know.
        cluster = f"{settings['cluster_name']}.{settings['base_domain']}"
        readings["belongings"] = read(find_clusters, CLUSTER_INFO_OPTIONS, names=[cluster])
        # An install holds the lock while it is checked.
        readings["own_run"] = {"id": Holder.here(find_play().main, cluster, operation="").run}
    readings |= _network(read, Context(settings, readings))
    pending = Context(settings, readings).machines_to_order
    if not pending:
        return readings

    with ThreadPoolExecutor() as pool:
        requests = {
            "plans": pool.submit(read, metal_catalogue.plans, metal_catalogue.PLAN_OPTIONS),
            "metros": pool.submit(read, metal_catalogue.metros, metal_catalogue.METRO_OPTIONS),
            "operating_systems": pool.submit(read, metal_catalogue.operating_systems, metal_catalogue.OPERATING_SYSTEM_OPTIONS),
            "private_blocks": pool.submit(read, find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, types=["private_ipv4"]),
        }
        if any(machine.get("hardware_reservation_id") for machine in pending):
            requests["reservations"] = pool.submit(read, find_hardware_reservations, HARDWARE_RESERVATION_INFO_OPTIONS)
        if any(orders_all_keys(machine) for machine in pending):
            requests["ssh_keys"] = pool.submit(read, _ssh_keys, SSH_KEY_INFO_OPTIONS)
        if plain_network.depends_on(Context(settings, readings)):
            requests["facilities"] = pool.submit(read, _facilities, Options())
    readings |= {name: answer.result() for name, answer in requests.items()}
    if "plans" in readings["plans"] and "metros" in readings["metros"]:
        readings["capacity"] = read(_capacity, Options(), servers=Context(settings, readings).capacity_questions())
        context = Context(settings, readings)
        if "servers" in readings["capacity"] and context.choose_places()[1]:
            readings["capacity"] = read(_capacity, Options(), servers=context.capacity_questions(every=True))
    return readings


def collect_owned(settings: Mapping[str, Any]) -> dict[str, Reading]:
    """Return what a status is made of: the readings ``devices`` and ``elastic`` of :func:`collect`, and ``locks``. Three lists at most."""
    if not Context(settings, {}).has_metal_settings:
        return {"devices": {"msg": "the URL, the token or the project of the Metal API is not set"}}
    try:
        read = _Reader(client_of(settings, retries=int(settings["metal_api_retries"])), settings)
    except CollectionError as problem:
        return {"devices": _failure(problem)}
    readings = _devices(read, has_quota=False)
    if "devices" in readings["devices"]:
        readings |= _elastic(read, Context(settings, readings))
        readings["locks"] = read(_find_locks, Options(), cluster=Context(settings, {}).cluster)
    return readings


def collect_others(settings: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, Reading]:
    """Return ``others``: ids and host names of all devices of the project, if a Node may have lost its device. One without the tags of the
    cluster may be its device, as that of an adopted cluster. One list; none while each worker's Node is of a device of the cluster.
    """
    devices, nodes = readings.get("devices", {}).get("devices"), readings.get("kubeconfig", {}).get("nodes")
    if devices is None or nodes is None:
        return {}
    known = {str(device["id"]) for device in devices}
    if all(node["control_plane"] or node["device_id"] in known for node in nodes):
        return {}
    listing = _Reader(client_of(settings), settings)(find_devices, DEVICE_INFO_OPTIONS)
    if "devices" not in listing:
        return {"others": listing}
    return {
        "others": {"devices": [{"id": str(device["id"]), "hostname": str(device["hostname"]).lower()} for device in listing["devices"]]}
    }


def _find_locks(client: MetalClient, params: Mapping[str, Any]) -> Reading:
    """Return the cluster lock, as ``metal_cluster_info`` does."""
    path, tag = f"projects/{params['project_id']}/virtual-networks", f"{CLUSTER_TAG}{params['cluster']}"
    networks = map(Vlan.result, client.read_list(path, "virtual_networks", doing="list the VLANs, one of which is the cluster lock"))
    locks = [network for network in networks if is_lock(network["tags"]) and tag in network["tags"]]
    return {"locks": [{**lock_of_network(network).result(), "project_id": params["project_id"]} for network in locks]}


def _elastic(read: _Reader, context: Context) -> dict[str, Reading]:
    has_none = context.text("load_balancer") not in ("haproxy", "kube_vip") or uses_arp(context)
    if has_none or not context.settings.get("bootstrap_over"):
        return {}
    tags = [f"{CLUSTER_TAG}{context.cluster}", f"{ROLE_TAG}load-balancer"]
    reservations = read(find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, types=["public_ipv4"], tags=tags)
    return {"elastic": reservations}


def _network(read: _Reader, context: Context) -> dict[str, Reading]:
    """Return the existing objects that the VLAN, MetalLB and devices use, and the project's BGP configuration if the cluster speaks BGP."""
    settings, readings = context.settings, dict[str, Reading]()
    if settings.get("machine_network") == "vlan":
        readings |= _existing_network(read)
    if settings.get("metallb") and settings.get("metallb_reservation"):
        identities = [str(settings["metallb_reservation"])]
        readings["metallb_block"] = read(find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, ids=identities)
    if blocks := sorted({identity for machine in context.machines_to_order for identity in given_blocks(machine)}):
        readings["device_blocks"] = read(find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, ids=blocks)
    readings |= _elastic(read, context)
    if metallb_uses_bgp(context) or needs_bgp(context):
        readings["bgp"] = read(find_bgp, BGP_INFO_OPTIONS)
    return readings


def _existing_network(read: _Reader) -> dict[str, Reading]:
    settings, readings = read.settings, dict[str, Reading]()
    if settings.get("vlan_id"):
        readings["vlan"] = read(find_vlans, VLAN_INFO_OPTIONS, ids=[str(settings["vlan_id"])])
    gateway, block = str(settings.get("vlan_gateway") or ""), str(settings.get("vlan_reservation_id") or "")
    if gateway_kind(gateway) == "id":
        readings["vlan_gateway"] = read(find_gateways, GATEWAY_INFO_OPTIONS, ids=[gateway])
    if block:
        readings["vlan_reservation"] = read(find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, ids=[block])
    return readings


def _devices(read: _Reader, *, has_quota: bool) -> dict[str, Reading]:
    """Return the cluster's devices; for a project with a quota also the number of all its devices by plan."""
    settings = read.settings
    tag = f"{CLUSTER_TAG}{settings['cluster_name']}.{settings['base_domain']}"
    machines = {str(machine["hostname"]): machine for group in settings["machines"].values() for machine in group}
    find = partial(find_devices, result=partial(_comparable, machines=machines))
    listing = read(find, DEVICE_INFO_OPTIONS, tags=[] if has_quota else [tag])
    if not has_quota or "devices" not in listing:
        return {"devices": listing}
    return {
        "devices": {"devices": [device for device in listing["devices"] if tag in device["tags"]]},
        "quota": {"taken": Counter(str(device["plan"]) for device in listing["devices"])},
    }


def _comparable(device: Mapping[str, Any], machines: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a device as ``metal_device_info`` does, one of ``machines`` also with what :func:`comparable_attributes` returns."""
    machine = machines.get(str(device.get("hostname") or "").lower())
    # Never its secrets.
    own = {} if machine is None else comparable_attributes({**device, "userdata": "", "customdata": {}}, machine)
    return {**device_result(device), **({"comparable": own} if own else {})}


def client_of(settings: Mapping[str, Any], **more: Any) -> MetalClient:
    """Return a client with the settings that modules read from the environment."""
    return MetalClient(
        url=str(settings["metal_api_url"]),
        token=str(settings["metal_api_token"]),
        timeout=float(settings["timeout"]),
        read_only=True,
        ca_path=os.environ.get("METAL_API_CA_PATH"),
        proxy=os.environ.get("METAL_API_PROXY"),
        user_agent_prefix=os.environ.get("METAL_UA_PREFIX"),
        **more,
    )


def defaults_of(options: Options) -> dict[str, Any]:
    """Return the parameters of a module that is called without options of its own."""
    return {name: option.get("default") for name, option in options.argument_spec.items()}


def _ssh_keys(client: MetalClient, params: Mapping[str, Any]) -> Reading:
    """Return the numbers of SSH keys that a device gets without further options, as far as the token reads them, and of members."""
    project = len(find_ssh_keys(client, {**params, "owner": "project"})["ssh_keys"])
    user = 0 if project else len(find_ssh_keys(client, {**params, "owner": "user"})["ssh_keys"])
    members = [] if project or user else client.read(f"projects/{params['project_id']}", doing="read the project").get("members")
    return {"ssh_keys": {"project": project, "user": user, "members": len(members or [])}}


def _facilities(client: MetalClient, _params: Mapping[str, Any]) -> Reading:
    """Return the facilities as the Metal API lists them: their features are nowhere else."""
    return {"facilities": client.read_list("facilities", "facilities", doing="list the facilities")}


def _capacity(client: MetalClient, params: Mapping[str, Any]) -> Reading:
    return {"servers": ask_capacity(client, params["servers"])}


def _failure(problem: CollectionError) -> Reading:
    return {"msg": problem.message, "failure": {"type": type(problem).__name__, **problem.details}}
