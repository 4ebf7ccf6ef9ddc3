# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of a running cluster: its nodes, pools and routers, its kubeconfig, and when it may be switched off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...module_utils.cluster.devices import devices_by_role
from ..cluster_folder.kubeconfig import unique_certificates
from ..machines.node_settings import node_changes
from ..machines.replacement import provisioned_at
from ..manifests.ingress_controller import ingress_changes as changes_of
from ..manifests.pools import config_changes

__all__ = ["ingress_changes", "node_changes", "pool_changes", "stop_blockers", "unique_certificates"]

Objects = Sequence[Mapping[str, Any]]


def ingress_changes(controllers: Objects, workers: Objects, pool: str = "", replicas: int | str | None = None) -> list[dict[str, Any]]:
    """Return a patch for each IngressController that has to change."""
    changes = (changes_of(controller, pool, replicas, workers) for controller in controllers)
    return [change for change in changes if change]


def pool_changes(workers: Objects, control_plane: Objects, results: Objects, time_servers: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return the objects of pools to create or change (``present``) and to delete (``absent``), see ``config_changes``.

    ``results``: those of ``k8s_info``, of MachineConfigPools and MachineConfigs.
    """
    current = [node for result in results for node in result.get("resources") or ()]
    return config_changes(workers, control_plane, current, time_servers)


def stop_blockers(
    devices: Iterable[Mapping[str, Any]], *, cluster: str, bootstrap_complete: bool, min_age: int = 90000, now: datetime | None = None
) -> list[str]:
    """Return why the cluster cannot be switched off now, a sentence each.

    ``min_age``: seconds since the installation until the first node certificates are renewed.
    """
    by_role = devices_by_role(devices)
    if not by_role["control_plane"]:
        return [f"No device of the project is of the control plane of {cluster}. Set metal_project_id to the project of the cluster."]
    if not bootstrap_complete or by_role["bootstrap"]:
        return [f"{cluster} is not installed, or was installed from another folder. Run install.yml, or set openshift_directory."]
    times = [time for device in by_role["control_plane"] if (time := provisioned_at(device)) is not None]
    age = int(((now or datetime.now(UTC)) - min(times)).total_seconds()) if times else 0
    # All are off: a run that was interrupted, or a second one.
    if age >= min_age or all(device.get("state") == "inactive" for device in by_role["control_plane"]):
        return []
    return [
        f"{cluster} was installed {age} s ago. Its first node certificates are valid for a day and are renewed before, so it may be"
        f" switched off {min_age - age} s from now. To switch it off now, run with -e openshift_stop_min_age=0, and start it with"
        " -e openshift_recover_nodes=true if it was off for more than a day."
    ]
