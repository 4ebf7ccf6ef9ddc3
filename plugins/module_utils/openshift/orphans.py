# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters without a folder on the controller, and which of them can be deleted.

In a job of AWX no cluster has a folder, so there only ``openshift_orphans_expected`` says which clusters are in use.

Cluster names come from tags, which every user of the project can write: they are untrusted.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
CLUSTER_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})+")
KINDS = {"devices": "device", "ip_reservations": "IP reservation", "virtual_networks": "VLAN", "metal_gateways": "gateway"}
ALL = "all"
ALL_IN_JOB = (
    "openshift_orphans_delete is all, and a job of AWX has no folders of clusters, so this would choose clusters that are in use, too."
    " Set it to the names of the clusters to delete"
)


def is_cluster_name(name: str) -> bool:
    """Return whether this is a full cluster name, ``<name>.<domain>``, which is safe in a shell and in a path."""
    return bool(CLUSTER_NAME.fullmatch(name)) and len(name) <= 253


def has_folder(name: str, directory: str) -> bool:
    """Return whether the cluster of this name has a folder in ``directory``."""
    return is_cluster_name(name) and (Path(directory).expanduser() / name).is_dir()


def plan_removal(  # noqa: PLR0913 - the options of the filter, passed by keyword
    clusters: Iterable[Mapping[str, Any]],
    directory: str,
    names: Sequence[str],
    *,
    min_age: int,
    now: datetime,
    expected: Collection[str] = (),
    in_job: bool = False,
) -> dict[str, list[str]]:
    """Return the clusters to delete (``names``), those that are kept (``kept``, a line each), and ``problems``.

    ``names``: the chosen clusters, or ``all``, which a job refuses. A chosen cluster that must not be deleted is a problem; of ``all`` it
    is kept.
    """
    if in_job and list(names) == [ALL]:
        return {"names": [], "kept": [], "problems": [ALL_IN_JOB]}
    found = {str(cluster["name"]): cluster for cluster in clusters}
    chosen = sorted(found) if list(names) == [ALL] else list(dict.fromkeys(names))
    deleted, kept = [], []
    for name in chosen:
        reasons = list(_reasons(name, found.get(name), directory, min_age, now))
        if name in expected:
            reasons.insert(0, "it is in openshift_orphans_expected. Remove it there if it is not needed any more")
        if reasons:
            kept.append(f"{printable(name, 100)} is not deleted: {'; '.join(reasons)}")
        else:
            deleted.append(name)
    return {"names": deleted, "kept": kept, "problems": [] if list(names) == [ALL] else kept}


def _reasons(name: str, cluster: Mapping[str, Any] | None, directory: str, min_age: int, now: datetime) -> Iterator[str]:
    """Yield why a cluster must not be deleted here, each with the next step."""
    if cluster is None:
        yield "nothing in the project has its ownership tag. Check the name with playbooks/orphans.yml"
        return
    if not is_cluster_name(name):
        yield "its tag is no cluster name. Delete the objects that have it by their ids"
        return
    if has_folder(name, directory):
        yield f"it has a folder in {directory}. Use destroy.yml, which deletes its DNS records and files, too"
    for lock in cluster.get("locks") or []:
        end = _time(lock.get("expires_at"))
        if end is None or end > now:
            who = f"{lock.get('operation')} of {lock.get('holder')}"
            yield f"its lock {printable(lock.get('id'), 64)} is held by {printable(who, 200)}. Wait for the end of that run"
    created = [_time(each.get("created_at")) for kind in KINDS for each in cluster.get(kind) or []]
    if any(time is None for time in created):
        yield "the age of an object is unknown. Delete it by its id"
    youngest = max((time for time in created if time is not None), default=None)
    if youngest is not None and (now - youngest).total_seconds() < min_age:
        yield (
            f"its newest object was created at {youngest:%Y-%m-%dT%H:%M:%SZ}, less than openshift_orphans_min_age ({min_age} s) ago."
            " Run this playbook again later, or set a lower age"
        )
    locked = [printable(device.get("hostname"), 100) for device in cluster.get("devices") or [] if device.get("locked")]
    if locked:
        yield f"{', '.join(locked)} is locked against deletion. Unlock it with equinix_metal.openshift.metal_device and locked: false"


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value or ""))
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
