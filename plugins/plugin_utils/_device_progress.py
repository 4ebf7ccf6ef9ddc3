# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of devices between two results of ``metal_device_set``: for a line of progress each, and for the run report.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._rows import mapping, mappings
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import duration

USUAL: Mapping[str, float] = {"provisioning": 180, "reinstalling": 180, "deprovisioning": 240}
"""Seconds that a device usually has a state, by measurements of the service (events of a provisioning: 86 + 11 + 86 s; end of a reserved
server's deprovisioning: 4 min). States without a known time have none."""

LONGEST = 600


@dataclass(frozen=True)
class Change:
    """A device that has another state or action than in the result before. ``before`` and ``seconds``: the state that has ended, and how
    long it was seen; empty for a device that is seen first.
    """

    name: str
    state: str
    action: str
    place: Mapping[str, Any]
    error: str
    before: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        """Return the line of progress; empty for a device that is seen first, or whose state is the same."""
        if not self.before or self.before == self.state:
            return ""
        usual = f", usually {duration(USUAL[self.before])}" if self.before in USUAL else ""
        return printable(f"{self.name} is {self.state} after {duration(self.seconds)} {self.before}{usual}", LONGEST)


class DeviceProgress:
    """Compares each result with the one before it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str, float]] = {}

    def changes(self, answer: Mapping[str, Any], now: float) -> list[Change]:
        """Return the devices that have changed, by name. ``now``: a monotonic time in seconds."""
        states = {str(device.get("hostname")): str(device.get("state")) for device in mappings(answer.get("devices"))}
        found = []
        for name, value in sorted(mapping(answer.get("outcomes")).items()):
            outcome = mapping(value)
            action = str(outcome.get("action") or "none")
            state = "deleted" if outcome.get("status") == "removed" else states.get(name) or str(outcome.get("status") or "unknown")
            before, known_action, since = self._known.get(name, ("", "", now))
            if (before, known_action) == (state, action):
                continue
            self._known[name] = (state, action, since if before == state else now)
            place = {key: outcome.get(key) for key in ("plan", "metro")}
            error = printable(outcome.get("error") or "", LONGEST)
            found.append(Change(name, state, action, place, error, before, now - since))
        return found
