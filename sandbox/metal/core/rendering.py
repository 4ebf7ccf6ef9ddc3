# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records as the API shows them. Fields and their order of magnitude: vendor's OpenAPI text and recorded answers.

What is a stub unless included: project, ssh_keys, hardware_reservation, virtual_networks of a port, assigned_to of a VLAN. What is whole
unless excluded: plan, operating_system, metro, facility, ip_addresses and network_ports of a device (recorded answers).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox.metal.core.include import PLAIN, Wanted
from sandbox.metal.core.store import JSON, Record
from sandbox.metal.core.world import World


class Rendering:
    """Shows records as their resources do, so that no resource has to import those whose objects are parts of its own.

    ``base`` goes before every href: the path under which the client called (``/metal/v1`` or nothing).
    """

    def __init__(self, world: World, base: str) -> None:
        self.world = world
        self.store = world.store
        self.base = base

    def __call__(self, record: Record, wanted: Wanted = PLAIN) -> JSON:
        return self.store.kind(record).show(self, record, wanted)

    def brief(self, record: Record) -> JSON:
        return self.store.kind(record).brief(self, record)

    def path(self, collection: str, id_: str) -> str:
        return f"{self.base}/{collection}/{id_}"

    def part(self, wanted: Wanted, name: str, record: Record, *, whole: bool = False) -> Any:
        """A record as a part of another: its stub, or all of it."""
        kind = self.store.kind(record)
        if wanted.whole(name, unasked=whole):
            return kind.show(self, record, wanted.below(name))
        return {"href": f"{self.base}/{kind.collection}/{record.id}"}

    def parts(self, wanted: Wanted, name: str, records: Iterable[Record], *, whole: bool = False) -> list[Any]:
        return [self.part(wanted, name, each, whole=whole) for each in records]
