#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: print_lines
short_description: Print text of several lines as it is
version_added: 0.1.0
description:
  - Prints the lines on the terminal, in the log and as events in AWX, one below the other. M(ansible.builtin.debug) shows a text of several
    lines as one line with C(\n) unless C(callback_result_format) is C(yaml).
  - Control characters are printed as escapes, and a line of more than 2000 characters is cut.
  - With a stdout callback whose whole output is JSON the lines go to stderr; they are in the result too.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  lines:
    description:
      - A list of lines, or one text of several lines.
    type: raw
    required: true
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._attributes.printing
"""

EXAMPLES = r"""
- name: Print the DNS records to create
  equinix_metal.openshift.print_lines:
    lines:
      - "api.demo.example.com. 60 IN A 203.0.113.5"
      - "api-int.demo.example.com. 60 IN A 203.0.113.5"
"""

RETURN = r"""
lines:
  description: The lines as they were printed.
  returned: always
  type: list
  elements: str
  sample: ["api.demo.example.com. 60 IN A 203.0.113.5"]
"""
