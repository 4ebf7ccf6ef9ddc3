# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several devices as one resource: one list for all, a result for each, and the decisions that concern all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..base.argspec import STATE_OPTIONS, WAIT_OPTIONS, Options, identifiers
from ..base.errors import CollectionError, DeviceFailedError, NotFoundError, together
from ..metal.objects import filter_tag, metro_code
from .capacity import ask_capacity, out_of_stock
from .device import DEVICE_OPTIONS, Device, creation_problems, device_result, metros_of
from .events import has_stopped, last_event, stopped_text
from .member import AT_ONCE, Member, run_concurrently
from .placement import Place, Pool, alternatives, assign, capacity_of, fill, queries

if TYPE_CHECKING:
    from ..clients.metal import MetalClient
    from ..metal.resource import Found

PLACEMENT_OPTION: dict[str, Any] = {"type": "list", "elements": "dict", "options": {"metro": {"type": "str"}, "plan": {"type": "str"}}}

MACHINE_OPTIONS: dict[str, Any] = {
    "hostname": {"type": "str", "required": True},
    **DEVICE_OPTIONS.argument_spec,
    "placement": PLACEMENT_OPTION,
}

DEVICE_SET_OPTIONS = Options(
    {
        "machines": {"type": "list", "elements": "dict", "options": MACHINE_OPTIONS},
        "hostnames": {"type": "list", "elements": "str", "aliases": ["hostname", "name"]},
        "ids": identifiers(aliases=["device_ids"]),
        **DEVICE_OPTIONS.argument_spec,
        "placement": PLACEMENT_OPTION,
        "spread": {"type": "bool", "default": False},
        "replace_failed": {"type": "int", "default": 0},
        "joined": {"type": "list", "elements": "str", "default": []},
        "quorum": {"type": "int"},
        "quorum_wait": {"type": "float", "default": 120},
        "ownership_tags": {"type": "list", "elements": "str", "required": True},
        "all_owned": {"type": "bool", "default": False},
        "on_drift": {"type": "str", "choices": ["fail", "ignore", "replace"], "default": "fail"},
        "replace_at_once": {"type": "int", "default": 1},
    }
).merge(STATE_OPTIONS, WAIT_OPTIONS)


