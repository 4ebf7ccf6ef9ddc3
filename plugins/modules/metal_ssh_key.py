#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_ssh_key
short_description: Create, change and delete an SSH key
version_added: 0.1.0
description:
  - Manages a public SSH key of a project, or of the user of the token. New devices have these keys.
  - A key is found by O(id), otherwise by O(label), otherwise by O(key).
options:
  label:
    description: Label of the key. Required to create a key.
    type: str
    aliases: [name]
  key:
    description:
      - The public key, as in a C(.pub) file. Required to create a key. A private key is refused before it is sent.
      - The comment at its end is not compared.
      - The API stores a key once for each owner. If the key exists under another label, its label is changed.
    type: str
  tags:
    description: All tags of the key. Order and duplicates are ignored.
    type: list
    elements: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.key_owner
  - equinix_metal.openshift._metal.id
  - equinix_metal.openshift._metal.state
notes:
  - A device has the keys that exist when it is created. Changing or deleting a key changes no device.
seealso:
  - module: equinix_metal.openshift.metal_ssh_key_info
"""

EXAMPLES = r"""
- name: Add an SSH key to the project
  equinix_metal.openshift.metal_ssh_key:
    label: alice
    key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH alice@example.com

- name: Delete the key of the project
  equinix_metal.openshift.metal_ssh_key:
    label: alice
    state: absent
"""

RETURN = r"""
ssh_key:
  description: The key. In check mode the predicted one.
  returned: state is present
  type: dict
  contains:
    id: {description: ID of the key., type: str, sample: 6d3fd1c7-8a0b-4f5c-9f0e-0d9e0e4b8f35}
    label: {description: Label of the key., type: str, sample: alice}
    key:
      description: The public key.
      type: str
      sample: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH alice
    fingerprint: {description: MD5 fingerprint with colons., type: str, sample: 21:4c:6b:a3:4e:1d:0c:57:22:05:6a:f3:fb:4e:0b:98}
    tags: {description: "Tags, sorted.", type: list, elements: str, sample: []}
    created_at: {description: "Time of creation, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
    updated_at: {description: "Time of the last change, UTC.", type: str, sample: "2026-11-21T07:10:00Z"}
"""

from ..module_utils.frame.metal import MetalModule
from ..module_utils.metal.ssh_key import SSH_KEY_OPTIONS, SshKey


def main() -> None:
    with MetalModule(SSH_KEY_OPTIONS) as module:
        module.converge(lambda: SshKey(module.client, module.params))


if __name__ == "__main__":
    main()
