#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: dns_wait
short_description: Wait until names resolve to addresses
version_added: 0.1.0
description:
  - Queries a resolver until each name resolves to all of its addresses and to no other, for records that are created outside of Ansible.
  - The module also waits while the resolver does not answer.
  - For a wildcard, a name below it is queried.
requirements:
  - dnspython
extends_documentation_fragment: [equinix_metal.openshift._attributes.info_module, equinix_metal.openshift._wait]
options:
  records:
    description: Names and their addresses.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Full name.
        type: str
        required: true
      type:
        description: Type of the values, addresses of both families.
        type: str
        choices: [addresses]
        default: addresses
      values:
        description: Addresses of the name. A name without values is ignored.
        type: list
        elements: str
        default: []
  server:
    description: Address of the resolver. By default the resolver of the host.
    type: str
    default: ""
  port:
    description: Port of O(server).
    type: int
    default: 53
  timeout:
    description: Timeout of a request in seconds.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Wait until the API of a cluster resolves
  equinix_metal.openshift.dns_wait:
    server: 192.0.2.53
    records:
      - name: api.demo.metal.example.com
        values: [192.0.2.1, 192.0.2.2]
    wait_timeout: 3600
    wait_interval: 15
"""

RETURN = r"""
pending:
  description: A message for each name that does not resolve to its addresses.
  returned: always
  type: list
  elements: str
  sample: ["api.demo.metal.example.com resolves to nothing, and should to 192.0.2.1, 192.0.2.2"]
"""

from ..module_utils.base.argspec import Options
from ..module_utils.frame.dns import DNSWaitModule

OPTIONS = Options(
    {
        "records": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": {
                "name": {"type": "str", "required": True},
                "type": {"type": "str", "choices": ["addresses"], "default": "addresses"},
                "values": {"type": "list", "elements": "str", "default": []},
            },
        },
        "server": {"type": "str", "default": ""},
        "port": {"type": "int", "default": 53},
        "timeout": {"type": "float", "default": 10},
    }
)


def main() -> None:
    with DNSWaitModule(OPTIONS) as module:
        module.wait(module.params["records"])


if __name__ == "__main__":
    main()
