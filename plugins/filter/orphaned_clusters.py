# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: orphaned_clusters
short_description: List clusters that have no folder on the controller
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Lists the clusters of the Metal API that have no folder on the controller, each with the command that destroys it.
  - Clusters are found by their ownership tag, and every user of the project can write tags. A command is returned only for a valid cluster
    name; for other tags the ids of the objects with the tag are returned.
positional: _input, directory
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
  expected:
    description:
      - Names of clusters that are in use, and so are not listed.
    type: list
    elements: str
    default: []
  in_job:
    description:
      - Whether this is a job of AWX, in which no cluster has a folder, so that no command is returned.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the commands that destroy clusters without a folder
  ansible.builtin.debug:
    msg: "{{ (everywhere.clusters | equinix_metal.openshift.orphaned_clusters('clusters')).commands }}"
"""

RETURN = r"""
_value:
  description: The clusters without a folder.
  type: dict
  contains:
    names:
      description: Their names, safe to print.
      type: list
      elements: str
      sample: [demo.metal.test]
    commands:
      description: A command for each valid cluster name, with every word quoted for a shell. None in a job.
      type: list
      elements: str
      sample: [ansible-playbook destroy.yml -e openshift_cluster_name=demo -e openshift_base_domain=metal.test]
    malformed:
      description: For each other tag a line with its value, safe to print, and the ids of the objects that have it.
      type: list
      elements: str
      sample: ["'$(reboot).metal.test': device 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11"]
    lines:
      description: All of it as lines to print.
      type: list
      elements: str
      sample: ["1 of 1 clusters have no folder in clusters"]
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.orphans import KINDS, has_folder, is_cluster_name

IN_JOB = "Nothing was changed. Each may be in use: name those in openshift_orphans_expected, and the others in openshift_orphans_delete."
KEPT = "A cluster that is needed gets its folder back with openshift_kubeconfig or openshift_state_store: docs/recovery.md."


def destroy_command(name: str) -> str:
    """Return the command that destroys the cluster of this name without its folder."""
    cluster, _dot, domain = name.partition(".")
    variables = {"openshift_cluster_name": cluster, "openshift_base_domain": domain, "openshift_destroy_without_state": "true"}
    words = ["ansible-playbook", "destroy.yml", *(word for item in variables.items() for word in ("-e", "=".join(item)))]
    return shlex.join(words)


def orphaned_clusters(
    clusters: Iterable[Mapping[str, Any]], directory: str, *, expected: Collection[str] = (), in_job: bool = False
) -> dict[str, list[str]]:
    """Return ``names``, ``commands``, ``malformed`` and ``lines`` of the clusters that are not expected and have no folder here."""
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
            objects = [f"{title} {printable(each.get('id'), 64)}" for kind, title in KINDS.items() for each in cluster.get(kind) or []]
            malformed.append(f"'{names[-1]}': {', '.join(objects)}")
    commands = [] if in_job else [destroy_command(name) for name in valid]
    share = f"{len(names)} of {len(names) + known} clusters"
    if in_job:
        lines = [f"{share} are not in openshift_orphans_expected, and a job of AWX has no folders of clusters:", *valid, IN_JOB]
    else:
        lines = [f"{share} have no folder in {directory}:", "they are managed by another controller, or not managed any more."]
    lines += [KEPT, "Nothing was changed. To destroy one that is not needed any more:", *commands] if commands else []
    lines += ["These tags are no cluster names. Check the objects that have them, and delete these by id:", *malformed] if malformed else []
    return {"names": names, "commands": commands, "malformed": malformed, "lines": lines}


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"orphaned_clusters": orphaned_clusters}
