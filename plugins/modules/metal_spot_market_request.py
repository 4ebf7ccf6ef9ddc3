#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_spot_market_request
short_description: Make and delete a standing order for spot devices
version_added: 0.1.0
description:
  - Manages a request for devices of the spot market. The API orders them as soon as price and stock allow for O(devices_min) of them,
    and takes them back when others bid more.
  - A request has neither a name nor tags. It is found by its O(id), else by its O(metro) and its plan. Of several, the one is used
    that is listed with the same O(devices_min), O(devices_max), O(max_bid_price) and O(end_at).
  - Nothing of a request can be changed. Other values than those of the existing request are refused, see O(allow_multiple).
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The request's id. One that does not exist is an error, not a reason to create.
      - Either this or O(metro), with O(instance_parameters), is needed.
    type: str
  devices_min:
    description:
      - How many devices there have to be room for, before any is ordered. Needed to make a request.
    type: int
  devices_max:
    description:
      - How many devices are ordered at most. Needed to make a request.
    type: int
  max_bid_price:
    description:
      - The most to pay for one device, in USD per hour. Needed to make a request.
    type: float
  metro:
    description:
      - Code of the metro, for example V(da).
    type: str
  end_at:
    description:
      - When the request ends by itself, for example V(2027-01-31T18:00:00Z). Without a zone it is UTC.
    type: str
  instance_parameters:
    description:
      - Attributes of the devices. The API returns only the plan afterwards, so nothing else is compared.
    type: dict
    aliases:
      - instance_attributes
    suboptions:
      plan:
        description:
          - Slug or id of the plan. Always needed, unless O(id) is given.
        type: str
      operating_system:
        description:
          - Slug of the operating system. Needed to make a request.
        type: str
      hostname:
        description:
          - Host name of the devices.
        type: str
      hostnames:
        description:
          - Host names of the devices, one each, used before O(instance_parameters.hostname).
        type: list
        elements: str
      features:
        description:
          - Features that the hardware has to have, for example V(tpm).
        type: list
        elements: str
      userdata:
        description:
          - Data for the first boot.
        type: str
        aliases:
          - user_data
      ipxe_script_url:
        description:
          - Address of an iPXE script, with the operating system V(custom_ipxe).
        type: str
      always_pxe:
        description:
          - Whether the devices boot from the network at each boot.
        type: bool
      tags:
        description:
          - Tags of the devices.
        type: list
        elements: str
      customdata:
        description:
          - Data of your own at the devices.
        type: dict
      description:
        description:
          - A text for people at the devices.
        type: str
      billing_cycle:
        description:
          - How the devices are billed.
        type: str
        choices:
          - hourly
          - daily
          - monthly
          - yearly
      locked:
        description:
          - Whether the API refuses to delete the devices.
        type: bool
        aliases:
          - lock
      project_ssh_keys:
        description:
          - Ids of the project's SSH keys for the devices.
        type: list
        elements: str
      user_ssh_keys:
        description:
          - Ids of users whose SSH keys the devices get.
        type: list
        elements: str
      no_ssh_keys:
        description:
          - Whether the devices get no SSH key at all.
        type: bool
      termination_time:
        description:
          - When the API deletes the devices by itself. Without a zone it is UTC.
        type: str
  allow_multiple:
    description:
      - Whether a request for the same plan and metro, but with other values, is left alone and a second request is created.
        Otherwise such a request counts as this one, and the difference is an error.
    type: bool
    default: false
  force_termination:
    description:
      - Whether the request's devices are deleted with it. Otherwise they stay, and are billed, until they are deleted or taken back.
      - With O(state=absent) only.
    type: bool
    default: false
  state:
    description:
      - Whether the object exists.
    type: str
    choices:
      - present
      - absent
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_spot_price_info
notes:
  - With O(wait=true) it is waited until O(devices_min) devices are active, which a low price may prevent. With O(state=absent)
    and O(force_termination=true) it is waited until the devices are gone.
"""

EXAMPLES = r"""
- name: Have two to four cheap machines, as soon as they can be had
  equinix_metal.openshift.metal_spot_market_request:
    metro: da
    devices_min: 2
    devices_max: 4
    max_bid_price: 0.4
    instance_parameters:
      plan: c3.small.x86
      operating_system: ubuntu_24_04
      hostnames:
        - batch-0.demo.metal.test
        - batch-1.demo.metal.test
        - batch-2.demo.metal.test
        - batch-3.demo.metal.test
    wait: false
  register: cheap

- name: Give the request back, and the machines with it
  equinix_metal.openshift.metal_spot_market_request:
    id: "{{ cheap.spot_market_request.id }}"
    force_termination: true
    state: absent
"""

RETURN = r"""
spot_market_request:
  description: The request. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id:
      description: The request's id.
      type: str
      sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10
    devices_min:
      description: How many devices there have to be room for.
      type: int
      sample: 2
    devices_max:
      description: How many devices are ordered at most.
      type: int
      sample: 4
    max_bid_price:
      description: The most that is paid for one device, in USD per hour.
      type: float
      sample: 0.4
    end_at:
      description: When it ends by itself, UTC, or null.
      type: str
      sample: null
    created_at:
      description: When it was made, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    metro:
      description: Code of its metro.
      type: str
      sample: da
    plan:
      description: Slug of its plan, null when the API does not return it.
      type: str
      sample: c3.small.x86
    devices:
      description: The devices it has brought about, each with C(id), C(hostname) and C(state).
      type: list
      elements: dict
      sample: [{id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11, hostname: batch-0.demo.metal.test, state: active}]
diff:
  description: The attributes that were given, as they were and as they are now. Nothing of the devices but their plan is among them.
  returned: always
  type: dict
  sample:
    before: {}
    after: {devices_max: 4, devices_min: 2, max_bid_price: 0.4, metro: da, plan: c3.small.x86}
    before_header: the spot market request for c3.small.x86 in da
    after_header: the spot market request for c3.small.x86 in da
failure:
  description: The error for programs. Its keys depend on the kind of error.
  returned: failed
  type: dict
  sample:
    type: ValidationError
    method: POST
    path: projects/2b70eb8f-fa18-47c0-aba7-222a842362fd/devices
    status: 422
    errors: [There aren't available servers in that metro]
    request_id: 1f4c1e6a0b6d4c0b
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.spot_market_request import (
    SPOT_MARKET_REQUEST_OPTIONS,
    SpotMarketRequest,
)


def main() -> None:
    with MetalModule(SPOT_MARKET_REQUEST_OPTIONS, in_project=True) as module:
        module.converge(lambda: SpotMarketRequest(module.client, module.params))


if __name__ == "__main__":
    main()
