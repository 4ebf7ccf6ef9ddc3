# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unrestricted
short_description: Host pattern of a play that must run completely
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the host pattern of a play unchanged, and fails when the run leaves hosts, tasks or tags out (C(--limit), C(--tags),
    C(--skip-tags), C(--start-at-task), C(--step)).
  - The playbooks of this collection compare the whole inventory with what exists. A partial run would do nothing and succeed, or delete the
    machines that were left out. With C(--limit) a play for C(localhost) is skipped, so that no task of it can fail; its host pattern is
    evaluated nevertheless.
options:
  _input:
    description: The host pattern.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Compare all hosts with all devices
  hosts: "{{ 'localhost' | equinix_metal.openshift.unrestricted }}"
"""

RETURN = r"""
_value:
  description: The host pattern.
  type: str
  sample: localhost
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible import context
from ansible.errors import AnsibleFilterError


def restrictions(arguments: Mapping[str, Any]) -> list[str]:
    """Return the options of ansible-playbook that leave hosts, tasks or tags out, as on the command line."""
    options = []
    if arguments.get("subset"):
        options.append(f"--limit {arguments['subset']}")
    tags = list(arguments.get("tags") or ["all"])
    if "all" not in tags:
        options.append(f"--tags {','.join(tags)}")
    if arguments.get("skip_tags"):
        options.append(f"--skip-tags {','.join(arguments['skip_tags'])}")
    if arguments.get("start_at_task"):
        options.append(f"--start-at-task '{arguments['start_at_task']}'")
    if arguments.get("step"):
        options.append("--step")
    return options


def unrestricted(pattern: str) -> str:
    """Return the pattern. Raises AnsibleFilterError when the run is restricted."""
    if options := restrictions(context.CLIARGS):
        raise AnsibleFilterError(
            f"Cannot run with {' '.join(options)}: this playbook compares the whole inventory with the existing devices, and a partial run "
            "would skip or delete devices. Nothing was changed. Run it again without these options."
        )
    return pattern


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"unrestricted": unrestricted}
