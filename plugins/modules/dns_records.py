#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dns_records
short_description: Manage DNS records at a DNS server or service
version_added: 0.1.0
description:
  - Reads which of the records are as they should be, and sets all others in as few requests as the provider allows. Hundreds of names
    take no longer than a few.
  - Only the records that are named are touched. With O(owner) each of them gets an ownership record, and records of another owner are
    not touched either.
  - Nothing can stand beside an alias (CNAME). Where a name that is to have records is one, nothing is set, and the module fails.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
requirements:
  - dnspython
  - boto3, for O(provider=route53)
  - octodns and the package of the service, such as octodns-cloudflare, for O(provider=octodns)
options:
  provider:
    description:
      - V(rfc2136) is a DNS server that accepts signed updates (TSIG), V(route53) Amazon Route 53, V(octodns) a service for which octoDNS
        has a provider.
    type: str
    choices: [rfc2136, route53, octodns]
    default: rfc2136
  zone:
    description:
      - The zone that is updated, for example V(metal.example.com).
    type: str
    required: true
  server:
    description:
      - Address of the server that keeps the zone. Required with O(provider=rfc2136).
    type: str
  port:
    description:
      - Port of O(server), which is asked by TCP.
    type: int
    default: 53
  key_name:
    description:
      - Name of the TSIG key. Required with O(provider=rfc2136).
    type: str
  key_secret:
    description:
      - The TSIG key, in base64. Required with O(provider=rfc2136).
    type: str
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
  access_key:
    description:
      - Access key of AWS. Without it boto3 reads credentials from the environment, from files and from the metadata of the instance.
    type: str
  secret_key:
    description:
      - Secret key of AWS.
    type: str
  session_token:
    description:
      - Session token of temporary credentials of AWS.
    type: str
  endpoint:
    description:
      - URL of the API, if it is not that of Amazon Route 53.
    type: str
  ca:
    description:
      - File with the CA certificates for O(endpoint).
    type: path
  zone_id:
    description:
      - Id of the hosted zone, where several have the name O(zone).
    type: str
  zone_private:
    description:
      - Whether the hosted zone is a private one.
    type: bool
    default: false
  create_zone:
    description:
      - With O(provider=route53), whether a zone that does not exist is created, with the tag C(openshift-cluster) of O(owner). A zone with
        this tag is deleted when all O(records) are without values and no other record is left in it.
      - Needs O(owner). A private zone is not created.
    type: bool
    default: false
  service:
    description:
      - Name of the service, such as V(cloudflare) for the package octodns-cloudflare, or the whole name of a class, such as
        V(octodns_cloudflare.CloudflareProvider). Required with O(provider=octodns).
    type: str
  options:
    description:
      - Arguments of that class, see the README of its package. O(timeout) is passed on where the class has such an argument.
    type: dict
  secrets:
    description:
      - More arguments of that class which are secrets, such as C(token). They are in no output.
    type: dict
  owner:
    description:
      - The cluster that owns the records, C(<name>.<domain>). Each name gets a TXT record C(_openshift-owner.<name>) that says so, deleted
        with the records; in a wildcard's the asterisk is C(_wildcard).
      - A name that has records without such a TXT record, or one with another owner, is foreign. Without this option only values are
        compared, and no TXT record is read or written.
    type: str
  infra_id:
    description:
      - The infraID of the cluster's install, a part of the ownership record. With it, two clusters of one name are two owners.
    type: str
  adoptable_values:
    description:
      - Addresses of the cluster's devices. Records without an ownership record are the cluster's if they have only such values.
    type: list
    elements: str
    default: []
  foreign:
    description:
      - V(fail) fails for a foreign record of a name that is to have records, and changes nothing. V(keep) leaves it as it is. V(take)
        treats foreign records as the cluster's own, also where they are to be deleted.
    type: str
    choices: [fail, keep, take]
    default: fail
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
          - Type of the records. V(addresses) is both A and AAAA, and each value is of the type that it is an address of.
        type: str
        choices:
          - addresses
          - A
          - AAAA
          - TXT
          - PTR
          - NS
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

- name: Create the zone of a cluster in Route 53, with a record
  equinix_metal.openshift.dns_records:
    provider: route53
    zone: demo.metal.example.com
    create_zone: true
    owner: demo.metal.example.com
    records:
      - name: api.demo.metal.example.com
        values: [192.0.2.1]
  register: zone

- name: Set the record of a cluster in Route 53
  equinix_metal.openshift.dns_records:
    provider: route53
    zone: metal.example.com
    owner: demo.metal.example.com
    records:
      - name: api.demo.metal.example.com
        type: addresses
        values: [192.0.2.1, "2001:db8::1"]
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
name_servers:
  description: Name servers of the zone, with O(create_zone). Empty if it does not exist.
  returned: success
  type: list
  elements: str
  sample: [ns-2048.awsdns-64.com, ns-2049.awsdns-65.net]
foreign:
  description: Records of these names that are not O(owner)'s. Always empty without O(owner).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name.
      type: str
      sample: api.demo.metal.example.com
    values:
      description: The addresses, or the target of an alias.
      type: list
      elements: str
      sample: [203.0.113.7]
    owner:
      description: The owner by its ownership record, empty without one.
      type: str
      sample: demo.metal.example.com with the infraID demo-x7k2p
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
                "type": {"type": "str", "choices": ["addresses", "A", "AAAA", "TXT", "PTR", "NS"], "default": "A"},
                "values": {"type": "list", "elements": "str", "default": []},
            },
        },
        "ttl": {"type": "int", "default": 60},
        "owner": {"type": "str"},
        "infra_id": {"type": "str"},
        "adoptable_values": {"type": "list", "elements": "str", "default": []},
        "foreign": {"type": "str", "choices": ["fail", "keep", "take"], "default": "fail"},
    }
)


def main() -> None:
    with DNSModule(OPTIONS) as module:
        module.keep(module.params["records"], module.params["ttl"])


if __name__ == "__main__":
    main()
