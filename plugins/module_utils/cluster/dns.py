# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DNS records of a cluster, who owns a record, and what has to be changed.

A record that this collection creates has a TXT record beside it, see :func:`ownership_name` and :class:`Owner`. The rule for all
providers is :func:`planned`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, NamedTuple

from ..base.record_set import Found
from ..nodes.addresses import machine_addresses, node_addresses, service_addresses
from .devices import Device, devices_by_role

Record = dict[str, Any]
"""``name``, ``type`` and ``values``; without values the record must not exist. The type ``addresses`` is A and AAAA."""

ADDRESSES = "addresses"
ADDRESS_TYPES = ("A", "AAAA")
OWNERSHIP_LABEL = "_openshift-owner"
HERITAGE = "heritage=equinix_metal.openshift"
LONGEST_STRING = 255
"""Characters of one string of a TXT record (RFC 1035, 3.3.14)."""

SERVICES = ("api", "api-int", "*.apps", "api-members", "ingress-members", "nodes")
"""Records that are no host names. A load balancer resolves the members, and the firewall of the nodes ``nodes``."""


def cluster_dns_records(  # noqa: PLR0913 - the options of the rule, passed by keyword
    devices: Sequence[Device],
    cluster: str,
    *,
    state: str = "present",
    machines: Collection[str] = (),
    workers: Collection[str] = (),
    removed: Iterable[str] = (),
    bootstrap_complete: bool = False,
    balanced: bool = False,
    nodes: Sequence[Mapping[str, Any]] = (),
    entries: Mapping[str, Sequence[str]] | None = None,
    adopted: bool = False,
    network: str = "layer3",
    families: Sequence[int] = (4,),
) -> list[Record]:
    """Return one entry for each name of the cluster, with the addresses of its records. One without values must not exist.

    The control plane serves the API, with the bootstrap device until the bootstrap is complete. ``*.apps`` leads to the nodes that run
    routers; until the cluster reports them (``nodes``) they are the workers, and without workers the control plane. With a
    load balancer both lead to it. It finds its members by their records, and those of ingress are all nodes that may run a router.

    ``state``: ``absent`` returns every name without values. ``machines``: host names of the devices that have records; empty, all have.
    ``workers``: host names of the workers of the inventory that may run routers; as long as none of them exists ``*.apps`` has no record.
    ``removed``: further host names that must not have a record. ``balanced``: the cluster has a load balancer for API and routers.
    ``entries``: its addresses, ``api`` and ``ingress``; an empty one is that of the load balancer devices. Without a load balancer ``api``
    is the address that the control plane announces itself, which the records of the API lead to when the bootstrap is complete, and
    ``ingress`` the one that ``*.apps`` leads to when a Service has it; after the bootstrap and without ``nodes`` this record is not listed.

    The records of an adopted cluster's services lead to machines that are not managed, so they are in neither list.
    """
    # The Metal API keeps capitals. Nodes and machines of the inventory have none.
    devices = [{**device, "hostname": str(device["hostname"]).lower()} for device in devices]
    end = f".{cluster}"
    known = [name for name in dict.fromkeys([*removed, *(device["hostname"] for device in devices)]) if name.endswith(end)]
    if state == "absent":
        return [{"name": name, "values": []} for name in [*(service + end for service in SERVICES if not adopted), *known]]

    def of(device: Device) -> list[str]:
        return node_addresses(device, network, families)

    def all_of(members: Iterable[Device]) -> list[str]:
        return sorted(address for device in members for address in service_addresses(device, network, families))

    named = [device for device in devices if of(device) and (not machines or device["hostname"] in machines)]
    by_role = devices_by_role(named)
    bootstrap = by_role["bootstrap"]
    api = all_of([*by_role["control_plane"], *([] if bootstrap_complete else bootstrap)])
    ingress = all_of(_ingress(by_role, workers, nodes, balanced=balanced))
    present = [device for device in named if not (bootstrap_complete and device in bootstrap)]
    machine_values = sorted({address for device in present for address in machine_addresses(device, families)})
    # kube-vip announces its address from the first API server of the control plane on, and the bootstrap device cannot take part.
    announced = sorted((entries or {}).get("api") or []) if bootstrap_complete and not balanced else []
    # MetalLB is installed in the complete cluster. While that cannot be read, what *.apps leads to stays as it is.
    own_ingress = (entries or {}).get("ingress") or ()
    apps = [address for address in own_ingress if any(address in node.get("ingress_addresses", ()) for node in nodes)] or ingress
    known_apps = None if own_ingress and bootstrap_complete and not nodes else apps
    services = [announced or api, announced or api, known_apps, [], [], machine_values]
    if balanced:
        own = all_of(by_role["load_balancer"])
        api_entry, ingress_entry = (sorted((entries or {}).get(kind) or own) for kind in ("api", "ingress"))
        services = [api_entry, api_entry, ingress_entry, api, ingress, machine_values]
    hosts = {device["hostname"]: of(device) for device in present if device["hostname"].endswith(end)}
    served = [] if adopted else zip(SERVICES, services, strict=True)
    return [
        *({"name": service + end, "values": values} for service, values in served if values is not None),
        *({"name": name, "values": values} for name, values in hosts.items()),
        *({"name": name, "values": []} for name in known if name not in hosts),
    ]


