# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of machines during a wait for their cluster: their last events, and which of them have failed.

A cluster does not report a machine that does not join. The Metal API does: by the state of its device, and by the events that Ignition
sends from the machine itself (``machines.events``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..base.argspec import Options
from ..base.errors import CollectionError, DeviceFailedError, MetalError, together
from ..base.printable import printable
from ..metal.objects import DELETING_STATES, filter_tag
from .events import event_text, has_stopped, last_event, stopped_text

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

MACHINE_WATCH_OPTIONS = Options(
    {
        "ownership_tags": {"type": "list", "elements": "str", "default": []},
        "quorum_of": {"type": "list", "elements": "str", "default": []},
        "quorum": {"type": "int", "default": 0},
        "quorum_wait": {"type": "float", "default": 1200},
    }
)

PAUSE = 15.0
"""Seconds between two polls. A poll is one call for all machines, and one for the events of each of AT_ONCE machines."""

AT_ONCE = 25
"""Machines whose events one poll reads; the next poll reads those of others. All events of hundreds would take minutes."""

LISTS_FOR_ABSENT = 3
"""Lists in a row without a machine after which it is absent: a list may lag behind (known behaviour of the service)."""

PAUSE_FOR_ABSENT = 3.0
"""Seconds between these lists."""


def failure_of(device: Mapping[str, Any], event: Mapping[str, Any]) -> str | None:
    """Return why a machine will never join, by its device and its newest event; None if it may join."""
    hostname = device.get("hostname")
    if device.get("state") == "failed":
        return f"{hostname} is failed: {event_text(event)}"
    if device.get("state") in DELETING_STATES:
        return f"{hostname} is being deleted by someone else: {event_text(event)}"
    return stopped_text(hostname, event) if has_stopped(event) else None


def progress_of(device: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """Return a machine's state and newest event as a text."""
    return f"machine {device.get('hostname')} is {printable(device.get('state'))}, its last event: {event_text(event)}"


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
        self._polled: float | None = None
        self._texts: dict[str, str] = {}
        self._stopped: dict[str, str] = {}
        """Why machines stopped, by the id of the device: not every poll reads the events of each."""
        self.lost: dict[str, str] = {}
        """Failed machines of ``quorum_of`` and the reason."""

    def poll(self, joined: Collection[str] = ()) -> list[str]:
        """Return the progress of each machine that has not ``joined``, read every PAUSE seconds. An unreachable Metal API is no error.

        With many machines a poll reads the events of some, and keeps the last text of the others.

        Raises DeviceFailedError for failed machines, unless enough others of ``quorum_of`` may still join.
        """
        if self._polled is None or self._now() - self._polled >= PAUSE:
            self._polled = self._now()
            try:
                self._read(joined)
            except MetalError as problem:
                self._texts = {"": f"how far the machines are is not known: {problem.message}"}
        return [text for hostname, text in sorted(self._texts.items()) if hostname not in joined]

    def _read(self, joined: Collection[str]) -> None:
        machines: list[str] = self._params["machines"]
        devices = self._devices()
        for _list in range(LISTS_FOR_ABSENT - 1):
            if set(machines) <= devices.keys():
                break
            self._sleep(PAUSE_FOR_ABSENT)
            devices = self._devices()
        gone = [hostname for hostname in machines if hostname not in devices]
        self.lost = {hostname: f"{hostname} is not there any more: run again to order another" for hostname in gone}
        before, self._texts = self._texts, {hostname: f"machine {hostname} is not there any more" for hostname in gone}
        turn = self._whose_turn([hostname for hostname in devices if hostname not in joined])
        stopped: dict[str, str] = {}
        for hostname, device in devices.items():
            identity = str(device["id"])
            if hostname in turn or device.get("state") == "failed":
                event = last_event(self._client.read_list(f"devices/{identity}/events", "events", doing=f"see how far {hostname} is"))
                self._texts[hostname] = progress_of(device, event)
                reason = failure_of(device, event)
            else:
                self._texts[hostname] = before.get(hostname, f"machine {hostname} is {device.get('state')}")
                is_known = device.get("state") == "active" and hostname not in joined
                reason = failure_of(device, {}) or (self._stopped.get(identity) if is_known else None)
            if reason:
                self.lost[hostname] = reason
                # A device in another state begins anew when it is active again.
                if device.get("state") == "active":
                    stopped[identity] = reason
        self._stopped = stopped
        left = [hostname for hostname in self._params["quorum_of"] if hostname not in self.lost]
        if not self.lost.keys() <= set(self._params["quorum_of"]) or len(left) < self._params["quorum"]:
            raise DeviceFailedError(together("Giving up, since machines will not join", list(self.lost.values())))

    def _whose_turn(self, hostnames: list[str]) -> list[str]:
        """Return the machines whose events this poll reads, chosen by the clock."""
        if len(hostnames) <= AT_ONCE:
            return hostnames
        ordered = sorted(hostnames)
        first = int(self._now() / PAUSE) * AT_ONCE % len(ordered)
        return [*ordered, *ordered][first : first + AT_ONCE]

    def _devices(self) -> dict[str, Mapping[str, Any]]:
        """Return the existing machines by host name in lower case, as Nodes have it."""
        params = self._params
        listed = self._client.read_list(
            f"projects/{params['project_id']}/devices",
            "devices",
            params={"tag": filter_tag(params["ownership_tags"])},
            doing="see how far the machines are",
        )
        tags = set(params["ownership_tags"])
        owned = [
            {**device, "hostname": str(device.get("hostname") or "").lower()} for device in listed if tags <= set(device.get("tags") or [])
        ]
        ours = [device for device in owned if device["hostname"] in params["machines"]]
        # Of two devices with one name, one that is being deleted does not count.
        ours.sort(key=lambda device: device.get("state") not in DELETING_STATES)
        return {str(device["hostname"]): device for device in ours}
