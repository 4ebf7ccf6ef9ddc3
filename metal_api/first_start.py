# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a new state folder: a user with an organization, a project and a token."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field

from metal_api.accounts.members import add_user
from metal_api.accounts.record import ApiKey, User
from metal_api.core.world import World
from metal_api.ssh_keys import SshKey, fingerprint


@dataclass(frozen=True)
class Owner:
    """The first user. ``chance``: makes ids and token. ``ssh_key``: a public key of the user, empty for none."""

    first_name: str
    last_name: str
    email: str
    project: str
    chance: random.Random = field(default_factory=random.SystemRandom)
    ssh_key: str = ""


def first_start(world: World, owner: Owner) -> None:
    if len(world.store[User]):
        return

    def new_id() -> str:
        return str(uuid.UUID(int=owner.chance.getrandbits(128), version=4))

    now = world.now()
    user_id, organization_id, project_id = new_id(), new_id(), new_id()
    with world.store.transaction():
        ids = (user_id, organization_id, project_id)
        add_user(world, owner.first_name, owner.last_name, owner.email, ids, project_name=owner.project)
        world.store.put(
            ApiKey(
                id=new_id(),
                token="".join(owner.chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", k=32)),
                description=owner.project,
                read_only=False,
                user_id=user_id,
                created_at=now,
                updated_at=now,
            )
        )
        if owner.ssh_key:
            world.store.put(
                SshKey(
                    id=new_id(),
                    label=owner.project,
                    key=owner.ssh_key,
                    fingerprint=fingerprint(owner.ssh_key),
                    user_id=user_id,
                    created_at=now,
                    updated_at=now,
                )
            )
