#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dns_records
short_description: Manage DNS records on a server that accepts signed updates
version_added: 0.1.0
description:
  - Asks the server which of the records it has as they should be, and sets all others in as few updates as possible (RFC 2136, signed by
    TSIG). Hundreds of names take no longer than a few.
  - Only the records that are named are touched.
  - Nothing can stand beside an alias (CNAME). Where a name that is to have records is one, nothing is set, and the module fails.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
requirements:
  - dnspython
options:
  server:
    description:
      - Address of the server that keeps the zone.
    type: str
    required: true
  port:
    description:
      - Its port. It is asked by TCP.
    type: int
    default: 53
  zone:
    description:
      - The zone that is updated, for example V(metal.example.com).
    type: str
    required: true
  key_name:
    description:
      - Name of the TSIG key.
    type: str
    required: true
  key_secret:
    description:
      - The TSIG key, in base64.
    type: str
    required: true
  key_algorithm:
    description:
      - Algorithm of the TSIG key.
    type: str
    choices:
      - hmac-sha224
      - hmac-sha256
      - hmac-sha384
      - hmac-sha512
      - hmac-sha1
      - hmac-md5
    default: hmac-sha256
  records:
    description:
      - What should be there, one entry for each name and type.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description:
          - The whole name, with or without a dot at its end.
        type: str
        required: true
      type:
        description:
          - Type of the records.
        type: str
        choices:
          - A
          - AAAA
          - TXT
        default: A
      values:
        description:
          - All values it should have. Without values it should not be there.
        type: list
        elements: str
        default: []
  ttl:
    description:
      - Seconds that others may keep what is set. Records that are right otherwise are left as they are.
    type: int
    default: 60
  timeout:
    description:
      - Seconds until each answer.
    type: float
    default: 10
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
"""

EXAMPLES = r"""
- name: Name two machines, and one no longer
  equinix_metal.openshift.dns_records:
    server: 192.0.2.53
    zone: metal.example.com
    key_name: installer
    key_secret: "{{ vaulted_key }}"
    records:
      - name: worker-0.demo.metal.example.com
        values: [192.0.2.10]
      - name: api.demo.metal.example.com
        values: [192.0.2.1, 192.0.2.2, 192.0.2.3]
      - name: worker-1.demo.metal.example.com
"""

RETURN = r"""
records:
  description: What was changed (in check mode what would be).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name.
      type: str
      sample: worker-0.demo.metal.example.com
    type:
      description: Type of the records.
      type: str
      sample: A
    before:
      description: The values it had.
      type: list
      elements: str
      sample: []
    after:
      description: The values it has.
      type: list
      elements: str
      sample: [192.0.2.10]
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.dns import DNSModule

OPTIONS = Options(
    {
        "records": {
            "type": "list",
            "elements": "dict",
            "required": True,
            "options": {
                "name": {"type": "str", "required": True},
                "type": {"type": "str", "choices": ["A", "AAAA", "TXT"], "default": "A"},
                "values": {"type": "list", "elements": "str", "default": []},
            },
        },
        "ttl": {"type": "int", "default": 60},
    }
)


def main() -> None:
    with DNSModule(OPTIONS) as module:
        module.keep(module.params["records"], module.params["ttl"])


if __name__ == "__main__":
    main()
