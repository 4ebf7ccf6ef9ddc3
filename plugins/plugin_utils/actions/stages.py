# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of what is waited for (devices, nodes, operators) between two reports of a module: one line of progress for each change."""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils.base.printable import printable
from .screen import duration

USUAL: Mapping[str, float] = {"provisioning": 180, "reinstalling": 180, "deprovisioning": 240, "not Ready": 1500}
"""Seconds that a stage usually takes, by measurements of the service (events of a provisioning: 86 + 11 + 86 s; end of a reserved server's
deprovisioning: 4 min; a machine joins 20 to 30 min after its order). Stages without a known time have none."""

LONGEST = 600


class Stages:
    """Compares each state of a wait with the one before it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}
        """By name the stage, and the monotonic time in seconds since when it is seen."""

    def changes(self, stages: Mapping[str, str], now: float) -> list[str]:
        """Return a line for what has another stage than before, by name. What is seen first is no change. ``now``: a monotonic time."""
        lines = []
        for name, stage in sorted(stages.items()):
            before, since = self._known.get(name, ("", now))
            if before != stage:
                self._known[name] = (stage, now)
                if before:
                    usually = f", usually {duration(USUAL[before])}" if before in USUAL else ""
                    lines.append(printable(f"{name} is {stage} after {duration(now - since)} {before}{usually}", LONGEST))
        return lines
