#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_ssh_key
short_description: Create, change and delete an SSH key of the Metal API
version_added: 0.1.0
description:
  - Manages a public key of a project, or of the user the token belongs to. New devices get these keys.
  - It is found by its O(id), else by its O(label), else by the O(key) itself.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  id:
    description:
      - The key's id. One that does not exist is an error, not a reason to create.
    type: str
  label:
    description:
      - A name for it. Needed to create it.
    type: str
    aliases:
      - name
  key:
    description:
      - The public key, as in a file ending in C(.pub). Needed to create it. A private key is refused and not sent.
      - The comment at its end means nothing in a comparison.
      - An owner has a key once. When it is there under another label, it gets this one.
    type: str
  tags:
    description:
      - All tags of the key. Order and repetition are ignored.
    type: list
    elements: str
  owner:
    description:
      - Whose keys are meant.
      - V(project) are the keys of the project O(project_id), which its devices get. V(user) are those of the user the token belongs to.
    type: str
    choices:
      - project
      - user
    default: project
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
notes:
  - Devices get the keys that are there when they are created. Changing or deleting one changes no device.
seealso:
  - module: equinix_metal.openshift.metal_ssh_key_info
"""

EXAMPLES = r"""
- name: A key for all new devices of the project
  equinix_metal.openshift.metal_ssh_key:
    label: alice
    key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH alice@example.com

- name: A key of one's own
  equinix_metal.openshift.metal_ssh_key:
    owner: user
    label: laptop
    key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH alice@example.com

- name: Take it away from the project
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
    id:
      description: The key's id.
      type: str
      sample: 6d3fd1c7-8a0b-4f5c-9f0e-0d9e0e4b8f35
    label:
      description: Its label.
      type: str
      sample: alice
    key:
      description: The public key.
      type: str
      sample: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM5MzoZcKJvkVN6o0PBCy8p1nQ5QmC5G0BYIJwFm8dH alice
    fingerprint:
      description: Its fingerprint, MD5 with colons.
      type: str
      sample: 21:4c:6b:a3:4e:1d:0c:57:22:05:6a:f3:fb:4e:0b:98
    tags:
      description: Tags, sorted.
      type: list
      elements: str
      sample: []
    created_at:
      description: When it was created, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
    updated_at:
      description: When it was last changed, UTC.
      type: str
      sample: "2026-11-21T07:10:00Z"
diff:
  description: The attributes that were given, as they were and as they are now. Secrets are shown by size and SHA-256.
  returned: always
  type: dict
  sample:
    before: {tags: [a]}
    after: {tags: [a, b]}
    before_header: SSH key alice of the project
    after_header: SSH key alice of the project
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
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.ssh_key import SSH_KEY_OPTIONS, SshKey


def main() -> None:
    with MetalModule(SSH_KEY_OPTIONS) as module:
        module.converge(lambda: SshKey(module.client, module.params))


if __name__ == "__main__":
    main()
