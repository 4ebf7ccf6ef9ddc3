# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Metal API says before anything is ordered: each question once, those that do not wait for an answer at the same time.

A reading is what the module of its name returns, or ``msg`` and ``failure`` as its error has them.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.tags import CLUSTER_TAG
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.capacity import ask_capacity
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import catalogue as metal_catalogue
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.hardware_reservation import (
    HARDWARE_RESERVATION_INFO_OPTIONS,
    find_hardware_reservations,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.network_info import (
    IP_RESERVATION_INFO_OPTIONS,
    find_ip_reservations,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.project import PROJECT_INFO_OPTIONS, find_projects
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_objects import CLUSTER_INFO_OPTIONS, find_clusters
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.situation import Situation
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._preflight.controller import metadata

Reading = dict[str, Any]


def look(wanted: Mapping[str, Any]) -> dict[str, Reading]:
    """Readings by name, and ``clock``: the service's time and ours when it came. Nothing without address, token and project."""
    if not Situation(wanted, {}).metal_given:
        return {}
    try:
        # A service that does not answer now is told at once, not after minutes of patience.
        hasty = _client(wanted, retries=int(wanted["metal_api_retries"]))
    except CollectionError as problem:
        return {"project": _failure(problem)}
    world = {"project": _read(hasty, find_projects, PROJECT_INFO_OPTIONS, wanted)}
    if hasty.reported_time:
        date, now = hasty.reported_time
        world["clock"] = {"date": date, "now": now}
    if "project" not in world["project"]:
        return world

    client = _client(wanted)
    world |= _devices(client, wanted, limited=bool(world["project"]["project"]["max_devices"]))
    if not metadata(str(wanted["directory"])):
        # Nothing here is of this cluster yet: whatever exists of it is of somebody else, networks and addresses too.
        cluster = f"{wanted['cluster_name']}.{wanted['base_domain']}"
        world["belongings"] = _read(client, find_clusters, CLUSTER_INFO_OPTIONS, wanted, names=[cluster])
    missing = Situation(wanted, world).missing
    if not missing:
        return world

    with ThreadPoolExecutor() as pool:
        asked = {
            "plans": pool.submit(_read, client, metal_catalogue.plans, metal_catalogue.PLAN_OPTIONS, wanted),
            "metros": pool.submit(_read, client, metal_catalogue.metros, metal_catalogue.METRO_OPTIONS, wanted),
            "operating_systems": pool.submit(
                _read, client, metal_catalogue.operating_systems, metal_catalogue.OPERATING_SYSTEM_OPTIONS, wanted
            ),
            "private_blocks": pool.submit(_read, client, find_ip_reservations, IP_RESERVATION_INFO_OPTIONS, wanted, types=["private_ipv4"]),
        }
        if any(machine.get("hardware_reservation_id") for machine in missing):
            asked["reservations"] = pool.submit(_read, client, find_hardware_reservations, HARDWARE_RESERVATION_INFO_OPTIONS, wanted)
    world |= {name: answer.result() for name, answer in asked.items()}
    if "plans" in world["plans"] and "metros" in world["metros"]:
        world["capacity"] = _capacity(client, Situation(wanted, world).servers())
        situation = Situation(wanted, world)
        if "servers" in world["capacity"] and situation.chosen()[1]:
            world["capacity"] = _capacity(client, situation.servers(every=True))
    return world


def _devices(client: MetalClient, wanted: Mapping[str, Any], *, limited: bool) -> dict[str, Reading]:
    """The cluster's devices; of a project with a quota also how many of each plan it has, whoever they are of: all are listed then."""
    tag = f"{CLUSTER_TAG}{wanted['cluster_name']}.{wanted['base_domain']}"
    listing = _read(client, find_devices, DEVICE_INFO_OPTIONS, wanted, tags=[] if limited else [tag])
    if not limited or "devices" not in listing:
        return {"devices": listing}
    return {
        "devices": {"devices": [device for device in listing["devices"] if tag in device["tags"]]},
        "quota": {"taken": Counter(str(device["plan"]) for device in listing["devices"])},
    }


def _client(wanted: Mapping[str, Any], **more: Any) -> MetalClient:
    """The environment says what the modules take from it, too."""
    return MetalClient(
        url=str(wanted["metal_api_url"]),
        token=str(wanted["metal_api_token"]),
        timeout=float(wanted["timeout"]),
        read_only=True,
        ca_path=os.environ.get("METAL_API_CA_PATH"),
        proxy=os.environ.get("METAL_API_PROXY"),
        user_agent_prefix=os.environ.get("METAL_UA_PREFIX"),
        **more,
    )


def _read(
    client: MetalClient,
    find: Callable[[MetalClient, Mapping[str, Any]], dict[str, Any]],
    options: Options,
    wanted: Mapping[str, Any],
    **given: Any,
) -> Reading:
    params = {name: option.get("default") for name, option in options.argument_spec.items()}
    try:
        return find(client, {**params, "project_id": str(wanted["metal_project_id"]), **given})
    except CollectionError as problem:
        return _failure(problem)


def _capacity(client: MetalClient, servers: list[dict[str, Any]]) -> Reading:
    try:
        return {"servers": ask_capacity(client, servers)}
    except CollectionError as problem:
        return _failure(problem)


def _failure(problem: CollectionError) -> Reading:
    return {"msg": problem.message, "failure": {"type": type(problem).__name__, **problem.details}}
