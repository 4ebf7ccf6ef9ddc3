# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_urls
short_description: Addresses at which boot files are published
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the address at which each boot file is published.
positional: url, bootstrap_url, signed
options:
  _input:
    description:
      - Names of the files.
    type: list
    elements: str
    required: true
  url:
    description:
      - Address below which files without secrets are served.
    type: str
    required: true
  bootstrap_url:
    description:
      - Address of bootstrap.ign.
    type: str
    required: true
  signed:
    description:
      - For object storage, the signed address of each file as C(url). It replaces the other two.
    type: dict
"""

EXAMPLES = r"""
- name: Print the address of a boot script
  ansible.builtin.debug:
    msg: "{{ ['x86_64.ipxe'] | equinix_metal.openshift.boot_urls('http://192.0.2.1:8080', 'https://192.0.2.1:8443/bootstrap.ign') }}"
"""

RETURN = r"""
_value:
  description: The addresses by file name.
  type: dict
  sample: {x86_64.ipxe: "http://192.0.2.1:8080/x86_64.ipxe"}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.boot_files import boot_urls


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"boot_urls": boot_urls}