def _ingress(
    by_role: Mapping[str, list[Device]], workers: Collection[str], nodes: Sequence[Mapping[str, Any]], *, balanced: bool
) -> list[Device]:
    """Return the devices that ingress leads to.

    A load balancer checks which of them run a router, so it gets all that may. Records without one lead to those that do. As long as the
    cluster reports neither, they are the workers of the inventory, or the control plane if it has none.
    """
    members = [*by_role["control_plane"], *by_role["workers"]]
    for state in ("may_run_router",) if balanced else ("router", "may_run_router"):
        names = {node["name"] for node in nodes if node.get(state)}
        if devices := [device for device in members if device["hostname"] in names]:
            return devices
    if not workers:
        return by_role["workers"] or by_role["control_plane"]
    return [device for device in by_role["workers"] if device["hostname"] in workers]


def record_type(address: str) -> str:
    return "AAAA" if ":" in address else "A"


def zone_lines(records: Iterable[Mapping[str, Any]], cluster: str, ttl: int) -> list[str]:
    """Return a line of a zone file for each address, and a comment for each host name whose record has to be deleted."""
    services = {f"{service}.{cluster}" for service in SERVICES}
    records = list(records)
    lines = [f"{record['name']}. {ttl} IN {record_type(address)} {address}" for record in records for address in record["values"]]
    return lines + [f"; delete {record['name']}." for record in records if not record["values"] and record["name"] not in services]


def pointer_records(
    records: Iterable[Mapping[str, Any]], cluster: str, zone: str, changes: Iterable[Mapping[str, Any]] = ()
) -> list[Record]:
    """Return the PTR records in a reverse zone: one for each address of a host in it, to the name of the host. Services have none.

    ``changes`` (name, type, before) of the addresses themselves: what a host no longer has must not have a PTR record either.
    """
    services = {f"{service}.{cluster}" for service in SERVICES}
    names_by_address: dict[str, list[str]] = {}
    for record in records:
        for address in record["values"] if record["name"] not in services else []:
            names_by_address.setdefault(ip_address(address).reverse_pointer, []).append(f"{record['name']}.")
    for change in changes:
        for address in change["before"] if change["type"] in ADDRESS_TYPES and change["name"] not in services else []:
            names_by_address.setdefault(ip_address(address).reverse_pointer, [])
    return [{"name": name, "type": "PTR", "values": sorted(names)} for name, names in names_by_address.items() if is_in_zone(name, zone)]


def unresolved(records: Iterable[Mapping[str, Any]], answers: Mapping[str, Collection[str]]) -> list[str]:
    """Return a text for each record whose name does not resolve to its addresses and to no other. ``answers``: addresses by :func:`probe`.

    Records without values are no reason to wait: a name that is deleted may go on resolving by a wildcard above it.
    """
    texts = []
    for record in records:
        resolved, desired = sorted(answers.get(probe(record["name"]), ())), sorted(record["values"])
        if desired and resolved != desired:
            texts.append(f"{record['name']} resolves to {', '.join(resolved) or 'nothing'}, and should to {', '.join(desired)}")
    return texts


def probe(name: str) -> str:
    """Return the name that shows how another resolves: one below a wildcard, as of a route."""
    return name.replace("*", "dns-check", 1) if name.startswith("*.") else name


def is_in_zone(name: str, zone: str) -> bool:
    return name == zone or name.endswith(f".{zone}")


# --- ownership -------------------------------------------------------------------------------------------------------------------


Key = tuple[str, str]
"""Name and type of a record set."""


@dataclass(frozen=True)
class Owner:
    """The cluster that owns a record: its name ``<name>.<domain>``, and the infraID of its install, empty if that is unknown."""

    cluster: str
    infra_id: str = ""

    def value(self) -> str:
        """Return the value of its TXT records, in the notation of a zone file."""
        parts = [HERITAGE, f"openshift-cluster={self.cluster}", *([f"openshift-infra-id={self.infra_id}"] if self.infra_id else [])]
        text = ",".join(parts)
        return " ".join(f'"{text[first : first + LONGEST_STRING]}"' for first in range(0, len(text), LONGEST_STRING))

    def owns(self, other: Owner) -> bool:
        """Return whether a record of ``other`` is this cluster's. An infraID that is unknown here is not this install's."""
        return self.cluster == other.cluster and other.infra_id in ("", self.infra_id)

    def __str__(self) -> str:
        return self.cluster + (f" with the infraID {self.infra_id}" if self.infra_id else "")


