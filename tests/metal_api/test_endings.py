# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Background tasks end when they are cancelled, also at the moment at which what they wait for happens: else a server never ends."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from metal_api.ironic.client import IronicClient
from metal_api.ironic.machines import IronicMachines
from sandbox.clock import Clock
from tests.metal_api.conftest import Sandbox


class Empty:
    """An Ironic without nodes."""

    async def nodes(self) -> list[dict[str, Any]]:
        return []

    async def ports(self) -> dict[str, list[str]]:
        return {}

    def close(self) -> None:
        return


async def test_polls_end_when_one_is_requested_at_that_moment(sandbox: Sandbox) -> None:
    machines = IronicMachines(cast(IronicClient, Empty()), boot_url="", idle=0.1)
    await machines.start(sandbox.world)
    await asyncio.sleep(0)
    machines.poll_soon()
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await machines.close()


async def test_a_sleep_ends_when_the_speed_changes_at_that_moment() -> None:
    clock = Clock(1)
    sleeping = asyncio.create_task(clock.sleep(3600))
    await asyncio.sleep(0)
    clock.speed = 2
    await asyncio.sleep(0)
    sleeping.cancel()
    await asyncio.wait([sleeping], timeout=10)
    assert sleeping.cancelled()
