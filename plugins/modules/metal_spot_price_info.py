#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_spot_price_info
short_description: List spot market prices
version_added: 0.1.0
description:
  - Lists the current spot market prices by metro and plan.
options:
  plan:
    description: List only the prices of this plan.
    type: str
  metro:
    description: List only the prices in this metro.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
notes:
  - O(project_id) is accepted for C(module_defaults) and ignored, since the result is the same for all projects.
seealso:
  - module: equinix_metal.openshift.metal_capacity_info
"""

EXAMPLES = r"""
- name: List the spot market prices of a plan
  equinix_metal.openshift.metal_spot_price_info:
    plan: c3.small.x86
  register: market
"""

RETURN = r"""
spot_prices:
  description: The prices, lowest first.
  returned: success
  type: list
  elements: dict
  contains:
    metro: {description: Code of the metro., type: str, sample: da}
    plan: {description: Slug of the plan., type: str, sample: c3.small.x86}
    price_per_hour: {description: Price per hour in USD., type: float, sample: 0.2}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.hardware_reservation import SPOT_PRICE_OPTIONS, spot_prices


def main() -> None:
    with MetalModule(SPOT_PRICE_OPTIONS, reading=True) as module:
        module.report(spot_prices(module.client, module.params))


if __name__ == "__main__":
    main()