@dataclass(frozen=True)
class Foreign:
    """A record that is not the cluster's: its name, its values or the target of its alias, and its owner, if it has a TXT record."""

    name: str
    values: list[str]
    owner: str

    def __str__(self) -> str:
        whose = f"belongs to {self.owner}" if self.owner else "has no ownership record"
        return f"{self.name} ({', '.join(self.values) or 'without an address'}) {whose}"


class Planned(NamedTuple):
    """``changes``: name, type, before, after, ownership records beside what they own; ``foreign``: other owners' records of the names."""

    changes: list[dict[str, Any]]
    foreign: list[Foreign]


def ownership_name(name: str) -> str:
    """Return the name of the TXT record that says who owns the records of a name. An asterisk is a wildcard only as the first label."""
    return f"{OWNERSHIP_LABEL}.{name.replace('*', '_wildcard')}"


def owners_of(values: Iterable[str]) -> list[Owner]:
    """Return the owners that TXT records name, in the notation of a zone file. Other texts count as an owner of that text."""
    owners = []
    for value in values:
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', value)) if value.startswith('"') else value
        fields = dict(part.partition("=")[::2] for part in text.split(","))
        cluster = fields.get("openshift-cluster", "") if text.startswith(HERITAGE) else ""
        owners.append(Owner(cluster, fields.get("openshift-infra-id", "")) if cluster else Owner(text))
    return owners


def to_read(names: Iterable[str]) -> list[Record]:
    """Return the record sets that decide who owns each name: addresses of both families, and the TXT record."""
    sets = [(name, kind) for name in dict.fromkeys(names) for kind in ADDRESS_TYPES]
    return [{"name": name, "type": kind} for name, kind in sets] + [
        {"name": ownership_name(name), "type": "TXT"} for name in dict.fromkeys(name for name, _kind in sets)
    ]


def foreign_record(name: str, current: Mapping[Key, Found], owner: Owner, adoptable: Collection[str]) -> Foreign | None:
    """Return the record of a name if it is not ``owner``'s; None for an own one, and where none exists.

    The owner is in the TXT record beside it. A record without one, as versions before this rule created them, is the cluster's if all its
    values are ``adoptable``: addresses of the cluster's devices. The same holds where the infraID of this install is unknown.
    """
    sets = [record_set for (other, kind), record_set in current.items() if other == name and kind != "TXT"]
    values = sorted(value for record_set in sets for value in record_set.values)
    alias = next((record_set.alias for record_set in sets if record_set.alias), "")
    owners = owners_of(current.get((ownership_name(name), "TXT"), Found([])).values)
    others = [name for name in owners if not owner.owns(name)]
    is_adoptable = bool(values) and set(values) <= set(adoptable)
    if others:
        same = all(name.cluster == owner.cluster for name in others)
        if same and not owner.infra_id and is_adoptable:
            return None
        return Foreign(name, [alias] if alias else values, str(others[0]))
    if alias:
        return Foreign(name, [alias], "")
    return None if owners or not values or is_adoptable else Foreign(name, values, "")


def planned(
    desired: Iterable[Mapping[str, Any]],
    current: Mapping[Key, Found],
    owner: Owner | None = None,
    *,
    adoptable: Collection[str] = (),
    takes_foreign: bool = False,
) -> Planned:
    """Return the changes that make ``desired`` (name, type, values) so, and the records of these names that others own.

    Without an ``owner`` only values are compared, and no ownership record is read or written. Foreign records are in no change, unless
    ``takes_foreign``.
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for record in desired:
        by_name.setdefault(record["name"], []).append(record)
    changes, foreign = [], []
    for name, records in by_name.items():
        another = foreign_record(name, current, owner, adoptable) if owner else None
        if another:
            foreign.append(another)
            if not takes_foreign or any(current.get((name, record["type"]), Found([])).alias for record in records):
                continue
        requested = {(name, record["type"]): sorted(record["values"]) for record in records}
        ownership: dict[Key, list[str]] = {}
        if owner:
            ownership[ownership_name(name), "TXT"] = [owner.value()] if any(requested.values()) else []
        # Whatever is interrupted between them, an address without its ownership record never remains.
        ordered = {**ownership, **requested} if any(requested.values()) else {**requested, **ownership}
        for key, after in ordered.items():
            before = current.get(key, Found([])).values
            if before != after:
                changes.append({"name": key[0], "type": key[1], "before": before, "after": after})
    return Planned(changes, foreign)


def expanded(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return the record sets with real types: ``addresses`` becomes A and AAAA, by the family of each value."""
    sets = []
    for record in records:
        kinds = ADDRESS_TYPES if record["type"] == ADDRESSES else (record["type"],)
        for kind in kinds:
            values = [value for value in record["values"] if len(kinds) == 1 or record_type(value) == kind]
            sets.append({"name": record["name"], "type": kind, "values": values})
    return sets