def failed_only(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result as it is returned with an error: of the machines those that failed, and no devices, which may be hundreds."""
    kept = {name: value for name, value in result.items() if name != "devices"}
    if "outcomes" in kept:
        kept["outcomes"] = {key: outcome for key, outcome in kept["outcomes"].items() if outcome["error"] is not None}
    return kept


def _in_order(members: Sequence[Member]) -> list[list[Member]]:
    """Return the members in batches: devices on any free hardware reservation are ordered after those on given ones.

    ``next-available`` may be any reservation, also the one that another machine names.
    """
    last = [member for member in members if member.orders and member.resource.params.get("hardware_reservation_id") == "next-available"]
    return [[member for member in members if member not in last], last]


class _Listing:
    """A list of devices by id and by host name: a set may have a thousand of them."""

    def __init__(self, listing: Sequence[Found]) -> None:
        self._by_id = {str(device.get("id")): device for device in listing}
        self._by_name: dict[str, list[Found]] = {}
        for device in listing:
            self._by_name.setdefault(str(device.get("hostname") or "").lower(), []).append(device)

    def candidates(self, member: Member) -> list[Found]:
        """Return the devices that may be this member: with its id, or with its name or without a name."""
        if identity := member.resource.params.get("id"):
            return [self._by_id[identity]] if identity in self._by_id else []
        return [*self._by_name.get(str(member.resource.params["hostname"]).lower(), []), *self._by_name.get("", [])]


class DeviceSet:
    """The devices of ``machines``, ``hostnames`` or ``ids``, or all with ``ownership_tags``.

    ``params`` are the options of ``metal_device_set``. ``members`` are the devices of the set. ``notes`` lists deviations from the first
    choice and what was done about each. ``now`` returns seconds.
    """

    def __init__(
        self,
        client: MetalClient,
        params: Mapping[str, Any],
        warn: Callable[[str], None] | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._params = params
        self._warn = warn
        self._now = now
        self._absent = params["state"] == "absent"
        self._project = params["project_id"]
        self.ownership_tags: list[str] = list(params["ownership_tags"])
        self._given = {str(machine["hostname"]): machine for machine in params["machines"] or []}
        self._replacements_left: int = params["replace_failed"]
        self._refused: list[Place] = []
        self._enough_since: float | None = None
        self.members: list[Member] = []
        self.notes: list[str] = []

    @property
    def first_metro(self) -> str:
        """Return the first metro of the set's options; empty when they have none."""
        places = [place for value in (*self._given.values(), self._params) for place in (value, *(value.get("placement") or []))]
        return next((metro for place in places for metro in metros_of(place) if metro != "any"), "")

    # Options.

    def check(self) -> None:
        """Raise CollectionError for invalid options, with all problems, before any request."""
        params = self._params
        problems = []
        if not self.ownership_tags or any(not tag.strip() for tag in self.ownership_tags):
            problems.append("ownership_tags must have at least one tag, and no empty one")
        named = any(params[name] is not None for name in ("machines", "hostnames", "ids"))
        if params["all_owned"] and (params["machines"] or params["hostnames"] or params["ids"] is not None or not self._absent):
            problems.append("all_owned needs state=absent, without machines, hostnames and ids")
        if params["ids"] is not None and (params["machines"] or params["hostnames"] or not self._absent):
            problems.append("ids needs state=absent, without machines and hostnames")
        if not params["all_owned"] and not named:
            problems.append("machines or hostnames must be set" + (", or ids, or all_owned to delete all devices" if self._absent else ""))
        if params["machines"] and params["hostnames"]:
            problems.append("machines and hostnames are mutually exclusive")
        if any(not name.strip() for name in self._names()):
            problems.append("a hostname is empty")
        names = Counter(name.lower() for name in [*(params["hostnames"] or []), *(str(m["hostname"]) for m in params["machines"] or [])])
        problems += [f"the hostname {name} is listed {count} times" for name, count in names.items() if count > 1]
        if not self._absent:
            problems += self._choice_problems()
            for name in dict.fromkeys(self._names()):
                # Options that only a create needs are checked when the device does not exist.
                machine = self._machine(name)
                problems += [f"{name}: {text}" for text in creation_problems(machine) if not text.startswith("to create it")]
        if problems:
            raise CollectionError(together("Cannot use the options", problems))

    def _choice_problems(self) -> list[str]:
        params = self._params
        problems = [
            f"{name} must be {least} or more" for name, least in (("replace_failed", 0), ("replace_at_once", 1)) if params[name] < least
        ]
        size = len(self._names())
        if params["quorum"] is not None and not 1 <= params["quorum"] <= size:
            problems.append(f"quorum must be 1 to the number of machines, {size}, not {params['quorum']}")
        if params["on_drift"] == "replace" and not params["wait"]:
            problems.append("on_drift=replace needs wait=true: devices are replaced one after the other")
        for placement in [params["placement"], *(machine.get("placement") for machine in self._given.values())]:
            if any(not entry.get("metro") and not entry.get("plan") for entry in placement or []):
                problems.append("each entry of placement needs a metro, a plan or both")
            if params["spread"] and any((entry.get("metro") or "").lower() == "any" for entry in placement or []):
                problems.append("spread does not support the metro any")
        return problems

    def _names(self) -> list[str]:
        return list(self._given) or list(self._params["hostnames"] or [])

    def _machine(self, hostname: str) -> dict[str, Any]:
        """Return the options of one device: its own, with those of the set as defaults."""
        own = self._given.get(hostname, {})
        options = {name: own.get(name) if own.get(name) is not None else self._params.get(name) for name in DEVICE_OPTIONS.argument_spec}
        return {**options, "hostname": hostname, "placement": own.get("placement") or self._params["placement"]}

    # Lists.

    def list_all(self) -> list[Found]:
        """Return all devices of the project: a device of another owner may have the name of a member."""
        return list(self._client.read_list(f"projects/{self._project}/devices", "devices", doing="list the project's devices"))

    def list_owned(self) -> list[Found]:
        """Return the devices with one of the ownership tags: a poll needs no others of a large project."""
        path, params = f"projects/{self._project}/devices", {"tag": filter_tag(self.ownership_tags)}
        return list(self._client.read_list(path, "devices", params=params, doing="list the set's devices"))

    def plan(self, listing: Sequence[Found]) -> None:
        """Create the members and plan the action of each; writes nothing. Raises CollectionError when there is no capacity."""
        listed = _Listing(listing)
        owned = [device for device in listing if set(self.ownership_tags) <= set(device.get("tags") or []) and device.get("id")]
        if self._absent:
            self.members = (
                self._removals(self._chosen(listing, owned)) if self._removes_by_id else [self._member(name) for name in self._names()]
            )
            for member in self.members:
                member.guard(lambda member: member.plan_removal(member.resource.among(listed.candidates(member))))
            return
        self.members = [self._member(name) for name in self._names()]
        for member in self.members:
            member.guard(lambda member: member.plan(member.resource.among(listed.candidates(member)), self._params["on_drift"]))
        if errors := [member.error for member in self.members if member.error is not None]:
            # All of them come from one list, so one of them names its request.
            self._client.add_origin(errors[0])
        if self._replacements_left:
            self._find_stopped()
        self._renew()
        self._choose_places()

    def _member(self, name: str) -> Member:
        machine = self._machine(name)
        placement = machine.pop("placement")
        if machine.get("hardware_reservation_id") not in (None, "", "next-available"):
            placement = None  # the hardware determines metro and plan
        places = alternatives(Place((machine.get("metro") or "").lower(), machine.get("plan") or ""), placement)
        if placement and len(places) == 1:
            # The only place is no choice: it is where the device is, whatever its own metro and plan are.
            machine = {**machine, "metro": places[0].metro, "plan": places[0].plan}

        def make(place: Place | None) -> Device:
            located = {key: value for key, value in zip(("metro", "plan"), place or (), strict=False) if value}
            return Device(self._client, {**machine, **located, **self._shared()}, self._warn)

        return Member(make, name, places, warn=self._show_warning)

    @property
    def _removes_by_id(self) -> bool:
        return bool(self._params["all_owned"]) or self._params["ids"] is not None

    def _chosen(self, listing: Sequence[Found], owned: Sequence[Found]) -> Sequence[Found]:
        """Return the devices to delete: all owned ones, or those of ``ids``. Raises CollectionError for a device of another owner."""
        if self._params["all_owned"]:
            return owned
        chosen = [device for device in listing if device.get("id") in self._params["ids"]]
        if foreign := sorted(str(device["id"]) for device in chosen if device not in owned):
            raise CollectionError(
                f"Cannot delete device {', '.join(foreign)}: it does not have the tags {', '.join(self.ownership_tags)}", {"ids": foreign}
            )
        return chosen

    def _removals(self, devices: Iterable[Found]) -> list[Member]:
        devices = sorted(devices, key=lambda device: (str(device.get("hostname")), str(device["id"])))
        counted = Counter(str(device.get("hostname")) for device in devices)
        members = []
        for device in devices:
            hostname = str(device.get("hostname"))
            key = hostname if counted[hostname] == 1 else f"{hostname} ({device['id']})"
            members.append(self._removal(key, {**self._shared(), "state": "absent", "hostname": hostname, "id": str(device["id"])}))
        return members

    def _removal(self, key: str, params: Mapping[str, Any]) -> Member:
        return Member(lambda _place: Device(self._client, params, self._warn), key, warn=self._show_warning)

    def _shared(self) -> dict[str, Any]:
        return {name: self._params.get(name) for name in ("project_id", "ownership_tags", "state", "wait", "on_drift")}

    # Placement.

    def _pools(self, members: Sequence[Member]) -> list[Pool]:
        """Return the members to order, grouped by their alternatives, without those on reserved hardware."""
        groups: dict[tuple[Place, ...], list[Member]] = {}
        for member in members:
            if not member.resource.params.get("hardware_reservation_id"):
                groups.setdefault(member.alternatives, []).append(member)
        pools = []
        for places, ordered in groups.items():
            existing = [m for m in self.members if m.alternatives == places and m.current is not None and m not in ordered]
            metros = Counter(metro_code(member.current or {}) or "" for member in existing)
            pools.append(Pool(places, tuple(member.key for member in ordered), self._params["spread"], metros))
        return pools

    def _choose_places(self) -> None:
        """Check the capacity for all devices to order in one request, and choose their places.

        Raises CollectionError for missing capacity; nothing is ordered then. If the quorum can still be reached, only the devices without
        capacity fail. An API without a capacity endpoint is no error.
        """
        ordering = [member for member in self.members if member.orders]
        # Replacements in the same place need capacity for replace_at_once of them.
        staying = [member for member in ordering if member.drifted and not member.moved]
        beyond = staying[self._params["replace_at_once"] :]
        pools = self._pools([member for member in ordering if member not in beyond])
        quorum = self._params["quorum"]
        capacity_queries = queries(pools, every=quorum is not None)
        capacity = capacity_of(answers := ask_capacity(self._client, capacity_queries, optional=True))
        chosen, problems = assign(pools, capacity)
        if problems and quorum is None:
            # With every number, the error says how many are available.
            capacity = capacity_of(answers := ask_capacity(self._client, queries(pools, every=True), optional=True))
            chosen, problems = assign(pools, capacity)
        if problems and quorum is not None:
            chosen = fill(pools, capacity)
            short = [member for pool in pools for member in ordering if member.key in pool.names and member.key not in chosen]
            if len(self.members) - len(short) - sum(m.error is not None for m in self.members) >= quorum:
                for member in short:
                    member.error = CollectionError(f"Cannot order {member.key}: {'; '.join(problems)}")
                    member.settled = True
                problems = []
        if problems:
            raise CollectionError(together("Nothing was ordered", problems), {"servers": answers})
        self._put(ordering, chosen, "has no capacity for all devices")

    def _put(self, members: Iterable[Member], chosen: Mapping[str, Place], why: str) -> None:
        """Set the chosen places, and note those that are not the first choice; a spread is no deviation."""
        moved: Counter[tuple[Place, Place]] = Counter()
        for member in members:
            place = chosen.get(member.key)
            if place is None or len(member.alternatives) < 2:
                continue
            if member.place is not None and place != member.place and not self._params["spread"]:
                moved[member.place, place] += 1
            member.put_at(place)
            member.expect()
        self.notes += [f"{before} {why}: {count} ordered as {after}" for (before, after), count in moved.items()]

    def _relocate(self, members: Iterable[Member]) -> list[Member]:
        """Move members whose order failed for lack of capacity to the next alternative with capacity; returns those."""
        short = [member for member in members if member.error is not None and out_of_stock(member.error) and member.place is not None]
        self._refused += [member.place for member in short if member.place is not None and member.place not in self._refused]
        for member in short:
            member.alternatives = tuple(place for place in member.alternatives if place not in self._refused)
        movable = [member for member in short if member.alternatives and not member.resource.params.get("hardware_reservation_id")]
        if not movable:
            return []
        pools = self._pools(movable)
        capacity_queries = queries(pools, every=True)
        try:
            chosen = fill(pools, capacity_of(ask_capacity(self._client, capacity_queries, optional=True)))
        except CollectionError as error:
            self.notes.append(f"Cannot find another place for {len(movable)} devices: {error}")
            return []
        for member in movable:
            if member.key in chosen and member.place is not None:
                self.notes.append(f"{member.key}: {member.place} was sold out when it was ordered, ordered as {chosen[member.key]}")
                member.put_at(chosen[member.key])
                member.expect()
                member.error, member.settled, member.texts = None, False, [f"{member.key} is not ordered again yet"]
            elif member.error is not None:
                member.error.message += f". There is no capacity for {', '.join(map(str, member.alternatives))} either"
        return [member for member in movable if member.error is None]

    # Acting.

    def predict(self) -> None:
        for member in self.members:
            member.predict()

    def step(self, listing: Sequence[Found] | None) -> list[str]:
        """Take one step for every member, with a new list or with the known state; returns what is pending.

        Members that can begin after others have settled do so in the same step.
        """
        by_id = None if listing is None else {str(device.get("id")): device for device in listing}
        if self._absent:
            run_concurrently(self.members, lambda member: member.remove(by_id))
            return self._texts()
        self._take_turns()
        todo = self.members
        while todo:
            for batch in _in_order(todo):
                run_concurrently(batch, lambda member: member.step(by_id))
            stopped = [member for member in todo if member.error is not None]
            todo = [*self._relocate(stopped), *self._renew(), *self._take_turns()]
        for key, duplicate in [(member.key, duplicate) for member in self.members for duplicate in member.duplicates]:
            text = f"{key}: another run ordered it as well: {duplicate['kept']} is used, {duplicate['id']} was deleted"
            if text not in self.notes:
                self.notes.append(text)
        self._stop_waiting()
        return self._texts()

    def is_unlisted(self) -> bool:
        """Return whether a device was ordered since the last list, which would show a duplicate of another run."""
        return any(member.unlisted for member in self.members)

    def _texts(self) -> list[str]:
        return [text for member in self.members if not member.settled for text in member.texts]

    def _find_stopped(self) -> None:
        """Set the error of members whose machine stopped in its installation or first boot; their devices are active.

        A machine that has joined has left its first boot, whatever it or a program on it reports later.
        """

        def find(member: Member) -> None:
            device = member.current or {}
            path = f"devices/{device['id']}/events"
            try:
                event = last_event(self._client.read_list(path, "events", doing=f"see whether {member.key} stopped in its first boot"))
            except NotFoundError:
                return  # deleted since the list; the next list shows it
            if has_stopped(event):
                member.error = DeviceFailedError(stopped_text(member.key, event), {"id": device["id"]})

        joined = set(self._params["joined"])
        devices = [(member, member.current or {}) for member in self.members if member.error is None]
        active = [member for member, device in devices if device.get("state") == "active" and device["id"] not in joined]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(find, active))

    def _renew(self) -> list[Member]:
        """Plan replacements for failed devices, up to replace_failed of them for the whole set; returns these members."""
        renewed = []
        for member in self.members:
            if not isinstance(member.error, DeviceFailedError) or self._replacements_left < 1:
                continue
            reason = member.error
            try:
                member.renew()
            except CollectionError as error:
                member.error = CollectionError(f"{reason}. Cannot replace it: {error}", {**reason.details, **error.details})
                continue
            self._replacements_left -= 1
            used = self._params["replace_failed"] - self._replacements_left
            self.notes.append(f"{member.key} is replaced (replacement {used} of {self._params['replace_failed']}): {reason}")
            renewed.append(member)
        return renewed

    def _take_turns(self) -> list[Member]:
        """Begin replacements of drifted devices, replace_at_once at a time; none after a failed one. Returns these members."""
        rolling = [member for member in self.members if member.drifted]
        held = [member for member in rolling if member.held and not member.settled]
        failed = next((member for member in rolling if member.error is not None), None)
        if failed is not None:
            for member in held:
                member.error = CollectionError(f"{member.key} is not replaced, since the replacement of {failed.key} failed")
                member.settled = True
            return []
        busy = sum(not member.held and not member.settled for member in rolling)
        turns = held[: max(0, self._params["replace_at_once"] - busy)]
        for member in turns:
            member.begin_turn()
            self.notes.append(f"{member.key} is replaced, since immutable attributes differ")
        return turns

    def _stop_waiting(self) -> None:
        """Fail the remaining members when the quorum is reached for quorum_wait seconds."""
        ready, total = sum(member.settled and member.error is None for member in self.members), len(self.members)
        quorum = self._params["quorum"]
        if quorum is not None and quorum <= ready < total:
            self._enough_since = self._now() if self._enough_since is None else self._enough_since
            if self._now() - self._enough_since >= self._params["quorum_wait"]:
                self.fail_pending(f"not waited for any longer, since {ready} of {total} devices are ready (quorum)")

    def fail_pending(self, reason: str, *, pending_only: bool = False) -> None:
        """Fail the members that are not settled, for this reason; ``pending_only``: just those with a pending write."""
        for member in self.members:
            if member.settled:
                continue
            if member.changes or member.current is None or member.held or member.duplicate is not None or not pending_only:
                texts = member.texts or [f"{member.key} is not in its desired state"]
                member.error = CollectionError(f"{'; '.join(texts)}: {reason}", {"waiting": texts})
                member.settled = True

    # Results.

    def results(self) -> dict[str, Any]:
        statuses = {member.key: member.status for member in self.members} if not self._absent else {}
        return {
            "devices": [device_result(member.current) for member in self.members if member.current is not None],
            "outcomes": {member.key: member.result() for member in self.members},
            "failed_machines": [key for key, status in statuses.items() if status == "failed"],
            "missing_machines": [key for key, status in statuses.items() if status == "missing"],
            "notes": list(self.notes),
        }

    def stages(self) -> dict[str, str]:
        """Return the state of each device; one that was deleted has no device any more, one that could not be ordered none yet."""
        stages = {}
        for member in self.members:
            status = member.status
            stages[member.key] = "deleted" if status == "removed" else str((member.current or {}).get("state") or status)
        return stages

    def diff(self) -> tuple[dict[str, Any], dict[str, Any]]:
        changing = {member.key: member.diff() for member in self.members if member.acted}
        return (
            {key: before for key, (before, _after) in changing.items() if before},
            {key: after for key, (_before, after) in changing.items() if after},
        )

    def failure(self) -> CollectionError | None:
        """Return the error with a text for each failed member, None without one. With the quorum reached it is a warning."""
        failed = [member for member in self.members if member.error is not None]
        if not failed:
            return None
        heading = f"{len(failed)} of {len(self.members)} devices are not in the desired state"
        text = together(heading, [f"{member.key}: {member.error}" for member in failed])
        quorum = self._params["quorum"]
        if quorum is not None and len(self.members) - len(failed) >= quorum and not self._absent:
            self._show_warning(f"{text}. The quorum of {quorum} is reached")
            return None
        return CollectionError(text, {"machines": {member.key: member.error.details for member in failed if member.error is not None}})

    def _show_warning(self, text: str) -> None:
        if self._warn is not None:
            self._warn(text)
