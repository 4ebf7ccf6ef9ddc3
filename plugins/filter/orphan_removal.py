# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: orphan_removal
short_description: Clusters without a folder that can be deleted
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns which of the chosen clusters can be deleted. A cluster is kept if it has a folder on the controller, if its newest object is too
    young, if its lock is held, if one of its devices is locked, or if it is expected.
positional: _input, directory, names
options:
  _input:
    description:
      - The clusters that M(equinix_metal.openshift.metal_cluster_info) returned.
    type: list
    elements: dict
    required: true
  directory:
    description:
      - The folder on the controller with the folders of its clusters.
    type: path
    required: true
  names:
    description:
      - Names of the clusters to delete, C(<name>.<domain>), or V(all).
    type: list
    elements: str
    required: true
  min_age:
    description:
      - Time in seconds since the creation of the newest object of a cluster that is deleted.
    type: int
    default: 86400
  expected:
    description:
      - Names of clusters that are in use, and so are kept.
    type: list
    elements: str
    default: []
  in_job:
    description:
      - Whether this is a job of AWX, in which no cluster has a folder. V(all) is a problem then.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print which clusters can be deleted
  ansible.builtin.debug:
    msg: "{{ (everywhere.clusters | equinix_metal.openshift.orphan_removal('clusters', ['all'])).names }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    names:
      description: Names of the clusters to delete.
      type: list
      elements: str
      sample: [demo.metal.test]
    kept:
      description: Why a chosen cluster is not deleted, a line each.
      type: list
      elements: str
      sample: []
    problems:
      description: The same if the clusters were chosen by name, empty for V(all).
      type: list
      elements: str
      sample: []
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.orphans import plan_removal
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.replacement import names_of


def orphan_removal(  # noqa: PLR0913 - the options of the filter, passed by keyword
    clusters: Iterable[Mapping[str, Any]],
    directory: str,
    names: Any,
    *,
    min_age: int = 86400,
    expected: Collection[str] = (),
    in_job: bool = False,
) -> dict[str, list[str]]:
    """Return ``names``, ``kept`` and ``problems``."""
    try:
        now = datetime.now(UTC)
        return plan_removal(clusters, directory, names_of(names), min_age=int(min_age), now=now, expected=expected, in_job=in_job)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        needed = "the input has to be clusters as metal_cluster_info returns them"
        raise AnsibleFilterError(f"orphan_removal: {needed}: {problem!r}") from problem


class FilterModule:
    """Offers orphan_removal."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"orphan_removal": orphan_removal}
