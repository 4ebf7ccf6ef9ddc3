# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue as a resource."""

from __future__ import annotations

from metal_api.catalogue.routes import ROUTES
from metal_api.core.resource import Resource

RESOURCE = Resource(routes=ROUTES)
