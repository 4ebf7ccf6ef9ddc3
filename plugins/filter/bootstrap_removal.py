# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bootstrap_removal
short_description: Bootstrap devices to delete, and the one to reuse as a worker
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Decides which bootstrap devices are deleted and which one is reinstalled as a worker.
  - A reinstallation is requested once. A device with the tag of a request that may not have arrived is among C(reinstalling).
positional: workers, becomes, operation_id
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  workers:
    description:
      - Workers of the inventory, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    required: true
  becomes:
    description:
      - Name of the host of the inventory, or host name, that the bootstrap device becomes. Empty, it is deleted.
    type: str
    required: true
  operation_id:
    description:
      - The O(equinix_metal.openshift.metal_device#module:operation_id) of the reinstallation.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print which devices would be deleted
  ansible.builtin.debug:
    msg: "{{ (found.devices | equinix_metal.openshift.bootstrap_removal(workers, 'worker-2', 'bootstrap-becomes-worker')).deleted }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    worker:
      description: The worker that the bootstrap device becomes, empty without one.
      type: dict
    obstacle:
      description: Why the bootstrap device is not reused although a worker was chosen. Empty when it is.
      type: str
      sample: worker-2.demo.metal.test exists already
    reused:
      description: Devices to reinstall as that worker, one at most.
      type: list
      elements: dict
    deleted:
      description: Devices to delete.
      type: list
      elements: dict
    reinstalling:
      description: Devices that a run has already requested to be reinstalled, without learning whether the request arrived.
      type: list
      elements: dict
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_devices import devices_by_role


def bootstrap_removal(
    devices: Sequence[Mapping[str, Any]], workers: Sequence[Mapping[str, Any]], becomes: str, operation_id: str
) -> dict[str, Any]:
    """Return the plan."""
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


def _worker(workers: Sequence[Mapping[str, Any]], becomes: str) -> Mapping[str, Any]:
    named = [worker for name in ("inventory_hostname", "hostname") for worker in workers if worker.get(name) == becomes]
    return named[0] if named else {}


def _obstacle(devices: Iterable[Mapping[str, Any]], bootstrap: Iterable[Mapping[str, Any]], worker: Mapping[str, Any], becomes: str) -> str:
    if not worker:
        return f"{becomes} is not a worker of the inventory"
    if worker["hostname"] in {device["hostname"] for device in devices}:
        return f"{worker['hostname']} exists already"
    if any(device.get("termination_time") for device in bootstrap):
        return "its termination time is set, and the Metal API does not document how to remove one"
    return ""


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"bootstrap_removal": bootstrap_removal}
