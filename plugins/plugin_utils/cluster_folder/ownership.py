# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that a cluster's existing objects at the Metal API belong to the install whose files this controller has.

Another user of the project may use the cluster's name: the devices of that cluster have the same
ownership tag, and would be adopted, changed or deleted. Files and devices of one install have the same infraID, which the installer
generates anew: it is in metadata.json, and in the tag ``openshift-infra-id`` of the devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.base.tags import INFRA_TAG, NODE_ROLES, ROLE_TAG, tag_values
from ...module_utils.metal.objects import DELETING_STATES

SHOWN = 6
"""Maximum number of devices in a message."""

CHOICES = (
    "choose another openshift_cluster_name, or restore the folder of that install (openshift_directory). For a cluster that runs, set"
    " openshift_kubeconfig to a kubeconfig of it, which is enough to write the folder again; an install that was saved in a state store is"
    " restored with openshift_state_store. Devices that are certainly of this install and lost their tag get it back:"
    f" {INFRA_TAG}<infraID of ignition/metadata.json>"
)
"""Next steps for a cluster whose files are not on this controller."""


def state_problem(cluster: Mapping[str, Any], infra_id: str, directory: str, *, begun: bool = False) -> str:
    """Return why what exists of ``cluster`` is not of the install in ``directory``; empty when it is, or when nothing exists.

    ``cluster``: ``name``; ``devices`` with ``hostname``, ``state``, ``created_at``, ``infra_id`` and ``role`` (or ``tags``); ``count`` of
    all that exists, other kinds too. ``infra_id``: that of the folder's metadata.json, empty where there is none. ``begun``: the folder
    is that of an install without Ignition files yet, which creates addresses and networks, and no device.
    """
    devices = [device for device in cluster.get("devices") or [] if device.get("state") not in DELETING_STATES]
    # Devices are deleted last, so objects that remain while devices are deleted are not adopted.
    exists = bool(devices) or int(cluster.get("count") or 0) > len(cluster.get("devices") or [])
    name = cluster.get("name")
    if not exists or (begun and not infra_id and not devices):
        return ""
    if not infra_id:
        what = _named(devices) if devices else "addresses or networks with its tag"
        return f"{name} exists and its files are not in {directory}: {what}"
    foreign = [device for device in devices if _infra_id(device) != infra_id and (_infra_id(device) or _is_node(device))]
    if foreign:
        return f"{name} exists and is of another install than the files in {directory}, which are of {infra_id}: {_named(foreign)}"
    return ""


def identity_problem(running: Mapping[str, Any], cluster: str, devices: Sequence[Mapping[str, Any]] = (), infra_id: str = "") -> str:
    """Return why a running cluster is not the inventory's; empty when it is.

    ``running``: ``domain`` and ``infra_id`` of ``cluster_boot_info``. ``devices``: those with the ownership tag of ``cluster``.
    ``infra_id``: that of the files in the cluster folder, empty where there are none.
    """
    domain, running_id = str(running.get("domain") or ""), str(running.get("infra_id") or "")
    which = f"the kubeconfig connects to {domain or 'a cluster without a name'} (infraID {running_id or 'unknown'})"
    if domain != cluster:
        return f"{which}, and the inventory is of {cluster}"
    if not running_id:
        return f"{which}, whose Infrastructure has no infrastructureName: its installation has not begun"
    if infra_id and infra_id != running_id:
        return f"{which}, and the files in the cluster folder are of another install, with the infraID {infra_id}"
    foreign = [device for device in devices if device.get("state") not in DELETING_STATES and _infra_id(device) not in ("", running_id)]
    return f"{which}, and devices of {cluster} are of another install: {_named(foreign)}" if foreign else ""


def _is_node(device: Mapping[str, Any]) -> bool:
    """Return whether a device is a node, or may be one: it would not be found by its infraID, and be ordered again."""
    role = device["role"] if "role" in device else next(iter(tag_values(device.get("tags"), ROLE_TAG)), None)
    return role is None or role in NODE_ROLES


def _infra_id(device: Mapping[str, Any]) -> str:
    """Return the infraID of a device; empty for one that was not created from Ignition files, such as a load balancer."""
    if "infra_id" in device:
        return str(device["infra_id"] or "")
    return next(iter(tag_values(device.get("tags"), INFRA_TAG)), "")


def _named(devices: Sequence[Mapping[str, Any]]) -> str:
    texts = [
        f"{device.get('hostname')} (infra id {_infra_id(device) or 'unknown'}, created {device.get('created_at') or 'at an unknown time'})"
        for device in sorted(devices, key=lambda device: str(device.get("hostname")))
    ]
    more = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return ", ".join([*texts[:SHOWN], *more])
