# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a new sandbox: a user with an organization, a project, a token and an SSH key, the same for the same seed."""

from __future__ import annotations

import base64
import hashlib
import random
import uuid

from metal_api.accounts.members import add_user
from metal_api.accounts.record import ApiKey, User
from metal_api.core.world import World
from metal_api.ssh_keys import SshKey, fingerprint


def first_start(world: World, seed: int) -> None:
    if len(world.store[User]):
        return
    chance = random.Random(f"equinix_metal.openshift sandbox {seed}")  # noqa: S311 - the values have to be reproducible

    def new_id() -> str:
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))

    now = world.now()
    user_id, organization_id, project_id = new_id(), new_id(), new_id()
    key = (
        "ssh-ed25519 "
        + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + hashlib.sha256(b"nobody has the private half of this key").digest()).decode()
    )
    with world.store.transaction():
        add_user(world, "Sandbox", "User", "user@sandbox.test", (user_id, organization_id, project_id), project_name="sandbox")
        world.store.put(
            ApiKey(
                id=new_id(),
                token="".join(chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", k=32)),
                description="sandbox",
                read_only=False,
                user_id=user_id,
                created_at=now,
                updated_at=now,
            )
        )
        # Like nearly every account: without a key, each order of a device would need no_ssh_keys.
        world.store.put(
            SshKey(
                id=new_id(),
                label="sandbox",
                key=f"{key} user@sandbox.test",
                fingerprint=fingerprint(key),
                user_id=user_id,
                created_at=now,
                updated_at=now,
            )
        )
