# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: run_directory
short_description: Folder on the controller that exists for the time of a run
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns a path below the folder that Ansible creates for a run, accessible to its user only, and deletes at the end of the run. So files
    that a run needs, also in check mode, are not left behind.
options:
  _input:
    description:
      - Name of the folder.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Create a folder for the time of the run
  ansible.builtin.file:
    path: "{{ 'demo.metal.test' | equinix_metal.openshift.run_directory }}"
    state: directory
    mode: "0700"
"""

RETURN = r"""
_value:
  description: The absolute path.
  type: str
  sample: /home/user/.ansible/tmp/ansible-local-4242x/demo.metal.test
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible import constants


def run_directory(name: str) -> str:
    """Return the path of a folder that Ansible deletes at the end of the run."""
    return str(Path(constants.DEFAULT_LOCAL_TMP) / Path(str(name)).name)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"run_directory": run_directory}
