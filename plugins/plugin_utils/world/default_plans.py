# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read from the Metal API what the default plans of machines follow from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from ...module_utils.base.argspec import ENVIRONMENT, from_environment
from ...module_utils.base.errors import CollectionError
from ...module_utils.base.tags import CLUSTER_TAG
from ...module_utils.machines.capacity import ask_capacity
from ...module_utils.machines.device import DEVICE_INFO_OPTIONS, find_devices
from ...module_utils.metal import catalogue
from ..machines.default_plans import Offer, default_plans, needs_default
from .metal import client_of, defaults_of

CONNECTION = {"metal_api_url": "metal_api_url", "metal_api_token": "metal_api_token", "metal_project_id": "project_id"}
"""Settings that are read from the environment where they are empty, each with the option of modules for it."""


def collect(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what ``default_plans`` returns; without a request if no machine needs a default plan.

    A failed request is the problem of each of these machines, since preflight reports all problems together.
    """
    settings = {
        **settings,
        **{name: settings.get(name) or from_environment(ENVIRONMENT[option]) or "" for name, option in CONNECTION.items()},
    }
    needing = [machine for group in settings["machines"].values() for machine in group if needs_default(machine)]
    if not needing:
        return {}
    missing = [name for name in CONNECTION if not settings.get(name)]
    if missing:
        return _problem(needing, f"no default plan can be chosen without {' and '.join(missing)}")
    try:
        return _read(settings)
    except CollectionError as problem:
        return _problem(needing, f"no default plan can be chosen: {problem.message}")


def _problem(machines: list[Mapping[str, Any]], text: str) -> dict[str, dict[str, Any]]:
    return {str(machine["hostname"]): {"plan_problem": text} for machine in machines}


def _read(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    client = client_of(settings, retries=int(settings["metal_api_retries"]))
    tag = f"{CLUSTER_TAG}{settings['cluster_name']}.{settings['base_domain']}"
    own = {"project_id": str(settings["metal_project_id"]), "tags": [tag]}

    @cache
    def plans() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = catalogue.plans(client, defaults_of(catalogue.PLAN_OPTIONS))["plans"]
        return listed

    @cache
    def operating_systems() -> list[dict[str, Any]]:
        params = defaults_of(catalogue.OPERATING_SYSTEM_OPTIONS)
        listed: list[dict[str, Any]] = catalogue.operating_systems(client, params)["operating_systems"]
        return listed

    offer = Offer(plans, operating_systems, partial(ask_capacity, client, optional=True))
    return default_plans(
        settings["machines"],
        find_devices(client, {**defaults_of(DEVICE_INFO_OPTIONS), **own})["devices"],
        offer,
        load_balancer_operating_system=str(settings.get("load_balancer_operating_system") or ""),
        reused=str(settings.get("bootstrap_becomes") or ""),
    )
