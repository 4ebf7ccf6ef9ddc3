# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters without a folder on the controller, and which of them can be deleted.

In a job of AWX no cluster has a folder, so there only ``openshift_orphans_expected`` says which clusters are in use.

Cluster names come from tags, which every user of the project can write: they are untrusted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...module_utils.base.printable import printable
from ...module_utils.base.times import time_of, timestamp
from ..machines.replacement import names_of

__all__ = ["lines", "removal_plan", "without_folder"]

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
CLUSTER_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})+")
KINDS = {"devices": "device", "ip_reservations": "IP reservation", "virtual_networks": "VLAN", "metal_gateways": "gateway"}
ALL = "all"
ALL_IN_JOB = (
    "openshift_orphans_delete is all, and a job of AWX has no folders of clusters, so this would choose clusters that are in use, too."
    " Set it to the names of the clusters to delete"
)
KEPT = "A cluster that is needed gets its folder back with openshift_kubeconfig or openshift_state_store: docs/recovery.md."
IN_JOB = "Nothing was changed. Each may be in use: name those in openshift_orphans_expected, and the others in openshift_orphans_delete."


def is_cluster_name(name: str) -> bool:
    """Return whether this is a full cluster name, ``<name>.<domain>``, which is safe in a shell and in a path."""
    return bool(CLUSTER_NAME.fullmatch(name)) and len(name) <= 253


def has_folder(name: str, directory: str) -> bool:
    return is_cluster_name(name) and (Path(directory).expanduser() / name).is_dir()


def removal_plan(  # noqa: PLR0913 - the options of the rule, passed by keyword
    clusters: Iterable[Mapping[str, Any]],
    directory: str,
    names: Any,
    *,
    min_age: int = 86400,
    expected: Collection[str] = (),
    in_job: bool = False,
    now: datetime | None = None,
) -> dict[str, list[str]]:
    """Return the clusters to delete (``names``), those that are kept (``kept``, a line each), and ``problems``.

    ``names``: the chosen clusters as a list or a text, or ``all``, which a job refuses. A chosen cluster that must not be deleted is a
    problem; of ``all`` it is kept.
    """
    chosen = names_of(names)
    is_all = chosen == [ALL]
    if in_job and is_all:
        return {"names": [], "kept": [], "problems": [ALL_IN_JOB]}
    by_name = {str(cluster["name"]): cluster for cluster in clusters}
    deleted, kept = [], []
    for name in sorted(by_name) if is_all else chosen:
        reasons = list(_reasons(name, by_name.get(name), directory, int(min_age), now or datetime.now(UTC)))
        if name in expected:
            reasons.insert(0, "it is in openshift_orphans_expected. Remove it there if it is not needed any more")
        if reasons:
            kept.append(f"{printable(name, 100)} is not deleted: {'; '.join(reasons)}")
        else:
            deleted.append(name)
    return {"names": deleted, "kept": kept, "problems": [] if is_all else kept}


def _reasons(name: str, cluster: Mapping[str, Any] | None, directory: str, min_age: int, now: datetime) -> Iterator[str]:
    if cluster is None:
        yield "nothing in the project has its ownership tag. Check the name with playbooks/orphans.yml"
        return
    if not is_cluster_name(name):
        yield "its tag is no cluster name. Delete the objects that have it by their ids"
        return
    if has_folder(name, directory):
        yield f"it has a folder in {directory}. Use destroy.yml, which deletes its DNS records and files, too"
    for lock in cluster.get("locks") or []:
        end = time_of(lock.get("expires_at"))
        if end is None or end > now:
            who = f"{lock.get('operation')} of {lock.get('holder')}"
            yield f"its lock {printable(lock.get('id'), 64)} is held by {printable(who, 200)}. Wait for the end of that run"
    created = [time_of(item.get("created_at")) for kind in KINDS for item in cluster.get(kind) or []]
    if any(time is None for time in created):
        yield "the age of an object is unknown. Delete it by its id"
    youngest = max((time for time in created if time is not None), default=None)
    if youngest is not None and (now - youngest).total_seconds() < min_age:
        yield (
            f"its newest object was created at {timestamp(youngest)}, less than openshift_orphans_min_age ({min_age} s) ago."
            " Run this playbook again later, or set a lower age"
        )
    locked = [printable(device.get("hostname"), 100) for device in cluster.get("devices") or [] if device.get("locked")]
    if locked:
        yield f"{', '.join(locked)} is locked against deletion. Unlock it with equinix_metal.openshift.metal_device and locked: false"


