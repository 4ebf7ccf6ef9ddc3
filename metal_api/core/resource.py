# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a resource of the Metal API. ``metal_api/resources.py`` lists those of a rack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metal_api.core.call import Route
from metal_api.core.store import Kind, Record
from metal_api.core.world import World


@dataclass(frozen=True)
class Resource:
    """``service``: creates the object that the resource has beside its records (``world.service``).

    ``resume``: continues the operations that the end of the server interrupted. ``on_erase``: deletes the records that belong to a record
    of another resource. ``blockers``: what blocks the deletion of a record of another resource, as a text, empty for nothing. Both by the
    class of that record.
    """

    routes: Sequence[Route] = ()
    kinds: Sequence[Kind[Any]] = ()
    service: Callable[[World], object] | None = None
    resume: Callable[[World], Awaitable[None]] | None = None
    on_erase: Mapping[type[Record], Callable[[World, Any], None]] = field(default_factory=dict)
    blockers: Mapping[type[Record], Callable[[World, Any], str]] = field(default_factory=dict)


def drop_with(kind: type[Record], key: str) -> Callable[[World, Record], None]:
    """Return a function that drops the records of ``kind`` whose ``key`` is the erased record's id."""

    def drop(world: World, owner: Record) -> None:
        for record in world.store[kind].matching(key, owner.id):
            world.store.drop(record)

    return drop


def blocked_by(kind: type[Record], key: str, names: str) -> Callable[[World, Record], str]:
    """Return a function that counts the records of ``kind`` whose ``key`` is the id of the record to delete."""

    def count(world: World, owner: Record) -> str:
        number = world.store[kind].count(key, owner.id)
        return f"{number} {names}" if number else ""

    return count


def resume_each(
    kind: type[Record], unfinished: Callable[[Any], bool], work: Callable[[World, str], Coroutine[Any, Any, None]]
) -> Callable[[World], Awaitable[None]]:
    """Return a function that starts ``work`` for each record of ``kind`` that is ``unfinished``."""

    async def resume(world: World) -> None:
        for record in world.store[kind]:
            if unfinished(record):
                world.tasks.spawn(record.id, work(world, record.id))

    return resume
