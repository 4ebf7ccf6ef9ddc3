# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: stop_blockers
short_description: Why a cluster cannot be switched off now
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns why a cluster should not be switched off, a sentence each with the next step.
positional: _input
options:
  _input:
    description:
      - The devices of the cluster, as M(equinix_metal.openshift.metal_device_info) returns them.
    type: list
    elements: dict
    required: true
  cluster:
    description:
      - Name of the cluster, for messages.
    type: str
    required: true
  bootstrap_complete:
    description:
      - Whether the control plane runs without the bootstrap device.
    type: bool
    required: true
  min_age:
    description:
      - Time in seconds since the provisioning of the oldest control plane device.
    type: int
    default: 90000
"""

EXAMPLES = r"""
- name: Fail if the cluster cannot be stopped now
  ansible.builtin.assert:
    that: (found.devices | equinix_metal.openshift.stop_blockers(cluster='demo.metal.test', bootstrap_complete=true)) == []
"""

RETURN = r"""
_value:
  description: The blockers. Empty when it can be switched off.
  type: list
  elements: str
  sample: []
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_devices import devices_by_role
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.replacement import provisioned_at


def blockers(devices: Iterable[Mapping[str, Any]], *, cluster: str, bootstrap_complete: bool, min_age: int, now: datetime) -> list[str]:
    """Return the blockers at this time."""
    by_role = devices_by_role(devices)
    if not by_role["control_plane"]:
        return [f"No device of the project is of the control plane of {cluster}. Set metal_project_id to the project of the cluster."]
    if not bootstrap_complete or by_role["bootstrap"]:
        return [f"{cluster} is not installed, or was installed from another folder. Run install.yml, or set openshift_directory."]
    times = [time for device in by_role["control_plane"] if (time := provisioned_at(device)) is not None]
    age = int((now - min(times)).total_seconds()) if times else 0
    # All are off: a run that was interrupted, or a second one.
    if age >= min_age or all(device.get("state") == "inactive" for device in by_role["control_plane"]):
        return []
    return [
        f"{cluster} was installed {age} s ago. Its first node certificates are valid for a day and are renewed before, so it may be"
        f" switched off {min_age - age} s from now. To switch it off now, run with -e openshift_stop_min_age=0, and start it with"
        " -e openshift_recover_nodes=true if it was off for more than a day."
    ]


def stop_blockers(devices: Iterable[Mapping[str, Any]], *, cluster: str, bootstrap_complete: bool, min_age: int = 90000) -> list[str]:
    """Return the blockers now."""
    try:
        return blockers(devices, cluster=cluster, bootstrap_complete=bool(bootstrap_complete), min_age=int(min_age), now=datetime.now(UTC))
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise AnsibleFilterError(f"stop_blockers: the input has to be devices as this collection returns them: {problem!r}") from problem


class FilterModule:
    """Offers stop_blockers."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"stop_blockers": stop_blockers}
