#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: state_archive
short_description: Pack a cluster folder into an encrypted archive, and restore it
version_added: 0.1.0
description:
  - Packs the files of a cluster folder that an interrupted install needs to continue into an archive, encrypted by Ansible Vault (AES256),
    and restores them from one. The role C(state_store) reads the archives from object storage or from a Secret, and writes them there.
  - The name of an archive has its generation, the digest of its files and a checksum. An archive is never changed; each change of the
    folder is a new generation.
  - The file C(state-store.json) in the folder has the name of the archive that its files were last saved in or restored from.
  - Downloaded programs, logs, reports and links are not in an archive. Once the bootstrap is complete, neither are C(bootstrap.ign), the
    state file of C(openshift-install) and the boot images.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  operation:
    description:
      - V(status) returns whether the folder was saved.
      - V(compare) returns which of O(archives) has to be restored into the folder, if any.
      - V(pack) writes an archive to the folder O(path), unless the newest of O(archives) has the same files. It fails if the newest one was
        saved by another run.
      - V(unpack) restores O(archive) from O(path). It fails before it writes anything if the archive is damaged, of another
        cluster or of another install, or if the folder has files of this install that were not saved.
      - V(record) records that the folder was saved as O(archive). It fails if O(archive) is not the newest of O(archives).
    type: str
    required: true
    choices: [status, compare, pack, unpack, record]
  directory:
    description:
      - The cluster folder.
    type: path
    required: true
  cluster:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  location:
    description:
      - Address of the store, for messages. What was saved at another location counts as not saved.
    type: str
    required: true
  password:
    description:
      - Password of the archive, for V(pack) and V(unpack).
    type: str
    default: ""
  archives:
    description:
      - Names of the archives in the store. Other names are ignored.
    type: list
    elements: str
    default: []
  archive:
    description:
      - Name of one archive, for V(unpack) and V(record).
    type: str
    default: ""
  path:
    description:
      - For V(pack) the folder to write the archive to, for V(unpack) its file.
    type: path
    default: ""
  most_bytes:
    description:
      - For V(pack), the largest size of an archive; V(0) is any.
    type: int
    default: 0
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.printing
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details:
      - The files have secrets.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Check whether the cluster folder was saved
  equinix_metal.openshift.state_archive:
    operation: status
    directory: clusters/demo.metal.test
    cluster: demo.metal.test
    location: s3://states/demo.metal.test
  register: state

- name: Write an archive of the cluster folder
  equinix_metal.openshift.state_archive:
    operation: pack
    directory: clusters/demo.metal.test
    cluster: demo.metal.test
    location: s3://states/demo.metal.test
    password: "{{ vaulted_password }}"
    path: /tmp/archives
  when: not state.saved
"""

RETURN = r"""
saved:
  description: Whether the files are those of the archive that is recorded in the folder.
  returned: with O(operation=status)
  type: bool
  sample: true
recorded:
  description: Name of that archive; empty if the folder was never saved here, or its restore was interrupted.
  returned: with O(operation=status)
  type: str
  sample: 00000003-1f0c7be2a90d4411-93ab0c5d22e1f7a0.vault
begun:
  description: Whether an install was begun in the folder. Before its Ignition files exist it has the id of the project.
  returned: with O(operation=status)
  type: bool
  sample: true
bootstrap_complete:
  description: Whether the bootstrap is complete.
  returned: with O(operation=status)
  type: bool
  sample: false
archive:
  description:
    - With V(compare) the archive to restore, with V(pack) the archive that was written; empty if there is nothing to do.
  returned: with O(operation=compare) and O(operation=pack)
  type: str
  sample: 00000003-1f0c7be2a90d4411-93ab0c5d22e1f7a0.vault
path:
  description: File of the archive that was written.
  returned: with O(operation=pack)
  type: str
  sample: /tmp/archives/00000003-1f0c7be2a90d4411-93ab0c5d22e1f7a0.vault
infra_id:
  description: The infraID of the install; empty before its Ignition files exist.
  returned: with O(operation=status) and O(operation=unpack)
  type: str
  sample: demo-x7k2p
generation:
  description: Generation of the restored archive.
  returned: with O(operation=unpack)
  type: int
  sample: 3
restored:
  description: Names of the files that were (in check mode, would be) written.
  returned: with O(operation=unpack)
  type: list
  elements: str
  sample: [ignition/auth/kubeconfig, ignition/metadata.json]
deleted:
  description: Names of the files that were (in check mode, would be) deleted, since the restored generation does not have them.
  returned: with O(operation=unpack)
  type: list
  elements: str
  sample: []
outdated:
  description: The archives before the last but one, which can be deleted.
  returned: with O(operation=record)
  type: list
  elements: str
  sample: []
"""
