# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy of the sandbox: quotas, stock, prices and durations of its settings, in simulated time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from metal_api.catalogue.data import catalogue
from metal_api.core.machines import MachineError
from metal_api.core.policy import Policy
from metal_api.core.world import World
from metal_api.devices.record import Device
from sandbox.clock import Clock
from sandbox.metal.faults import Faults
from sandbox.metal.settings import Settings


class SandboxPolicy(Policy):
    """``world``: set once it is there."""

    world: World

    def __init__(self, clock: Clock, settings: Settings, faults: Faults) -> None:
        self._clock, self._settings, self._faults = clock, settings, faults
        # (metro, plan) -> servers that other customers ordered right after a check; a restart resets it.
        self._taken: Counter[tuple[str, str]] = Counter()

    async def pause(self, step: str, *, share: float = 1) -> None:
        await self._clock.sleep(self._settings.duration(step) * share)

    async def before_install(self, device_id: str) -> None:
        """Fail where a fault is for the device's hostname; a machine that is on is powered off then."""
        store = self.world.store
        device = store[Device][device_id]
        fault = self._faults.for_provisioning(device.hostname)
        if fault is None:
            return
        if device.machine == "on":
            await self.world.machines.power_off(device_id)
            store.put(replace(store[Device][device_id], machine="off"))
        raise MachineError(str(fault.body or ("Reinstallation failed" if device.pending == "reinstall" else "Provisioning failed")))

    def quota(self, kind: str) -> int | None:
        most: int | None = self._settings["quotas"][kind]
        return most

    def plan_quotas(self) -> Mapping[str, int]:
        return self._settings["quotas"]["plans"] or {}

    def grants(self, type_: str, held: int, quantity: int) -> bool:
        quota, at_once = self.quota(type_), self._settings["approval"]["addresses_at_once"]
        return (quota is None or held + quantity <= quota) and (at_once is None or quantity <= at_once)

    async def decision(self) -> bool | None:
        """Decide after the time in the settings; without one, the control API decides."""
        seconds = self._settings["approval"]["seconds"]
        if seconds is None:
            return None
        await self._clock.sleep(seconds)
        return bool(self._settings["approval"]["granted"])

    def stock(self, metro: str, plan: str) -> int:
        capacity = self._settings["capacity"]
        return int(capacity["metros"].get(metro, {}).get(plan, capacity["default"])) - self._taken[metro, plan]

    def capacity_checked(self, metro: str, plan: str) -> None:
        """Let other customers take servers after a successful check, as many as the setting ``taken_after_check``."""
        self._taken[metro, plan] += int(self._settings["capacity"]["taken_after_check"])

    def forget_taken(self) -> None:
        self._taken.clear()

    def spot_price(self, metro: str, plan: str) -> float:
        """Return the price of a setting, by default a share of the price per hour (ours: no rule is published)."""
        setting = self._settings["spot"]
        fixed = setting["metros"].get(metro, {}).get(plan)
        return float(fixed) if fixed is not None else round(catalogue().plans[plan].price_hour * setting["share_of_price"], 4)

    def bgp_status(self) -> str:
        return "up" if self._settings["bgp"]["sessions_come_up"] else "down"
