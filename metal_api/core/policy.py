# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions of a Metal API that do not follow from its records: quotas, stock, and the durations of its own work."""

from __future__ import annotations

from collections.abc import Mapping


class Policy:
    """The policy for servers that exist: they take their own time, and their owner has no quotas.

    Another kind of server passes an instance of a subclass to its :class:`metal_api.world.MetalWorld`.
    """

    async def pause(self, step: str, *, share: float = 1) -> None:
        """Wait for the duration of a step, without the work of machines. ``share``: of that duration, for a step in parts."""

    async def before_install(self, device_id: str) -> None:
        """Return when a device may be installed or reinstalled now. Raises :class:`metal_api.core.machines.MachineError`."""

    def quota(self, kind: str) -> int | None:
        """Return how many ``devices`` or ``virtual_networks`` a project may have, None for any number."""
        return None

    def plan_quotas(self) -> Mapping[str, int]:
        """Return how many devices of a plan a project may have, by the slugs of the plans that have such a quota."""
        return {}

    def grants(self, type_: str, held: int, quantity: int) -> bool:
        """Return whether a request for addresses is granted at once. ``held``: addresses of this type that the project has."""
        return True

    async def decision(self) -> bool | None:
        """Return, when it is made, the decision on a request that was not granted at once; None if it is made elsewhere."""
        return None

    def stock(self, metro: str, plan: str) -> int:
        """Return how many machines of a plan without servers there are in a metro, those in use included."""
        return 0

    def capacity_checked(self, metro: str, plan: str) -> None:
        """Note that a caller was informed that there is enough capacity."""

    def spot_price(self, metro: str, plan: str) -> float | None:
        """Return the price of a spot instance in USD per hour, None where there is no spot market."""
        return None

    def bgp_status(self) -> str:
        """Return the status that a new BGP session gets: ``up`` or ``down``."""
        return "up"
