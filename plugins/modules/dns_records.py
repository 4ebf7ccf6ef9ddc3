#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: dns_records
short_description: Manage DNS records at a DNS server or service
version_added: 0.1.0
description:
  - Compares the records with the desired ones, and sets those that differ in as few requests as the provider allows.
  - Only O(records) are changed. With O(owner) each of them has an ownership record, and records of another owner are not changed.
  - A name with an alias (CNAME) cannot have other records. If a desired name has one, the module fails and sets nothing.
requirements:
  - dnspython
  - boto3, for O(provider=route53)
  - octodns and the package of the service, such as octodns-cloudflare, for O(provider=octodns)
options:
  provider:
    description: V(rfc2136) is a DNS server that accepts signed updates (TSIG). V(route53) is Amazon Route 53. V(octodns) is a service with
      an octoDNS provider.
    type: str
    choices: [rfc2136, route53, octodns]
    default: rfc2136
  zone:
    description: The zone to update, for example V(metal.example.com).
    type: str
    required: true
  server:
    description: Address of the primary server of the zone. Required with O(provider=rfc2136).
    type: str
  port:
    description: TCP port of O(server).
    type: int
    default: 53
  key_name:
    description: Name of the TSIG key. Required with O(provider=rfc2136).
    type: str
  key_secret:
    description: The TSIG key in base64. Required with O(provider=rfc2136).
    type: str
  key_algorithm:
    description: Algorithm of the TSIG key.
    type: str
    choices: [hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha1, hmac-md5]
    default: hmac-sha256
  access_key:
    description: AWS access key. By default boto3 reads the credentials from the environment, its files or the instance metadata.
    type: str
  secret_key:
    description: AWS secret key.
    type: str
  session_token:
    description: Session token of temporary AWS credentials.
    type: str
  endpoint:
    description: URL of the API, if not that of Amazon Route 53.
    type: str
  ca:
    description: Path of a CA bundle for O(endpoint).
    type: path
  zone_id:
    description: ID of the hosted zone. Required if several zones have the name O(zone).
    type: str
  zone_private:
    description: Whether the hosted zone is private.
    type: bool
    default: false
  create_zone:
    description:
      - With O(provider=route53), create the zone if it does not exist, with the tag C(openshift-cluster) of O(owner). A zone with this tag
        is deleted when all O(records) are without values and the zone contains no other record.
      - Requires O(owner). A private zone is not created.
    type: bool
    default: false
  service:
    description: Name of the service, such as V(cloudflare) for the package octodns-cloudflare, or the full name of a class, such as
      V(octodns_cloudflare.CloudflareProvider). Required with O(provider=octodns).
    type: str
  options:
    description: Arguments of that class, see the README of its package. O(timeout) is passed if the class accepts it.
    type: dict
  secrets:
    description: Secret arguments of that class, such as C(token). They are never returned or displayed.
    type: dict
  owner:
    description:
      - The cluster that owns the records, C(<name>.<domain>). Each name has a TXT record C(_openshift-owner.<name>) with the owner, which
        is deleted with the records. For a wildcard it is C(_openshift-owner._wildcard).
      - A name with records but without this TXT record, or with that of another owner, is foreign. Without O(owner) only values are
        compared, and no TXT record is read or written.
    type: str
  infra_id:
    description: The infraID of the cluster, which becomes a part of the ownership record. With it, two clusters of the same name are
      different owners.
    type: str
  adoptable_values:
    description: Addresses of the devices of the cluster. Records without an ownership record belong to the cluster if all their values are
      among them.
    type: list
    elements: str
    default: []
  foreign:
    description: What to do with a foreign record of a name in O(records). V(fail) fails and changes nothing. V(keep) keeps it. V(take)
      treats it as a record of the cluster, also when it is to be deleted.
    type: str
    choices: [fail, keep, take]
    default: fail
  records:
    description: The desired records, one entry for each name and type.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Full name, with or without a trailing dot.
        type: str
        required: true
      type:
        description: Type of the records. V(addresses) means A and AAAA, by the address family of each value.
        type: str
        choices: [addresses, A, AAAA, TXT, PTR, NS]
        default: A
      values:
        description: All values of the records. If empty, the records are deleted.
        type: list
        elements: str
        default: []
  ttl:
    description: Time to live of the records in seconds. Records that differ only in it are not changed.
    type: int
    default: 60
  timeout:
    description: Timeout of a request in seconds.
    type: float
    default: 10
extends_documentation_fragment: [equinix_metal.openshift._attributes.changing]
"""

EXAMPLES = r"""
- name: Set two records and delete one
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
"""

RETURN = r"""
records:
  description: The records that were (in check mode, would be) changed.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the records., type: str, sample: worker-0.demo.metal.example.com}
    type: {description: Type of the records., type: str, sample: A}
    before: {description: The values before the change., type: list, elements: str, sample: []}
    after: {description: The values after the change., type: list, elements: str, sample: [192.0.2.10]}
name_servers:
  description: Name servers of the zone, with O(create_zone). Empty if the zone does not exist.
  returned: success
  type: list
  elements: str
  sample: [ns-2048.awsdns-64.com, ns-2049.awsdns-65.net]
foreign:
  description: Foreign records of these names. Always empty without O(owner).
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the records., type: str, sample: api.demo.metal.example.com}
    addresses: {description: "The addresses, or the target of an alias.", type: list, elements: str, sample: [203.0.113.7]}
    owner:
      description: The owner in the ownership record, empty without one.
      type: str
      sample: demo.metal.example.com with the infraID demo-x7k2p
"""

from ..module_utils.base.argspec import Options
from ..module_utils.frame.dns import DNSModule

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
