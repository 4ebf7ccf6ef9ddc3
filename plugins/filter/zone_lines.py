# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: zone_lines
short_description: DNS records as lines of a zone file
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns lines to paste into a zone file. Records to delete are comments.
positional: cluster, ttl
options:
  _input:
    description:
      - Records, as P(equinix_metal.openshift.cluster_dns_records#filter) returns them.
    type: list
    elements: dict
    required: true
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  ttl:
    description:
      - Time to live in seconds.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Print the DNS records to create by hand
  equinix_metal.openshift.print_lines:
    lines: "{{ records | equinix_metal.openshift.zone_lines('demo.metal.test', 60) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample: ["api.demo.metal.test. 60 IN A 192.0.2.10", "; delete worker-9.demo.metal.test."]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_dns import zone_lines


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"zone_lines": zone_lines}
