# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP applications: the Metal API, the boot service and the metadata service, and these two on one listener."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from metal_api import absent
from metal_api.accounts.authentication import Authentication
from metal_api.boot import BootMedia, create_boot_app
from metal_api.core.app import MetalApp, normal_path
from metal_api.metadata import create_metadata_app
from metal_api.world import MetalWorld

__all__ = ["create_boot_app", "create_machines_app", "create_metadata_app", "create_metal_app", "normal_path"]

_METADATA = frozenset({"metadata", "userdata", "api", "2009-04-04"})
"""First parts of the paths of the metadata service; all others are of the boot service."""


def create_metal_app(world: MetalWorld, mounts: Mapping[str, ASGIApp] | None = None) -> ASGIApp:
    """Return the Metal API as an application. ``mounts``: further ones on the same listener, by the first part of their paths."""
    routes = absent.completed(route for resource in world.resources for route in resource.routes)
    return MetalApp(world, routes, world.service(Authentication), absent.fallback(routes), mounts)


def create_machines_app(world: MetalWorld, media: BootMedia) -> ASGIApp:
    """Return boot and metadata service as one application."""
    boot, metadata = create_boot_app(world, media), create_metadata_app(world)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        first = scope["path"].split("/", 2)[1:2]
        await (metadata if _METADATA.intersection(first) else boot)(scope, receive, send)

    return app
