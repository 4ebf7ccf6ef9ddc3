# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_contents
short_description: Contents of boot scripts and live configs
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Renders iPXE scripts and Ignition configs of the live system. None of them has secrets.
  - With the Ignition platform C(metal), each machine has a script and a config of its own, with C(packet) the machines of a boot profile
    share them.
positional: stream, urls, programs, settings, machines, pointers
options:
  _input:
    description:
      - Boot profiles, as P(equinix_metal.openshift.boot_profiles#filter) returns them.
    type: list
    elements: dict
    required: true
  stream:
    description:
      - Stream metadata of the installer, C(openshift-install coreos print-stream-json).
    type: dict
    required: true
  urls:
    description:
      - Addresses of the files, as P(equinix_metal.openshift.boot_urls#filter) returns them.
    type: dict
    required: true
  programs:
    description:
      - Programs that the live system runs before the installation, each with C(name), C(script) and C(unit).
    type: list
    elements: dict
    required: true
  settings:
    description:
      - What holds for all profiles, C(ignition_platform), C(cluster), C(architecture), C(image_mirror_url), C(kernel_arguments),
        C(metadata_url), and C(reporter), the program that reports the first boot of the installed system.
    type: dict
    required: true
  machines:
    description:
      - With the Ignition platform C(metal), the machines, as P(equinix_metal.openshift.machines#filter) returns them.
    type: list
    elements: dict
    default: []
  pointers:
    description:
      - Ignition pointers of O(machines) by role, as JSON or dictionaries.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Write the boot script
  ansible.builtin.copy:
    content: "{{ (profiles | equinix_metal.openshift.boot_contents(stream, urls, programs, settings))['x86_64.ipxe'] }}"
    dest: /srv/http/x86_64.ipxe
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The contents by file name.
  type: dict
  sample: {x86_64.ipxe: "#!ipxe...", x86_64-live.ign: "{...}"}
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.boot_files import boot_contents as contents_of


def boot_contents(*arguments: Any) -> dict[str, str]:
    """Return the contents by file name. Raises AnsibleFilterError for a boot script that no kernel would read completely."""
    try:
        return contents_of(*arguments)
    except ValueError as problem:
        raise AnsibleFilterError(f"boot_contents: {problem}") from problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"boot_contents": boot_contents}
