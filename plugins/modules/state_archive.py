#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: state_archive
short_description: Pack a cluster folder into an encrypted archive, and restore it
version_added: 0.1.0
description:
  - Note that this module is private to the role C(state_store). Its options and results may change without notice.
  - Packs the files that an interrupted installation requires to continue into an archive, which Ansible Vault encrypts (AES256), and
    restores them. The role C(state_store) stores the archives in object storage or in a Secret.
  - The name of an archive contains its generation, the digest of its files and a checksum. An archive is never changed; each change of the
    folder is a new generation.
  - The file C(state-store.json) in the folder records the archive in which its files were last saved, or from which they were restored.
  - Downloaded programs, logs, reports and links are not archived. After bootstrap is complete, C(bootstrap.ign), the state file of
    C(openshift-install) and the boot images are not archived either.
options:
  operation:
    description:
      - V(status) returns whether the folder is saved.
      - V(compare) returns which of O(archives) has to be restored, if any.
      - V(pack) writes an archive to the folder O(path), unless the newest of O(archives) has the same files. It fails if another run saved
        the newest one.
      - V(unpack) restores O(archive) from O(path). It fails before it writes anything if the archive is damaged, belongs to another cluster
        or installation, or if the folder has unsaved files of this installation.
      - V(record) records that the folder was saved as O(archive). It fails if O(archive) is not the newest of O(archives).
    type: str
    required: true
    choices: [status, compare, pack, unpack, record]
  directory:
    description: The cluster folder.
    type: path
    required: true
  cluster:
    description: The cluster, C(<name>.<base domain>).
    type: str
    required: true
  location:
    description: Address of the store, for messages. A folder that was saved at another location counts as not saved.
    type: str
    required: true
  password:
    description: Password of the archive, for V(pack) and V(unpack).
    type: str
    default: ""
  archives:
    description: Names of the archives in the store. Other names are ignored.
    type: list
    elements: str
    default: []
  archive:
    description: Name of one archive, for V(unpack) and V(record).
    type: str
    default: ""
  path:
    description: For V(pack) the folder to write the archive to, for V(unpack) its file.
    type: path
    default: ""
  most_bytes:
    description: For V(pack), maximum size of an archive in bytes. V(0) disables the limit.
    type: int
    default: 0
extends_documentation_fragment: [equinix_metal.openshift._attributes.changing, equinix_metal.openshift._attributes.printing]
attributes:
  diff_mode:
    support: none
    details: The files contain secrets.
"""

EXAMPLES = r"""
- name: Check whether the cluster folder was saved
  equinix_metal.openshift.state_archive:
    operation: status
    directory: clusters/demo.metal.test
    cluster: demo.metal.test
    location: s3://states/demo.metal.test
"""
