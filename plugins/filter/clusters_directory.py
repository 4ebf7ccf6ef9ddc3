# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: clusters_directory
short_description: Folder with the folders of all clusters on the controller
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the given folder as an absolute path. Without one it is C(clusters) beside the C(ansible.cfg) in use, so that it does not depend
    on the folder that a playbook is started from. If that file is the user's C(~/.ansible.cfg) or below C(/etc/ansible), or if there is
    none, it is C(clusters) in the current folder.
options:
  _input:
    description:
      - The given folder, empty for the default.
    type: str
    required: true
seealso:
  - plugin: equinix_metal.openshift.cluster_directory
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Print where the files of clusters are
  ansible.builtin.debug:
    msg: "{{ openshift_clusters_directory | default('') | equinix_metal.openshift.clusters_directory }}"
"""

RETURN = r"""
_value:
  description: The absolute path.
  type: str
  sample: /srv/project/clusters
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils import _folders


def clusters_directory(directory: str) -> str:
    """Return the folder with the folders of all clusters."""
    return str(_folders.clusters_directory(str(directory or ""), constants.CONFIG_FILE, Path.cwd(), Path.home()))


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"clusters_directory": clusters_directory}
