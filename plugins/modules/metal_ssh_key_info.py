#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_ssh_key_info
short_description: List SSH keys
version_added: 0.1.0
description:
  - Lists the public SSH keys of a project, or of the user of the token.
options:
  labels:
    description: List only keys with one of these labels.
    type: list
    elements: str
    aliases: [label, names]
  ids:
    description: List only keys with one of these IDs.
    type: list
    elements: str
  fingerprints:
    description: List only keys with one of these MD5 fingerprints, with colons.
    type: list
    elements: str
  tags:
    description: List only keys with all of these tags.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.key_owner
"""

EXAMPLES = r"""
- name: List the keys of the project
  equinix_metal.openshift.metal_ssh_key_info:
"""

RETURN = r"""
ssh_keys:
  description: The keys, by label. Each with the fields of RV(equinix_metal.openshift.metal_ssh_key#module:ssh_key).
  returned: success
  type: list
  elements: dict
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ssh_key import SSH_KEY_INFO_OPTIONS, find_ssh_keys


def main() -> None:
    with MetalModule(SSH_KEY_INFO_OPTIONS, reading=True) as module:
        module.report(find_ssh_keys(module.client, module.params))


if __name__ == "__main__":
    main()
