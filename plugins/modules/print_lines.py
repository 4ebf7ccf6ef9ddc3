#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: print_lines
short_description: Print several lines of text
version_added: 0.1.0
description:
  - Prints one line below the other, on the terminal, in the log and as events in AWX. M(ansible.builtin.debug) prints such a text as one
    line with C(\n), unless C(callback_result_format) is C(yaml).
  - Control characters are escaped, and a line is truncated after 2000 characters.
  - With a stdout callback that prints JSON, the lines are printed to stderr.
options:
  lines:
    description: A list of lines, or a text of several lines.
    type: raw
    required: true
extends_documentation_fragment: [equinix_metal.openshift._attributes.info_module, equinix_metal.openshift._attributes.printing]
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
  description: The printed lines.
  returned: always
  type: list
  elements: str
  sample: [api.demo.example.com. 60 IN A 203.0.113.5]
"""
