# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program on a machine that announces an elastic address by BGP while a service of the machine answers.

The BGP daemon is simulated, since BIRD and GoBGP take no loopback addresses: a machine with a BGP session in its metadata can announce.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from sandbox.machines.host import Host

HOLD_TIME = 9.0
"""Real seconds after which routers withdraw the routes of a machine that is gone, as the checks of HAProxy are in real seconds."""
_CHECK_INTERVAL = 1.0


async def announce(host: Host, address: str, metadata_url: str, is_healthy: Callable[[], Awaitable[bool]]) -> None:
    """Configure the address and announce it while the machine is healthy, until cancelled. It answers for the address from the start on.

    ``metadata_url`` is where the program reads its neighbors.
    """
    device, announcements = host.hardware.device_id, host.site.announcements
    announcements.configure(device, address)
    try:
        while not await _has_neighbors(host, metadata_url):  # noqa: ASYNC110 - the programs poll
            await asyncio.sleep(_CHECK_INTERVAL)
        host.console(f"announce: BGP neighbors are configured, {address} is announced while the machine's own service answers")
        while True:
            change = announcements.announce if await is_healthy() else announcements.withdraw
            change(device, address)
            await asyncio.sleep(_CHECK_INTERVAL)
    finally:
        announcements.switch_off(device)
        # Nobody withdraws the route of a device without power: the routers' hold time does.
        ending = asyncio.get_running_loop().create_task(asyncio.sleep(HOLD_TIME))
        ending.add_done_callback(lambda _unused: announcements.forget(device))


async def _has_neighbors(host: Host, metadata_url: str) -> bool:
    try:
        response = await host.http.request("GET", metadata_url)
    except httpx.TransportError:
        return False
    return response.is_success and any(neighbor["address_family"] == 4 for neighbor in response.json().get("bgp_neighbors") or [])
