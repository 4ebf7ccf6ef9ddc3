# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several devices as one resource: one listing for all of them, a result for each.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import (
    RESUME_OPTIONS,
    STATE_OPTIONS,
    WAIT_OPTIONS,
    Options,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._diff import differences
from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import CollectionError, NotYetError, together
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_capacity import ask_capacity, lacking
from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_device import (
    DEVICE_OPTIONS,
    Device,
    creation_problems,
    device_facts,
    state_text,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import (
    create_once,
    ignored,
    limited,
    refuse_fixed,
    update_once,
)

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._metal_client import MetalClient
    from ansible_collections.equinix_metal.openshift.plugins.module_utils._resource import Found

MACHINE_OPTIONS: dict[str, Any] = {"hostname": {"type": "str", "required": True}, **DEVICE_OPTIONS.argument_spec}

DEVICE_SET_OPTIONS = Options(
    {
        "machines": {"type": "list", "elements": "dict", "options": MACHINE_OPTIONS},
        "ownership_tags": {"type": "list", "elements": "str", "required": True},
        "all_owned": {"type": "bool", "default": False},
        "on_drift": {"type": "str", "choices": ["fail", "ignore"], "default": "fail"},
    },
    required_if=[["state", "present", ["machines"]]],
).merge(STATE_OPTIONS, WAIT_OPTIONS, RESUME_OPTIONS)


AT_ONCE = 8
"""How many calls are under way at once while machines are ordered, changed or deleted: enough to hide the way there and back."""


@dataclass
class Member:
    """One machine of the set and what became of it in this run.

    ``action`` is ``created``, ``updated``, ``deleted`` or ``none`` (in check mode: what would be). ``pending`` are changes that cannot be
    made yet. ``acted`` is true when the action was accepted, ``settled`` when there is nothing more to do for it, well or badly.
    """

    device: Device
    key: str
    found: Found | None = None
    action: str = "none"
    error: CollectionError | None = None
    acted: bool = False
    settled: bool = False
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    pending: dict[str, Any] = field(default_factory=dict)
    wanted: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def guard(self, step: Callable[[Member], list[str]]) -> list[str]:
        """Run a step; an expected error is kept and ends this machine's part, not the others'."""
        if self.settled:
            return []
        try:
            self.texts = step(self)
        except CollectionError as error:
            self.error = error
            self.texts = []
        self.settled = not self.texts
        return self.texts

    # The steps of state=present. Each returns what is still missing.

    def plan(self, listing: Sequence[Found]) -> list[str]:
        """Decide what is to be done; writes nothing."""
        self.wanted = self.device.wanted()
        self.found = self.device.among(listing)
        if self.found is None:
            self.device.check_creation()
            self.action, self.after = "created", dict(self.wanted)
            return [f"{self.key} is not ordered"]
        missing = self.device.missing(self.found)  # says at once when it can never be as wanted
        view = self.device.view(self.found)
        self.before = self.after = limited(view, self.wanted)
        self.pending = differences(view, self.wanted)
        drift = sorted(set(self.pending) & set(self.device.fixed))
        if drift and self.device.params.get("on_drift") == "ignore":
            self.device.warn(ignored(self.device, view, {name: self.pending.pop(name) for name in drift}))
        refuse_fixed(self.device, view, self.pending)
        if self.pending:
            self.action, self.after = "updated", {**self.before, **self.pending}
            missing = [*missing, f"{self.key} is not changed"]
        return missing

    def predict(self) -> None:
        """Take what was decided as done: check mode."""
        self.acted = self.action != "none" and self.error is None
        if self.acted and self.action != "deleted":
            self.found = self.device.predict(self.found, self.pending or self.wanted)

    def start(self) -> list[str]:
        """Order it if it is not there, then go on with it."""
        if self.found is None:
            try:
                self.found = create_once(self.device.create, self.device.find)
            except NotYetError as error:
                return error.waiting
            self.acted = True
            left = differences(self.device.view(self.found), self.wanted)
            self.pending = {name: value for name, value in left.items() if name in self.device.after_creation}
        return self.advance(self.found)

    def advance(self, found: Found) -> list[str]:
        """Make the changes that wait for it, if they can be made by now."""
        self.found = found
        if self.pending:
            texts = self.device.hindrances(found, self.pending)
            if texts:
                return texts
            self.found = update_once(self.device, found, self.pending)
            self.acted = True
            self.pending = {}
        missing = self.device.missing(self.found)
        if not missing:
            # What really is, not what was meant.
            self.after = limited(self.device.view(self.found), self.wanted)
        return missing

    def follow(self, listing: Mapping[str, Found]) -> list[str]:
        """Look at it again, in a new listing by id; one that is not in it is looked for by itself before it is given up."""
        if self.found is None:
            return self.start()
        return self.advance(listing.get(str(self.found["id"])) or self.device.refresh(self.found))

    # The steps of state=absent.

    def plan_removal(self, listing: Sequence[Found]) -> list[str]:
        """Decide what is to be done; writes nothing."""
        self.found = self.device.among(listing)
        if self.found is None:
            return []
        if not self.device.leaving(self.found):
            self.device.check_removal(self.found)
            self.action = "deleted"
            self.before = {name: value for name, value in self.device.view(self.found).items() if value not in (None, "", [], {})}
            self.pending = {"state": "absent"}
        return [f"{self.key} is there"]

    def remove(self) -> list[str]:
        """Ask for its deletion, if that was not accepted before."""
        if self.found is None:
            return []
        if self.pending:
            texts = self.device.delete(self.found)
            if texts:
                return texts
            self.acted = True
            self.pending = {}
        return [f"{self.key} is being deleted"]

    def follow_removal(self, listing: Mapping[str, Found]) -> list[str]:
        """Look at it again, in a new listing by id: what is not in it is gone."""
        if self.found is None or str(self.found["id"]) not in listing:
            return []
        self.found = listing[str(self.found["id"])]
        if self.found.get("state") == "deleted":
            return []
        return self.remove() if self.pending else [state_text(self.found)]

    def result(self) -> dict[str, Any]:
        """What the module tells of it under its host name."""
        identity = self.found.get("id") if self.found else None
        action = self.action if self.acted else "none"
        return {"id": identity, "changed": self.acted, "action": action, "error": self.error.message if self.error else None}


class DeviceSet:
    """The devices of ``machines``, or all with ``ownership_tags``; ``params`` are the options of ``metal_device_set``."""

    name = "devices"

    def __init__(self, client: MetalClient, params: Mapping[str, Any], warn: Callable[[str], None] | None = None) -> None:
        self._client = client
        self._params = params
        self._warn = warn
        self._project = params["project_id"]
        self._tags: list[str] = list(params["ownership_tags"])
        self.members: list[Member] = []

    def check(self) -> None:
        """Raise CollectionError for options that cannot be meant, all of them at once, before anything is looked at or ordered."""
        problems = []
        if not self._tags or any(not tag.strip() for tag in self._tags):
            problems.append("ownership_tags must name at least one tag, and none may be empty: they say which devices are ours")
        machines = self._params["machines"] or []
        if self._params["all_owned"] and (machines or self._params["state"] == "present"):
            problems.append("all_owned is for state=absent, and without machines")
        if not self._params["all_owned"] and self._params["machines"] is None:
            problems.append("machines must be given, or all_owned to have all deleted")
        names = Counter(str(machine["hostname"]).lower() for machine in machines)
        problems += [f"the hostname {name} is given {count} times" for name, count in names.items() if count > 1]
        if self._params["state"] == "present":
            for machine in machines:
                # What is missing to create it only matters when it is not there; what can never be is told now.
                problems += [f"{machine['hostname']}: {text}" for text in creation_problems(machine) if not text.startswith("to create it")]
        if problems:
            raise CollectionError(together("These machines cannot be meant", problems))

    def look(self) -> list[Found]:
        """All devices of the project, in one list: also those of others, since a name may be taken by one that is not ours."""
        return list(self._client.read_list(f"projects/{self._project}/devices", "devices", doing="list the project's devices"))

    def look_at_ours(self) -> list[Found]:
        """The devices with our first tag: what a poll needs, and no more of a large project than that."""
        path = f"projects/{self._project}/devices"
        return list(self._client.read_list(path, "devices", params={"tag": self._tags[0]}, doing="list the cluster's devices"))

    def gather(self, listing: Iterable[Found]) -> None:
        """Make the members, in the order of ``machines``, or by host name for ``all_owned``."""
        shared = {name: self._params.get(name) for name in ("project_id", "ownership_tags", "state", "wait", "resume", "on_drift")}
        if self._params["all_owned"]:
            owned = [device for device in listing if set(self._tags) <= set(device.get("tags") or []) and device.get("id")]
            counted = Counter(str(device.get("hostname")) for device in owned)
            for device in sorted(owned, key=lambda item: (str(item.get("hostname")), str(item["id"]))):
                hostname = str(device.get("hostname"))
                key = hostname if counted[hostname] == 1 else f"{hostname} ({device['id']})"
                self.members.append(Member(Device(self._client, {**shared, "hostname": hostname, "id": device["id"]}, self._warn), key))
            return
        for machine in self._params["machines"]:
            self.members.append(Member(Device(self._client, {**machine, **shared}, self._warn), str(machine["hostname"])))

    def check_capacity(self) -> None:
        """Ask once whether all that is to be ordered can be had. Raises CollectionError naming every lack; nothing is ordered then.

        Hardware reserved already needs no stock. A service that does not answer this question is no reason to stop.
        """
        wanted: Counter[tuple[str, str]] = Counter()
        for member in self.members:
            params = member.device.params
            ordered = member.action == "created" and member.error is None
            if ordered and not params.get("hardware_reservation_id") and params["metro"].lower() != "any":
                wanted[params["plan"], params["metro"].lower()] += 1
        if not wanted:
            return
        servers = [{"plan": plan, "metro": metro, "quantity": quantity} for (plan, metro), quantity in sorted(wanted.items())]
        problems = lacking(ask_capacity(self._client, servers, optional=True))
        if problems:
            raise CollectionError(together("Nothing was ordered, since not all of it can be had", problems), {"servers": servers})

    def give_up(self, reason: str, *, pending_only: bool = False) -> None:
        """The machines that are not there yet have failed, for this reason; ``pending_only``: just those that were not changed yet."""
        for member in self.members:
            if not member.settled and (member.pending or member.found is None or not pending_only):
                member.error = CollectionError(f"{'; '.join(member.texts)}: {reason}", {"waiting": member.texts})
                member.settled = True

    def results(self) -> dict[str, Any]:
        """``devices`` and ``outcomes`` as the module returns them."""
        return {
            "devices": [device_facts(member.found) for member in self.members if member.found is not None],
            "outcomes": {member.key: member.result() for member in self.members},
        }

    def diff(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """(before, after) of the machines that change."""
        changing = [member for member in self.members if member.acted]
        return (
            {member.key: member.before for member in changing if member.before},
            {member.key: member.after for member in changing if member.after},
        )

    def failure(self) -> CollectionError | None:
        """What went wrong, machine by machine; nothing when all is well."""
        failed = [member for member in self.members if member.error is not None]
        if not failed:
            return None
        heading = f"{len(failed)} of {len(self.members)} machines are not as wanted"
        return CollectionError(
            together(heading, [f"{member.key}: {member.error}" for member in failed]),
            {"machines": {member.key: member.error.details for member in failed if member.error is not None}},
        )

    # A call that goes on waiting.

    def memory(self) -> dict[str, Any]:
        """What the next call has to know to go on where this one stopped; no secret."""
        return {
            member.key: {
                "found": {name: (member.found or {}).get(name) for name in ("id", "hostname", "state", "tags")} if member.found else None,
                "action": member.action,
                "acted": member.acted,
                "error": member.error.message if member.error else None,
                "details": member.error.details if member.error else None,
                "before": member.before,
                "after": member.after,
                "pending": sorted(member.pending),
            }
            for member in self.members
        }

    def recall(self, memory: Mapping[str, Any], listing: Sequence[Found]) -> None:
        """Take up what the call before knew."""
        by_id = {device.get("id"): device for device in listing}
        if self._params["all_owned"]:
            shared = {name: self._params.get(name) for name in ("project_id", "ownership_tags", "state", "wait", "resume", "on_drift")}
            for key, known in memory.items():
                only = Device(self._client, {**shared, "hostname": known["found"]["hostname"], "id": known["found"]["id"]}, self._warn)
                self.members.append(Member(only, key))
        else:
            self.gather(listing)
        for member in self.members:
            known = memory.get(member.key)
            if known is None:
                raise CollectionError(f"{member.key} was not part of the call that is resumed")
            if known["found"]:
                member.found = by_id.get(known["found"]["id"], known["found"])
            member.wanted = member.device.wanted() if self._params["state"] == "present" else {}
            member.action, member.acted = known["action"], known["acted"]
            member.before, member.after = known["before"], known["after"]
            member.pending = {name: member.wanted.get(name, "absent") for name in known["pending"]}
            if known["error"] is not None:
                member.error = CollectionError(known["error"], known["details"])
            # What is not there and has no error is wanted gone, or waits for its hardware.
            member.settled = member.error is not None or (member.found is None and member.action != "created")


def side_by_side(members: Iterable[Member], step: Callable[[Member], list[str]]) -> list[str]:
    """Run a step for all of these that are not settled, several at once; returns what is still missing, in their order."""
    waiting = [member for member in members if not member.settled]
    if len(waiting) < 2:
        return [text for member in waiting for text in member.guard(step)]
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(waiting))) as pool:
        return [text for texts in pool.map(lambda member: member.guard(step), waiting) for text in texts]
