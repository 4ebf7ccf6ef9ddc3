#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_bgp_config
short_description: Enable BGP for a project
version_added: 0.1.0
description:
  - Requests BGP for a project, or requests it again with other settings. Options that are not set keep their value.
  - A local configuration is enabled at once. A global one has to be approved by Equinix Metal. The module does not wait for that, and
    returns its status.
options:
  deployment_type:
    description: V(local) announces elastic addresses of a metro, V(global) announces global addresses and your own. Required for the first
      request.
    type: str
    choices: [local, global]
  asn:
    description: Autonomous system number of the project. Required for the first request. Local configurations usually use 65000.
    type: int
  md5:
    description:
      - Password of the sessions, 10 to 20 letters and digits with at least one lower case letter, one upper case letter and one digit.
      - An empty string removes the password.
      - A diff shows only V(as given) or V(another).
    type: str
  use_case:
    description: Text for the approval of a global configuration. The API does not return it, so it is not compared.
    type: str
  state:
    description: The API cannot disable BGP, so V(present) is the only state.
    type: str
    choices: [present]
    default: present
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
seealso:
  - module: equinix_metal.openshift.metal_bgp_session
  - module: equinix_metal.openshift.metal_bgp_info
"""

EXAMPLES = r"""
- name: Enable BGP for elastic addresses
  equinix_metal.openshift.metal_bgp_config:
    deployment_type: local
    asn: 65000
    md5: "{{ lookup('ansible.builtin.env', 'BGP_PASSWORD') }}"
"""

RETURN = r"""
bgp_config:
  description: The BGP configuration. In check mode the predicted one.
  returned: success
  type: dict
  contains:
    id: {description: ID of the configuration., type: str, sample: 4eaf4f3e-ac60-4c83-9d15-acaf2f6d3b32}
    status: {description: "V(requested), V(enabled) or V(disabled).", type: str, sample: enabled}
    deployment_type: {description: V(local) or V(global)., type: str, sample: local}
    asn: {description: Autonomous system number of the project., type: int, sample: 65000}
    max_prefix: {description: Maximum number of prefixes that a session may announce., type: int, sample: 10}
    route_object: {description: "Route object, or V(null).", type: str}
    requested_at: {description: "Time of the request, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    ranges: {description: Address ranges of the project., type: list, elements: dict, sample: []}
    md5_enabled: {description: Whether a password is set. The password is not returned., type: bool, sample: true}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.bgp import BGP_CONFIG_OPTIONS, BgpConfig


def main() -> None:
    with MetalModule(BGP_CONFIG_OPTIONS, in_project=True) as module:
        module.converge(lambda: BgpConfig(module.client, module.params))


if __name__ == "__main__":
    main()
