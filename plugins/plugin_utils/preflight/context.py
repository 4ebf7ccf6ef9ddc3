# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks read: the settings, the readings of the lookup ``preflight``, and what follows from both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ...module_utils.base.tags import ROLE_TAG
from ...module_utils.machines.placement import Place, Pool, alternatives, assign, capacity_of, fill, queries
from ...module_utils.release.versions import Mirror, archives_in
from ..install_config import beyond
from ..install_config.beyond import KINDS, Release, networks_of
from ..install_config.rendering import SETTINGS, InstallConfigError, has_field, leaves, render, variable_of
from ..machines.replacement import names_of
from ..plan.devices import missing_machines
from .findings import UnreadableError

Machine = Mapping[str, Any]
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A label of RFC 1123, as Kubernetes requires it in names of nodes."""
NAME = re.compile(rf"{LABEL}(\.{LABEL})*")
DEFAULT_NETWORKS: Mapping[str, Any] = {
    "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "serviceNetwork": ["172.30.0.0/16"],
    "machineNetwork": [{"cidr": "10.0.0.0/16"}],
}
"""What openshift-install takes if the install-config has none."""
PUBLIC_MIRROR = "mirror.openshift.com"


class Context:
    """The settings of a cluster and the readings of the lookup ``preflight``.

    ``settings``: those of the role ``validate``, and ``machines`` by group. ``readings``: what the lookup read, by name.
    """

    def __init__(self, settings: Mapping[str, Any], readings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.readings = readings
        self.groups: dict[str, list[Machine]] = {name: list(machines) for name, machines in settings["machines"].items()}

    def text(self, name: str) -> str:
        value = self.settings.get(name)
        return "" if value is None else str(value)

    def texts(self, name: str) -> list[str]:
        """Return the entries of a setting; none of a malformed one, which the check of the variables reports."""
        value = self.settings.get(name)
        return [str(entry) for entry in value] if isinstance(value, list) else []

    def read(self, reading: str, payload: str) -> Any:
        """Return ``payload`` of a reading. Raises :class:`UnreadableError` when it was not read, or the request failed."""
        answer = self.readings.get(reading) or {}
        if answer.get(payload) is not None:
            return answer[payload]
        if answer.get("skipped", not answer):
            raise UnreadableError(self.why_unread(reading))
        # A Metal API for one's own hardware may not have this resource at all.
        status = (answer.get("failure") or {}).get("status")
        raise UnreadableError(str(answer.get("msg") or "the Metal API did not answer"), failed=status not in (404, 501))

    def why_unread(self, reading: str) -> str:
        """Return why the lookup did not read this from the Metal API."""
        if not self.has_metal_settings:
            return "not checked: the settings of the Metal API are incomplete"
        if reading != "project" and "project" not in (self.readings.get("project") or {}):
            return "not checked: the project cannot be read"
        if not self.machines_to_order:
            return "not checked: no machines to order"
        return "not checked: an earlier request failed"

    # From the settings.

    @property
    def machines(self) -> list[Machine]:
        return [machine for machines in self.groups.values() for machine in machines]

    @property
    def nodes(self) -> list[Machine]:
        """The machines that become nodes, and the bootstrap machine."""
        return [machine for machine in self.machines if machine.get("role") != "load-balancer"]

    @property
    def architectures(self) -> set[str]:
        """The architectures of the machines that become nodes."""
        return {str(machine.get("architecture")) for machine in self.nodes}

    @property
    def release_architecture(self) -> str:
        """The architecture of the release: ``multi`` for machines of several architectures."""
        kinds = sorted(self.architectures)
        return self.text("release_architecture") or ("multi" if len(kinds) > 1 else kinds[0] if kinds else "x86_64")

    @property
    def in_job(self) -> bool:
        """Whether AWX runs this as a job."""
        return bool(self.text("job"))

    @property
    def mirror(self) -> Mirror:
        """The addresses of releases on the mirror."""
        computer = str((self.readings.get("controller") or {}).get("architecture") or "")
        return Mirror(self.text("mirror_url"), self.text("distribution"), self.release_architecture, computer)

    @property
    def is_okd(self) -> bool:
        return self.text("distribution") == "okd"

    @property
    def cluster(self) -> str:
        return f"{self.text('cluster_name')}.{self.text('base_domain')}"

    @property
    def has_names(self) -> bool:
        """Whether the cluster's name and domain are names at all, without which nothing else can be judged."""
        return all(NAME.fullmatch(name) for name in (self.text("cluster_name"), self.text("base_domain").removesuffix(".")))

    @property
    def has_metal_settings(self) -> bool:
        return all(self.text(name) for name in ("metal_api_url", "metal_api_token", "metal_project_id"))

    @property
    def uses_public_mirror(self) -> bool:
        return PUBLIC_MIRROR in self.text("mirror_url")

    @property
    def release(self) -> Release | None:
        """Major and minor number of the release to install; None while the release of a channel is not known."""
        installer = str((self.readings.get("installer") or {}).get("version") or "") if self.text("installer") else ""
        archives = archives_in(str((self.readings.get("mirror") or {}).get("content") or ""))
        for text in (installer, self.text("version"), archives[0].version if archives else ""):
            numbers = re.search(r"(?:^|-)([0-9]+)\.([0-9]+)(?:\.|$)", text)
            if numbers:
                return int(numbers[1]), int(numbers[2])
        return None

    def rendered_install_config(self) -> dict[str, Any]:
        """Return the install-config that the role ``ignition`` will write. Raises :class:`InstallConfigError` for a contradiction."""
        control_plane = self.groups["control_plane"]
        architecture = str(control_plane[0].get("architecture") or "") if control_plane else ""
        own = {"architecture": architecture or "x86_64", "control_plane_replicas": len(control_plane)}
        return render({**{name: self.settings.get(name) for name in SETTINGS}, **own}, self.settings.get("install_config") or {})

    @cached_property
    def install_config(self) -> dict[str, Any]:
        """The same; empty for a contradiction, which one check reports."""
        try:
            return self.rendered_install_config()
        except InstallConfigError:
            return {}

    @cached_property
    def unusable(self) -> list[beyond.Problem]:
        """The values of the install-config that openshift-install accepts and that make no cluster."""
        return beyond.problems(self.install_config, self.release)

    def source_of(self, path: str) -> str:
        """Return the variable that sets a field of the install-config, or the group of the inventory; empty if there is none."""
        install_config = self.settings.get("install_config")
        # A field that lacks in one that is given: as the set of capabilities below those that are added to it.
        is_given = has_field(install_config, path) or (not variable_of(path) and has_field(install_config, path.split(".", maxsplit=1)[0]))
        return "openshift_install_config" if is_given else variable_of(path)

    def source_of_value(self, value: str) -> str:
        """Return the variable that sets a field of the networks to this text; empty if there is none."""
        networking = self.install_config.get("networking")
        return next((self.source_of(path) for path, text in leaves(networking, "networking") if text == value), "")

    @property
    def networks(self) -> dict[str, list[Mapping[str, Any]]]:
        """The networks of the install-config by kind, each with its ``cidr``; without malformed ones."""
        networking = self.install_config.get("networking")
        fields = networking if isinstance(networking, Mapping) else {}
        config = {"networking": {**DEFAULT_NETWORKS, **fields}} if self.install_config else {}
        return {kind: [{**entry, "cidr": str(network)} for _index, network, entry in networks_of(config, kind)] for kind in KINDS}

    # From the readings.

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata.json of the install whose files are in the cluster folder; empty without files."""
        metadata = (self.readings.get("controller") or {}).get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    @cached_property
    def devices(self) -> list[Mapping[str, Any]]:
        """The devices of the cluster, with host names in lower case, as those of machines are: the Metal API keeps capitals."""
        listed = (self.readings.get("devices") or {}).get("devices") or []
        return [{**device, "hostname": str(device.get("hostname") or "").lower()} for device in listed]

    @property
    def addresses(self) -> set[str]:
        return {str(entry["address"]) for device in self.devices for entry in device.get("ip_addresses") or []}

    @property
    def is_bootstrapped(self) -> bool:
        """Whether bootstrap is complete and devices exist, so that no bootstrap machine is created again."""
        return bool(self.settings.get("bootstrap_over")) and bool(self.devices)

    @property
    def is_adopted(self) -> bool:
        """Whether the cluster runs on a control plane that is not of this collection, and this inventory has only workers of it."""
        return bool(self.settings.get("adopted")) and not self.groups["control_plane"] and not self.groups["bootstrap"]

    @property
    def is_ignition_in_use(self) -> bool:
        """Whether devices exist that were ordered with the Ignition files, so that these are not created again."""
        nodes = [device for device in self.devices if f"{ROLE_TAG}load-balancer" not in (device.get("tags") or [])]
        return self.is_adopted or (bool(self.settings.get("folder_exists")) and bool(nodes))

    @property
    def has_bootstrap_machine(self) -> bool:
        """Whether a bootstrap machine exists, or will be ordered."""
        return not self.is_bootstrapped or any(f"{ROLE_TAG}bootstrap" in (device.get("tags") or []) for device in self.devices)

    @property
    def reused_worker(self) -> Machine | None:
        """The worker that the bootstrap machine is reused as; None when none is chosen, or no worker has that name."""
        chosen = self.text("bootstrap_becomes")
        named = [worker for worker in self.groups["workers"] if chosen in (worker.get("inventory_hostname"), worker["hostname"])]
        return named[0] if named else None

    @cached_property
    def to_replace(self) -> list[str]:
        """Host names of the machines that replace.yml is asked to replace."""
        names, pool = set(names_of(self.settings.get("replace"))), self.text("replace_pool")
        return [
            machine["hostname"]
            for group in ("control_plane", "workers")
            for machine in self.groups.get(group, [])
            if names & {machine["hostname"], machine.get("inventory_hostname")} or (pool and machine.get("pool") == pool)
        ]

    @cached_property
    def replaced(self) -> set[str]:
        """Host names of existing devices that replace.yml orders again, as many as at the same time."""
        existing = {device.get("hostname") for device in self.devices}
        at_most = self.text("replace_at_most")
        return set([name for name in self.to_replace if name in existing][: max(1, int(at_most)) if at_most.isdecimal() else 1])

    @cached_property
    def machines_to_order_by_group(self) -> dict[str, list[Machine]]:
        """The machines that the playbook orders: those whose devices do not exist yet, as far as its plan has them."""
        missing = self._missing({device["hostname"] for device in self.devices} - self.replaced)
        playbook = self.text("playbook") if self.is_bootstrapped else ""
        if playbook == "scale.yml":
            return {**missing, "bootstrap": [], "control_plane": []}
        if playbook == "replace.yml":
            return {group: [machine for machine in members if machine["hostname"] in self.replaced] for group, members in missing.items()}
        return missing

    @cached_property
    def machines_without_device(self) -> dict[str, list[Machine]]:
        """The same without those that replace.yml orders again."""
        return self._missing({device["hostname"] for device in self.devices})

    def _missing(self, existing: set[str]) -> dict[str, list[Machine]]:
        reused = self.reused_worker["hostname"] if self.reused_worker and self.has_bootstrap_machine else ""
        return missing_machines(self.groups, existing, bootstrap_over=self.is_bootstrapped, reused=reused)

    @property
    def machines_to_order(self) -> list[Machine]:
        return [machine for machines in self.machines_to_order_by_group.values() for machine in machines]

    @cached_property
    def plans(self) -> dict[str, Mapping[str, Any]]:
        return {plan["slug"]: plan for plan in self.read("plans", "plans") if isinstance(plan["slug"], str)}

    def places_of(self, machine: Machine) -> tuple[Place, ...]:
        """Return the places where a machine may be ordered; none if its plan or metro is not set or its placement is malformed."""
        placement = machine.get("placement")
        if not is_placement(placement):
            return ()
        if machine.get("role") == "load-balancer":
            placement = None
        places = alternatives(Place(str(machine.get("metro") or ""), str(machine.get("plan") or "")), placement)
        return tuple(place for place in places if place.metro and place.plan)

    def groups_by_plan(self) -> dict[str, list[str]]:
        """Return the groups of the machines to order, by the plans these may have."""
        groups_of: dict[str, list[str]] = {}
        for group, machines in self.machines_to_order_by_group.items():
            for place in dict.fromkeys(place for machine in machines for place in self.places_of(machine)):
                groups = groups_of.setdefault(place.plan, [])
                if group not in groups:
                    groups.append(group)
        return groups_of

    def metros(self) -> list[str]:
        places = [place for machine in self.machines_to_order for place in self.places_of(machine)]
        return sorted({place.metro for place in places if place.metro != "any"})

    def pools(self) -> list[Pool]:
        """Return the machines to order, in the pools in which they are ordered, see ``machines.placement``."""
        pools = []
        for groups in (("bootstrap", "control_plane"), ("workers",), ("load_balancer",)):
            spread = bool(self.settings.get("spread")) and groups != ("load_balancer",)
            by_places: dict[tuple[Place, ...], list[str]] = {}
            for machine in [machine for group in groups for machine in self.machines_to_order_by_group.get(group, [])]:
                if not machine.get("hardware_reservation_id"):
                    by_places.setdefault(self.places_of(machine), []).append(machine["hostname"])
            for places, names in by_places.items():
                same_places = {
                    machine["hostname"] for group in groups for machine in self.groups.get(group, []) if self.places_of(machine) == places
                }
                existing = Counter(str(device.get("metro")) for device in self.devices if device.get("hostname") in same_places)
                if places:
                    pools.append(Pool(places, tuple(names), spread, existing))
        return pools

    def capacity_questions(self, *, every: bool = False) -> list[dict[str, Any]]:
        """Return the servers whose capacity to check; none if a plan or a metro is unknown to the Metal API.

        ``every``: check smaller numbers, too, to find how many are available.
        """
        try:
            known = {metro["code"] for metro in self.read("metros", "metros")}
            if set(self.metros()) - known or set(self.groups_by_plan()) - set(self.plans):
                return []
        except UnreadableError:
            return []
        return queries(self.pools(), every=every or bool(self.quorum))

    @property
    def quorum(self) -> int:
        value = self.text("worker_quorum")
        return int(value) if value.isdecimal() else 0

    def choose_places(self) -> tuple[dict[str, Place], list[str]]:
        """Return the place of each machine to order, and the problems of pools without capacity."""
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


def is_placement(placement: Any) -> bool:
    """Return whether a value of ``metal_placement`` is a list of mappings with metro, plan or both, or not set."""
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
