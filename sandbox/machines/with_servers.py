# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated machines and servers side by side: each device has the backend of its machine."""

from __future__ import annotations

from collections.abc import Callable

from metal_api.core.machines import Hardware, Machines


class WithServers:
    """``is_server``: whether a device is a server, by its id."""

    def __init__(self, simulated: Machines, servers: Machines, is_server: Callable[[str], bool]) -> None:
        self._simulated, self._servers, self._is_server = simulated, servers, is_server

    async def install(self, hw: Hardware) -> None:
        await self._of(hw.device_id).install(hw)

    async def power_off(self, device_id: str) -> None:
        await self._of(device_id).power_off(device_id)

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        await self._of(device_id).power_on(device_id, hw=hw)

    async def reboot(self, device_id: str) -> None:
        await self._of(device_id).reboot(device_id)

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        await self._of(hw.device_id).reinstall(hw, keep_disks=keep_disks)

    async def rescue(self, hw: Hardware) -> None:
        await self._of(hw.device_id).rescue(hw)

    async def remove(self, device_id: str) -> None:
        await self._of(device_id).remove(device_id)

    async def restore(self, hw: Hardware, *, is_on: bool) -> None:
        await self._of(hw.device_id).restore(hw, is_on=is_on)

    async def close(self) -> None:
        await self._simulated.close()
        await self._servers.close()

    def _of(self, device_id: str) -> Machines:
        return self._servers if self._is_server(device_id) else self._simulated
