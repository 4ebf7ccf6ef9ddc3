# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources of the sandbox: those of a rack, and the spot market."""

from __future__ import annotations

from metal_api import absent
from metal_api.core.resource import Resource
from metal_api.resources import RESOURCES as OF_A_RACK
from sandbox.metal import spot_market_requests, spot_prices

RESOURCES: tuple[Resource, ...] = (*OF_A_RACK, spot_prices.RESOURCE, spot_market_requests.RESOURCE)
ROUTES = absent.completed(route for resource in RESOURCES for route in resource.routes)