def destroy_command(name: str) -> str:
    """Return the command that destroys the cluster of this name without its folder, ``ansible-playbook destroy.yml
    -e openshift_cluster_name=demo -e openshift_base_domain=metal.test -e openshift_destroy_without_state=true``.
    """
    cluster, _dot, domain = name.partition(".")
    variables = {"openshift_cluster_name": cluster, "openshift_base_domain": domain, "openshift_destroy_without_state": "true"}
    words = ["ansible-playbook", "destroy.yml", *(word for item in variables.items() for word in ("-e", "=".join(item)))]
    return shlex.join(words)


def without_folder(
    clusters: Iterable[Mapping[str, Any]], directory: str, *, expected: Collection[str] = (), in_job: bool = False
) -> dict[str, list[str]]:
    """Return ``names``, ``commands``, ``malformed`` and ``lines`` of the clusters that are not expected and have no folder here.

    Every user of the project can write the tags that clusters are found by: a command is returned for a valid cluster name only, and for
    other tags the ids of the objects. In a job of AWX (``in_job``) no cluster has a folder, so no command is returned.
    """
    names: list[str] = []
    valid: list[str] = []
    malformed: list[str] = []
    known = 0
    for cluster in clusters:
        name = str(cluster["name"])
        if name in expected or has_folder(name, directory):
            known += 1
            continue
        names.append(printable(name, 100))
        if is_cluster_name(name):
            valid.append(name)
        else:
            objects = [f"{title} {printable(item.get('id'), 64)}" for kind, title in KINDS.items() for item in cluster.get(kind) or []]
            malformed.append(f"'{names[-1]}': {', '.join(objects)}")
    commands = [] if in_job else [destroy_command(name) for name in valid]
    share = f"{len(names)} of {len(names) + known} clusters"
    if in_job:
        text = [f"{share} are not in openshift_orphans_expected, and a job of AWX has no folders of clusters:", *valid, IN_JOB]
    else:
        text = [f"{share} have no folder in {directory}:", "they are managed by another controller, or not managed any more."]
    text += [KEPT, "Nothing was changed. To destroy one that is not needed any more:", *commands] if commands else []
    text += ["These tags are no cluster names. Check the objects that have them, and delete these by id:", *malformed] if malformed else []
    return {"names": names, "commands": commands, "malformed": malformed, "lines": text}


def lines(clusters: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return clusters with all their objects as lines, safe to print."""
    return [printable(line) for cluster in clusters for line in _cluster(cluster)]


def _device(device: Mapping[str, Any]) -> Iterator[str]:
    lock = ", locked" if device.get("locked") else ""
    yield f"  device    {device.get('hostname')}, {device.get('plan')} in {device.get('metro')}, {device.get('state')}{lock},"
    yield f"            since {device.get('created_at')} ({device.get('id')})"


def _addresses(block: Mapping[str, Any]) -> Iterator[str]:
    size = f"/{block['cidr']}" if block.get("cidr") else ""
    place = block.get("metro") or "all metros"
    yield f"  addresses {block.get('network') or 'pending'}{size} in {place}, since {block.get('created_at')} ({block.get('id')})"


def _network(network: Mapping[str, Any]) -> Iterator[str]:
    yield f"  VLAN      {network.get('vxlan')} in {network.get('metro')}, since {network.get('created_at')} ({network.get('id')})"


def _gateway(gateway: Mapping[str, Any]) -> Iterator[str]:
    where = f"{gateway.get('gateway_address')} of VLAN {gateway.get('vxlan')}"
    yield f"  gateway   {where}, since {gateway.get('created_at')} ({gateway.get('id')})"


def _lock(lock: Mapping[str, Any]) -> Iterator[str]:
    when = f"since {lock.get('acquired_at')}, renewed {lock.get('renewed_at')}"
    yield f"  lock      of {lock.get('operation')} by {lock.get('holder')}, {when} ({lock.get('id')})"


LINES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "devices": _device,
    "ip_reservations": _addresses,
    "virtual_networks": _network,
    "metal_gateways": _gateway,
    "locks": _lock,
}


def _cluster(cluster: Mapping[str, Any]) -> Iterator[str]:
    price = cluster.get("price_per_hour")
    cost = f"devices cost {price} US dollars per hour" if isinstance(price, (int, float)) else "price of the devices unknown"
    count = cluster.get("count")
    yield f"{cluster.get('name')}: {count} object{'' if count == 1 else 's'}, {cost}"
    for kind, lines_of in LINES.items():
        for item in cluster.get(kind) or []:
            yield from lines_of(item)
