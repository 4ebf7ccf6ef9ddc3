# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bootstrap_pointer
short_description: Ignition pointer of the bootstrap device
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Renders the Ignition config that fetches bootstrap.ign and verifies its hash. With a bearer token or a signed address it is a secret.
positional: url, bearer, ca
options:
  _input:
    description:
      - Content of bootstrap.ign.
    type: str
    required: true
  url:
    description:
      - Address of bootstrap.ign.
    type: str
    required: true
  bearer:
    description:
      - Bearer token to send. Empty, the request has no token, as on the Ignition platform C(metal).
    type: str
    default: ""
  ca:
    description:
      - CA to trust for the address, as PEM. Empty, the default CA bundle is used.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Write the Ignition pointer of the bootstrap device
  ansible.builtin.copy:
    content: >-
      {{ lookup('ansible.builtin.file', 'bootstrap.ign', rstrip=false) | equinix_metal.openshift.bootstrap_pointer(signed_url)
      | to_json }}
    dest: clusters/demo/bootstrap-pointer.ign
    mode: "0600"
  no_log: true
"""

RETURN = r"""
_value:
  description: The Ignition config.
  type: dict
  sample: {ignition: {version: 3.2.0, config: {merge: [{source: "..."}]}}}
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.boot_files import bootstrap_pointer


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"bootstrap_pointer": bootstrap_pointer}
