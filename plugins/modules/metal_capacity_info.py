#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_capacity_info
short_description: Check the capacity and the prices of servers
version_added: 0.1.0
description:
  - Checks whether the Metal API has capacity for servers of a plan in a metro now, and returns the hourly prices.
options:
  servers:
    description: The servers to check.
    type: list
    elements: dict
    required: true
    suboptions:
      plan:
        description: Slug of the server plan, for example V(c3.small.x86).
        type: str
        required: true
      metro:
        description: Code of the metro, for example V(da).
        type: str
        required: true
      quantity:
        description: Number of servers.
        type: int
        default: 1
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
seealso:
  - module: equinix_metal.openshift.metal_plan_info
notes:
  - The result is valid for the moment only. No server is reserved.
  - Sends C(POST /capacity/metros), also in check mode, since the request changes nothing.
"""

EXAMPLES = r"""
- name: Check the capacity for a small cluster in Dallas
  equinix_metal.openshift.metal_capacity_info:
    servers:
      - {plan: c3.small.x86, metro: da, quantity: 4}
      - {plan: c3.medium.x86, metro: da, quantity: 2}
"""

RETURN = r"""
servers:
  description: O(servers) in the same order, each with its capacity and price.
  returned: success
  type: list
  elements: dict
  contains:
    plan: {description: Slug of the server plan., type: str, sample: c3.small.x86}
    metro: {description: "Code of the metro, lower case.", type: str, sample: da}
    quantity: {description: Number of servers., type: int, sample: 4}
    available: {description: Whether all of them are available. V(null) when the API does not return it., type: bool, sample: true}
    price_per_hour: {description: Price per hour of one server in USD. V(null) when the API does not return it., type: float, sample: 0.75}
available:
  description: Whether all O(servers) are available.
  returned: success
  type: bool
  sample: true
total_price_per_hour:
  description: Price per hour of all servers in USD. V(null) when one price is not known.
  returned: success
  type: float
  sample: 5.7
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.machines.capacity import CAPACITY_OPTIONS, capacity_with_prices


def main() -> None:
    with MetalModule(CAPACITY_OPTIONS, reading=True) as module:
        module.report(capacity_with_prices(module.client, module.params))


if __name__ == "__main__":
    main()
