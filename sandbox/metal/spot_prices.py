# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prices of spot instances: see :meth:`sandbox.metal.policy.SandboxPolicy.spot_price`."""

from __future__ import annotations

from metal_api.catalogue.data import catalogue
from metal_api.core.call import Call, Reply, Route, paths
from metal_api.core.resource import Resource


def by_metro(call: Call) -> Reply:
    requested = call.values("metro")
    return _prices(call, {metro.code: metro.code for metro in catalogue().metros.values() if not requested or metro.code in requested})


def by_facility(call: Call) -> Reply:
    requested = call.values("facility")
    return _prices(
        call, {metro.facility: metro.code for metro in catalogue().metros.values() if not requested or metro.facility in requested}
    )


def _prices(call: Call, places: dict[str, str]) -> Reply:
    plans = call.values("plan")
    with_spot = [plan.slug for plan in catalogue().plans.values() if "spot_market" in plan.deployment_types]
    chosen = [slug for slug in with_spot if not plans or slug in plans]
    # A rack has no spot market.
    listed = places if with_spot else {}
    report = {place: {slug: {"price": call.world.policy.spot_price(metro, slug)} for slug in chosen} for place, metro in listed.items()}
    return Reply({"spot_market_prices": report})


ROUTES: list[Route] = [
    *paths("GET", by_facility, "/market/spot/prices"),
    *paths("GET", by_metro, "/market/spot/prices/metros"),
]


RESOURCE = Resource(
    routes=ROUTES,
)
