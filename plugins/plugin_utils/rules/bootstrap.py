# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the bootstrap device once the bootstrap is complete: it is deleted, or reinstalled as a worker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ...module_utils.cluster.devices import devices_by_role
from ..boot.pointer import machine_pointer as pointer_of

__all__ = ["machine_pointer", "removal_plan"]

Object = Mapping[str, Any]


class RemovalPlan(TypedDict):
    worker: Object
    """The worker that the bootstrap device becomes, empty without one."""
    obstacle: str
    """Why the bootstrap device is not reused although a worker was chosen. Empty when it is."""
    reused: list[Object]
    """Devices to reinstall as that worker, one at most."""
    deleted: list[Object]
    reinstalling: list[Object]
    """Devices that a run has already requested to be reinstalled, without learning whether the request arrived."""


def removal_plan(devices: Sequence[Object], workers: Sequence[Object], becomes: str, operation_id: str) -> RemovalPlan:
    """Return which bootstrap devices are deleted and which one is reinstalled as a worker.

    ``becomes``: name of the host of the inventory, or host name, of that worker; empty, the device is deleted. ``operation_id``: that of
    the reinstallation, which is requested once.
    """
    bootstrap = devices_by_role(devices)["bootstrap"]
    worker = _worker(workers, becomes)
    obstacle = _obstacle(devices, bootstrap, worker, becomes) if becomes else ""
    reused = bootstrap[:1] if becomes and not obstacle else []
    requested = f"ansible-operation-requested=reinstall:{operation_id}:"
    return {
        "worker": worker,
        "obstacle": obstacle,
        "reused": reused,
        "deleted": [device for device in bootstrap if device not in reused],
        "reinstalling": [device for device in devices if any(tag.startswith(requested) for tag in device["tags"])],
    }


def _worker(workers: Sequence[Object], becomes: str) -> Object:
    named = [worker for name in ("inventory_hostname", "hostname") for worker in workers if worker.get(name) == becomes]
    return named[0] if named else {}


def _obstacle(devices: Iterable[Object], bootstrap: Iterable[Object], worker: Object, becomes: str) -> str:
    if not worker:
        return f"{becomes} is not a worker of the inventory"
    if worker["hostname"] in {device["hostname"] for device in devices}:
        return f"{worker['hostname']} exists already"
    if any(device.get("termination_time") for device in bootstrap):
        return "its termination time is set, and the Metal API does not document how to remove one"
    return ""


def machine_pointer(pointer: Any, machine: Object) -> str:
    """Return the Ignition pointer of a machine, made from that of its role; an empty one stays empty.

    A text of JSON may have become a dictionary, before ansible-core 2.19.
    """
    text = json.dumps(pointer, separators=(",", ":"), sort_keys=True) if isinstance(pointer, Mapping) else pointer or ""
    return pointer_of(text, machine)
