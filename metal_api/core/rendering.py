# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders records as the API returns them. Fields: vendor's OpenAPI text and recorded answers.

Stubs unless included: project, ssh_keys, hardware_reservation, virtual_networks of a port, assigned_to of a VLAN. In full unless excluded:
plan, operating_system, metro, facility, ip_addresses and network_ports of a device (recorded answers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metal_api.core.include import PLAIN, Include
from metal_api.core.store import JSON, Record
from metal_api.core.world import World


class Rendering:
    """Renders records of all resources, so that no resource has to import those whose objects are parts of its own.

    ``base``: prefix of every href, as the client called (``/metal/v1`` or empty). ``sees``: whether the caller has access to a project.
    """

    def __init__(self, world: World, base: str, sees: Callable[[str], bool] = lambda _project_id: True) -> None:
        self.sees = sees
        self.world = world
        self.store = world.store
        self.base = base

    def __call__(self, record: Record, include: Include = PLAIN) -> JSON:
        return self.store.kind(record).show(self, record, include)

    def brief(self, record: Record) -> JSON:
        return self.store.kind(record).brief(self, record)

    def path(self, collection: str, id_: str) -> str:
        return f"{self.base}/{collection}/{id_}"

    def part(self, include: Include, name: str, record: Record, *, by_default: bool = False) -> Any:
        """Return a record as a part of another one: in full or as a stub."""
        kind = self.store.kind(record)
        if include.includes(name, by_default=by_default):
            return kind.show(self, record, include.below(name))
        return {"href": f"{self.base}/{kind.collection}/{record.id}"}

    def parts(self, include: Include, name: str, records: Iterable[Record], *, by_default: bool = False) -> list[Any]:
        return [self.part(include, name, record, by_default=by_default) for record in records]
