# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines beside a wait for their cluster: what they told last, and whether one of them will never get there.

A cluster says nothing of a machine that does not come. The Metal API does: the state of its device, and the events that Ignition sends
from the machine itself (`user.*`, its state `failed` when a stage ended for good).

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    DeviceFailedError,
    MetalError,
    together,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import oldest_first
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.objects import DELETING_STATES, filter_tag

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient

MACHINE_WATCH_OPTIONS = Options(
    {
        "machines": {"type": "list", "elements": "str", "default": []},
        "ownership_tags": {"type": "list", "elements": "str", "default": []},
        "quorum_of": {"type": "list", "elements": "str", "default": []},
        "quorum": {"type": "int", "default": 0},
        "quorum_wait": {"type": "float", "default": 1200},
    }
)

_TEXT_LIMIT = 300

PAUSE = 15.0
"""Seconds between two looks: a look is a call for all machines and one for the events of each of some."""

AT_ONCE = 25
"""So many machines are asked for their events in one look, and others in the next: of hundreds a look would take minutes."""

LOOKS_FOR_ABSENT = 3
"""How many looks in a row have to miss a machine before it is gone: a list may lag behind for a moment (service's known behaviour)."""

PAUSE_FOR_ABSENT = 3.0
"""Seconds between these looks."""


def last_event(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The newest of a device's events as the API lists them; empty when there is none."""
    return (oldest_first(events) or [{}])[-1]


def hopeless(device: Mapping[str, Any], event: Mapping[str, Any]) -> str | None:
    """Why this machine will not get further by waiting, by its device and its newest event; None when it may."""
    hostname = device.get("hostname")
    if device.get("state") == "failed":
        return f"{hostname} is failed: {_words(event)}"
    if device.get("state") in DELETING_STATES:
        return f"{hostname} is being deleted by someone else: {_words(event)}"
    if str(event.get("type") or "").startswith("user.") and event.get("state") == "failed":
        return f"{hostname} stopped in its installation or first boot: {_words(event)}"
    return None


def told(device: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """How far a machine is, for a human."""
    return f"machine {device.get('hostname')} is {printable(device.get('state'))}, its last event: {_words(event)}"


def _words(event: Mapping[str, Any]) -> str:
    """An event's text, which a machine may have sent itself (``user.*``), and its time."""
    text = printable(" ".join(str(event.get("body") or event.get("type") or "no event yet").split()), _TEXT_LIMIT)
    at = printable(event.get("created_at") or "")
    return f"{text} ({at[11:]})" if len(at) == 20 else text


class MachineWatch:
    """The devices of the project that have ``ownership_tags`` and one of the host names ``machines``."""

    def __init__(
        self,
        client: MetalClient,
        params: Mapping[str, Any],
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not params["project_id"] or not params["ownership_tags"]:
            raise CollectionError("To watch machines, project_id and ownership_tags must be given")
        self._client = client
        self._params = params
        self._now = now
        self._sleep = sleep
        self._looked: float | None = None
        self._texts: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        """Why each of those will not get further that can be done without (``quorum_of``)."""

    def look(self, joined: Collection[str] = ()) -> list[str]:
        """How far each is that has not ``joined``; looks each PAUSE seconds at most. A Metal API that does not answer is no failure.

        Of many only some are asked for their events each time; what the others told last stands.

        Raises DeviceFailedError for those that will not get further, unless enough others of ``quorum_of`` still may.
        """
        if self._looked is None or self._now() - self._looked >= PAUSE:
            self._looked = self._now()
            try:
                self._read(joined)
            except MetalError as problem:
                self._texts = {"": f"how far the machines are is not known: {problem.message}"}
        return [text for hostname, text in sorted(self._texts.items()) if hostname not in joined]

    def _read(self, joined: Collection[str]) -> None:
        machines: list[str] = self._params["machines"]
        devices = self._devices()
        for _look in range(LOOKS_FOR_ABSENT - 1):
            if set(machines) <= devices.keys():
                break
            self._sleep(PAUSE_FOR_ABSENT)
            devices = self._devices()
        gone = [hostname for hostname in machines if hostname not in devices]
        self.lost = {hostname: f"{hostname} is not there any more: run again to order another" for hostname in gone}
        before, self._texts = self._texts, {hostname: f"machine {hostname} is not there any more" for hostname in gone}
        asked = self._whose_turn([hostname for hostname in devices if hostname not in joined])
        for hostname, device in devices.items():
            event: Mapping[str, Any] = {}
            if hostname in asked or device.get("state") == "failed":
                event = last_event(self._client.read_list(f"devices/{device['id']}/events", "events", doing=f"see how far {hostname} is"))
                self._texts[hostname] = told(device, event)
            else:
                self._texts[hostname] = before.get(hostname, f"machine {hostname} is {device.get('state')}")
            if reason := hopeless(device, event):
                self.lost[hostname] = reason
        left = [hostname for hostname in self._params["quorum_of"] if hostname not in self.lost]
        if not self.lost.keys() <= set(self._params["quorum_of"]) or len(left) < self._params["quorum"]:
            raise DeviceFailedError(together("Waiting does not help", list(self.lost.values())))

    def _whose_turn(self, hostnames: list[str]) -> list[str]:
        """The machines to be asked in this look. By the clock, since each slice of a wait is a process that knows nothing of the last."""
        if len(hostnames) <= AT_ONCE:
            return hostnames
        ordered = sorted(hostnames)
        first = int(self._now() / PAUSE) * AT_ONCE % len(ordered)
        return [*ordered, *ordered][first : first + AT_ONCE]

    def _devices(self) -> dict[str, Mapping[str, Any]]:
        """The machines that are there, by host name."""
        params = self._params
        listed = self._client.read_list(
            f"projects/{params['project_id']}/devices",
            "devices",
            params={"tag": filter_tag(params["ownership_tags"])},
            doing="see how far the machines are",
        )
        tags = set(params["ownership_tags"])
        ours = [device for device in listed if tags <= set(device.get("tags") or []) and device.get("hostname") in params["machines"]]
        # Of two of one name the one that stays.
        ours.sort(key=lambda device: device.get("state") not in DELETING_STATES)
        return {str(device["hostname"]): device for device in ours}
