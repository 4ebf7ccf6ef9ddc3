# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unique_certificates
short_description: Merge CA bundles
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the certificates of PEM bundles as one bundle, each certificate once, in their order. Other text in the bundles is left out.
options:
  _input:
    description:
      - The bundles.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Write the CAs of the API server and of the routers
  ansible.builtin.copy:
    content: "{{ [api_ca, routers_ca] | equinix_metal.openshift.unique_certificates }}"
    dest: ca.crt
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The bundle, empty without certificates.
  type: str
  sample: "-----BEGIN CERTIFICATE-----..."
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._kubeconfig import unique_certificates


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"unique_certificates": unique_certificates}
