# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_directory
short_description: Folder of a cluster's files on the controller
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns a folder as an absolute path, by default C(<name>.<domain>) in the folder of all clusters.
  - The folder of all clusters is C(clusters) beside the C(ansible.cfg) in use, so that it does not depend on the folder that a playbook is
    started from. If that file is the user's C(~/.ansible.cfg) or below C(/etc/ansible), or if there is none, it is C(clusters) in the
    current folder.
positional: name, domain, clusters
options:
  _input:
    description: The folder, empty for the default.
    type: str
    required: true
  name:
    description: Name of the cluster.
    type: str
    required: true
  domain:
    description: Base domain of the cluster.
    type: str
    required: true
  clusters:
    description: The folder of all clusters, empty for the default.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Print where the files of a cluster are
  ansible.builtin.debug:
    msg: "{{ '' | equinix_metal.openshift.cluster_directory('demo', 'metal.test') }}"
"""

RETURN = r"""
_value:
  description: The absolute path.
  type: str
  sample: /srv/project/clusters/demo.metal.test
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible import constants

from ..plugin_utils.cluster_folder import folders


def cluster_directory(directory: str, name: str, domain: str, clusters: str = "") -> str:
    """Return the folder of a cluster's files."""
    current, home = Path.cwd(), Path.home()
    beside = folders.clusters_directory(str(clusters or ""), constants.CONFIG_FILE, current, home)
    return str(folders.cluster_directory(str(directory or ""), f"{name}.{domain}", beside, current, home))


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_directory": cluster_directory}
