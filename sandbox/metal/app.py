# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three HTTP applications: the Metal API with its control API, the boot service and the metadata service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.types import ASGIApp

from sandbox.control import Call, Endpoint
from sandbox.metal import control
from sandbox.metal.accounts.authentication import Authentication
from sandbox.metal.boot import create_boot_app
from sandbox.metal.core.app import MetalApp, normal_path
from sandbox.metal.metadata import create_metadata_app
from sandbox.metal.resources import RESOURCES
from sandbox.metal.world import MetalWorld

__all__ = ["ROUTES", "create_boot_app", "create_metadata_app", "create_metal_app", "normal_path"]

ROUTES = [route for each in RESOURCES for route in each.routes]


def create_metal_app(
    world: MetalWorld, mounts: Mapping[str, ASGIApp] | None = None, calls: Sequence[tuple[Call, Endpoint]] = ()
) -> ASGIApp:
    """Return the Metal API and the control API as one application.

    ``mounts``: further applications on the same listener, by the prefix of their paths. ``calls``: further calls of the control API.
    """
    return MetalApp(world, ROUTES, world.service(Authentication), [*control.calls(world), *calls], mounts)
