#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_spot_market_request
short_description: Create and delete a spot market request
version_added: 0.1.0
description:
  - Manages a request for devices of the spot market. The API creates the devices as soon as price and capacity allow at least
    O(devices_min), and deletes them when other bids are higher.
  - A request has neither a name nor tags. It is found by O(id), otherwise by O(metro) and plan. If several match, O(devices_min),
    O(devices_max), O(max_bid_price) and O(end_at) select one.
  - A request cannot be changed. Other values are an error, but see O(allow_multiple).
options:
  id:
    description:
      - ID of the request. It has to exist.
      - Either O(id) or O(metro) with O(instance_parameters) is required.
    type: str
  devices_min:
    description: Minimum number of devices, for which there has to be capacity before any is created. Required to create a request.
    type: int
  devices_max:
    description: Maximum number of devices. Required to create a request.
    type: int
  max_bid_price:
    description: Maximum price per hour of one device in USD. Required to create a request.
    type: float
  metro:
    description: Code of the metro, for example V(da).
    type: str
  end_at:
    description: End of the request, for example V(2027-01-31T18:00:00Z). Without a time zone it is UTC.
    type: str
  instance_parameters:
    description: Attributes of the devices. Only the plan is compared, since the API returns no other attribute.
    type: dict
    aliases: [instance_attributes]
    suboptions:
      plan:
        description: Slug or ID of the plan. Required, unless O(id) is set.
        type: str
      operating_system:
        description: Slug of the operating system. Required to create a request.
        type: str
      hostname:
        description: Host name of the devices.
        type: str
      hostnames:
        description: Host names of the devices, which are used before O(instance_parameters.hostname).
        type: list
        elements: str
      features:
        description: Required features of the hardware, for example V(tpm).
        type: list
        elements: str
      userdata:
        description: User data for the first boot.
        type: str
        aliases: [user_data]
      ipxe_script_url:
        description: URL of the iPXE script for the operating system V(custom_ipxe).
        type: str
      always_pxe:
        description: Boot over the network every time.
        type: bool
      tags:
        description: Tags of the devices.
        type: list
        elements: str
      customdata:
        description: Custom data of the devices.
        type: dict
      description:
        description: Description of the devices.
        type: str
      billing_cycle:
        description: Billing cycle of the devices.
        type: str
        choices: [hourly, daily, monthly, yearly]
      locked:
        description: Whether the API refuses to delete the devices.
        type: bool
        aliases: [lock]
      project_ssh_keys:
        description: IDs of SSH keys of the project for the devices.
        type: list
        elements: str
      user_ssh_keys:
        description: IDs of users whose SSH keys the devices have.
        type: list
        elements: str
      no_ssh_keys:
        description: Create the devices without SSH keys.
        type: bool
      termination_time:
        description: Time at which the API deletes the devices. Without a time zone it is UTC.
        type: str
  allow_multiple:
    description: Create a second request if the existing one for the same plan and metro has other values. Otherwise the difference is an
      error.
    type: bool
    default: false
  force_termination:
    description:
      - Delete the devices of the request with it. Otherwise they keep running, and are billed, until they are deleted.
      - Only used with O(state=absent).
    type: bool
    default: false
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.state
  - equinix_metal.openshift._wait
seealso:
  - module: equinix_metal.openshift.metal_spot_price_info
notes:
  - With O(wait=true) the module waits until O(devices_min) devices are active, which a low price may prevent. With O(state=absent) and
    O(force_termination=true) it waits until the devices are gone.
"""

EXAMPLES = r"""
- name: Request two to four devices of the spot market
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

- name: Delete the request and its devices
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
    id: {description: ID of the request., type: str, sample: 9a1e1b64-9a4f-4f6e-8a31-3c7b5d0e9f10}
    devices_min: {description: Minimum number of devices., type: int, sample: 2}
    devices_max: {description: Maximum number of devices., type: int, sample: 4}
    max_bid_price: {description: Maximum price per hour of one device in USD., type: float, sample: 0.4}
    end_at: {description: "End of the request, UTC, or V(null).", type: str}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    metro: {description: Code of the metro., type: str, sample: da}
    plan: {description: "Slug of the plan, V(null) when the API does not return it.", type: str, sample: c3.small.x86}
    devices:
      description: Devices of the request, each with C(id), C(hostname) and C(state).
      type: list
      elements: dict
      sample: [{id: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11, hostname: batch-0.demo.metal.test, state: active}]
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.spot_market_request import SPOT_MARKET_REQUEST_OPTIONS, SpotMarketRequest


def main() -> None:
    with MetalModule(SPOT_MARKET_REQUEST_OPTIONS, in_project=True) as module:
        module.converge(lambda: SpotMarketRequest(module.client, module.params))


if __name__ == "__main__":
    main()
