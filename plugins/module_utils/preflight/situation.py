# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted and what was read, as checks ask for it.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.placement import (
    Place,
    Pool,
    alternatives,
    assign,
    capacity_of,
    fill,
    queries,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.fields import Release
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.problems import Problem
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rendering import (
    SETTINGS,
    InstallConfigError,
    render,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rules import Judgement, judge
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import Mirror, archives_in
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.findings import UnreadableError

Machine = Mapping[str, Any]
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A label of RFC 1123, as Kubernetes wants it in names of nodes."""
NAME = re.compile(rf"{LABEL}(\.{LABEL})*")
PUBLIC_MIRROR = "mirror.openshift.com"


class Situation:
    """What is wanted and what was read, as the checks ask for it.

    ``wanted``: the settings of the role ``validate``, and ``machines`` by group. ``world``: what each task of the role registered.
    """

    def __init__(self, wanted: Mapping[str, Any], world: Mapping[str, Any]) -> None:
        self.wanted = wanted
        self.world = world
        self.groups: dict[str, list[Machine]] = {name: list(machines) for name, machines in wanted["machines"].items()}

    def text(self, name: str) -> str:
        value = self.wanted.get(name)
        return "" if value is None else str(value)

    def read(self, reading: str, payload: str) -> Any:
        """What a task registered. Raises :class:`UnreadableError` when it did not run, or failed."""
        answer = self.world.get(reading) or {}
        if answer.get(payload) is not None:
            return answer[payload]
        if answer.get("skipped", not answer):
            raise UnreadableError(self.why_not_asked(reading))
        # A service that is made for one's own rack may not have this at all.
        status = (answer.get("failure") or {}).get("status")
        raise UnreadableError(str(answer.get("msg") or "no answer"), failed=status not in (404, 501))

    def why_not_asked(self, reading: str) -> str:
        if not self.metal_given:
            return "the Metal API cannot be asked without its settings"
        if reading != "project" and "project" not in (self.world.get("project") or {}):
            return "not asked, since the project cannot be read"
        if not self.missing:
            return "nothing is to be ordered: all machines are there"
        return "nobody was asked, since something before it failed"

    # What is wanted.

    @property
    def machines(self) -> list[Machine]:
        return [machine for machines in self.groups.values() for machine in machines]

    @property
    def architectures(self) -> set[str]:
        """Those of the machines that become nodes."""
        return {str(machine.get("architecture")) for machine in self.machines if machine.get("role") != "load-balancer"}

    @property
    def release_architecture(self) -> str:
        """What the release has to be for: ``multi`` for machines of several architectures."""
        kinds = sorted(self.architectures)
        return self.text("release_architecture") or ("multi" if len(kinds) > 1 else kinds[0] if kinds else "x86_64")

    @property
    def mirror(self) -> Mirror:
        """Where the mirror has what the controller needs of releases."""
        computer = str((self.world.get("controller") or {}).get("architecture") or "")
        return Mirror(self.text("mirror_url"), self.text("distribution"), self.release_architecture, computer)

    @property
    def okd(self) -> bool:
        return self.text("distribution") == "okd"

    @property
    def cluster(self) -> str:
        return f"{self.text('cluster_name')}.{self.text('base_domain')}"

    @property
    def metal_given(self) -> bool:
        return all(self.text(name) for name in ("metal_api_url", "metal_api_token", "metal_project_id"))

    @property
    def public_mirror(self) -> bool:
        return PUBLIC_MIRROR in self.text("mirror_url")

    @property
    def release(self) -> Release | None:
        """Major and minor number of the release to install; None as long as a channel does not tell them."""
        told = str((self.world.get("installer") or {}).get("version") or "") if self.text("installer") else ""
        archives = archives_in(str((self.world.get("mirror") or {}).get("content") or ""))
        for text in (told, self.text("version"), archives[0].version if archives else ""):
            numbers = re.search(r"(?:^|-)([0-9]+)\.([0-9]+)(?:\.|$)", text)
            if numbers:
                return int(numbers[1]), int(numbers[2])
        return None

    def rendered_install_config(self) -> dict[str, Any]:
        """The install-config that the role ``ignition`` will write. Raises :class:`InstallConfigError` for a contradiction."""
        control_plane = self.groups["control_plane"]
        architecture = str(control_plane[0].get("architecture") or "") if control_plane else ""
        own = {"architecture": architecture or "x86_64", "control_plane_replicas": len(control_plane)}
        return render({**{name: self.wanted.get(name) for name in SETTINGS}, **own}, self.wanted.get("install_config") or {})

    @cached_property
    def install_config(self) -> Judgement:
        """What the installer makes of that install-config."""
        try:
            return judge(self.rendered_install_config(), self.release)
        except InstallConfigError as problem:
            return Judgement({}, [Problem("", str(problem))])

    @property
    def networks(self) -> dict[str, list[Mapping[str, Any]]]:
        """The networks of the install-config with its defaults by kind, each with its ``cidr``; none when they cannot be read."""
        networking = self.install_config.config.get("networking") or {}
        found = {kind: networking.get(f"{kind}Network") or [] for kind in ("cluster", "service", "machine")}
        return {
            kind: [entry if isinstance(entry, Mapping) else {"cidr": entry} for entry in entries if entry]
            for kind, entries in found.items()
        }

    # What there is.

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata.json of the install whose files are here; empty where there are none."""
        told = (self.world.get("controller") or {}).get("metadata")
        return told if isinstance(told, Mapping) else {}

    @property
    def devices(self) -> list[Mapping[str, Any]]:
        return list((self.world.get("devices") or {}).get("devices") or [])

    @property
    def addresses(self) -> set[str]:
        return {str(entry["address"]) for device in self.devices for entry in device.get("ip_addresses") or []}

    @property
    def standing(self) -> bool:
        """Whether the cluster stands on its own, so that no bootstrap machine is made any more."""
        return bool(self.wanted.get("bootstrap_over")) and bool(self.devices)

    @property
    def made_from_files(self) -> bool:
        """Whether machines exist that were made from the Ignition files, so that these are not made anew."""
        others = [device for device in self.devices if "openshift-role=load-balancer" not in (device.get("tags") or [])]
        return bool(self.wanted.get("folder_exists")) and bool(others)

    @property
    def bootstrapping(self) -> bool:
        """Whether there is a bootstrap machine, or there will be one."""
        return not self.standing or any("openshift-role=bootstrap" in (device.get("tags") or []) for device in self.devices)

    @property
    def heir(self) -> Machine | None:
        """The worker that the bootstrap machine becomes; None when none is chosen, or no worker is of that name."""
        chosen = self.text("bootstrap_becomes")
        named = [each for each in self.groups["workers"] if chosen in (each.get("inventory_hostname"), each["hostname"])]
        return named[0] if named else None

    @cached_property
    def missing_by_group(self) -> dict[str, list[Machine]]:
        """What is to be ordered."""
        there = {device.get("hostname") for device in self.devices}
        if self.heir and self.bootstrapping:
            there.add(self.heir["hostname"])
        return {
            group: [] if group == "bootstrap" and self.standing else [each for each in machines if each["hostname"] not in there]
            for group, machines in self.groups.items()
        }

    @property
    def missing(self) -> list[Machine]:
        return [machine for machines in self.missing_by_group.values() for machine in machines]

    @cached_property
    def plans(self) -> dict[str, Mapping[str, Any]]:
        return {plan["slug"]: plan for plan in self.read("plans", "plans") if isinstance(plan["slug"], str)}

    def places(self, machine: Machine) -> tuple[Place, ...]:
        """Where a machine may be; none as long as its plan or metro is not given or its placement is not well formed."""
        placement = machine.get("placement")
        if not well_formed(placement):
            return ()
        if machine.get("role") == "load-balancer":
            placement = None
        found = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), placement)
        return tuple(place for place in found if place.metro and place.plan)

    def by_plan(self) -> dict[str, list[str]]:
        """Groups of machines that are missing, by the plans they may be of."""
        found: dict[str, list[str]] = {}
        for group, machines in self.missing_by_group.items():
            for place in dict.fromkeys(place for machine in machines for place in self.places(machine)):
                groups = found.setdefault(place.plan, [])
                if group not in groups:
                    groups.append(group)
        return found

    def metros(self) -> list[str]:
        places = [place for machine in self.missing for place in self.places(machine)]
        return sorted({place.metro for place in places if place.metro != "any"})

    def pools(self) -> list[Pool]:
        """The missing machines as they will be ordered: each pool together, see ``machines.placement``."""
        pools = []
        for groups in (("bootstrap", "control_plane"), ("workers",), ("load_balancer",)):
            spread = bool(self.wanted.get("spread")) and groups != ("load_balancer",)
            by_places: dict[tuple[Place, ...], list[str]] = {}
            for machine in [machine for group in groups for machine in self.missing_by_group.get(group, [])]:
                if not machine.get("hardware_reservation_id"):
                    by_places.setdefault(self.places(machine), []).append(machine["hostname"])
            for places, names in by_places.items():
                like_it = {
                    machine["hostname"] for group in groups for machine in self.groups.get(group, []) if self.places(machine) == places
                }
                there = Counter(str(device.get("metro")) for device in self.devices if device.get("hostname") in like_it)
                if places:
                    pools.append(Pool(places, tuple(names), spread, there))
        return pools

    def servers(self, *, every: bool = False) -> list[dict[str, Any]]:
        """What the service is to be asked for; nothing as long as a plan or a metro is not known there.

        ``every``: also how many there are where there are too few.
        """
        try:
            known = {metro["code"] for metro in self.read("metros", "metros")}
            if set(self.metros()) - known or set(self.by_plan()) - set(self.plans):
                return []
        except UnreadableError:
            return []
        return queries(self.pools(), every=every or bool(self.quorum))

    @property
    def quorum(self) -> int:
        value = self.text("worker_quorum")
        return int(value) if value.isdecimal() else 0

    def chosen(self) -> tuple[dict[str, Place], list[str]]:
        """Where each missing machine will be, and what cannot be had."""
        answers = self.read("capacity", "servers")
        capacity = capacity_of([answer for answer in answers if answer["available"] is not None])
        pools = self.pools()
        places, problems = assign(pools, capacity)
        if problems and self.quorum:
            places = fill(pools, capacity)
            workers = {machine["hostname"] for machine in self.groups["workers"]}
            short = {name for pool in pools for name in pool.names} - set(places)
            if short <= workers and len(workers) - len(short) >= self.quorum:
                problems = []
        return places, problems


def well_formed(placement: Any) -> bool:
    """Whether ``metal_placement`` is a list of mappings with metro, plan or both, or not given."""
    if placement is None:
        return True
    if isinstance(placement, (str, Mapping)) or not isinstance(placement, Sequence):
        return False
    return all(
        isinstance(entry, Mapping)
        and bool(entry)
        and set(entry) <= {"metro", "plan"}
        and all(isinstance(value, str) and value for value in entry.values())
        for entry in placement
    )
