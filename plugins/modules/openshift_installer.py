#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: openshift_installer
short_description: Download and verify openshift-install
version_added: 0.1.0
description:
  - Resolves O(version) to a release, downloads C(openshift-install) of that release from a mirror, verifies its checksum and, with
    O(keyring), the signature of the checksums, and unpacks it.
  - An existing installer is not downloaded again. The module runs it to check its version, payload and architecture.
  - The release of a channel is read once and kept with the digest of its payload in C(release.json) below O(directory). The installer has
    to contain this payload.
  - Files are renamed to their final names after verification. The next download deletes temporary folders of interrupted runs. Only one
    task at a time may download to a folder.
requirements:
  - gpgv, with O(keyring)
options:
  state:
    description:
      - V(present) ensures that the installer exists.
      - V(pinned) only resolves the release, and keeps it if O(version) is a channel.
    type: str
    choices: [present, pinned]
    default: present
  directory:
    description: Folder of the files. The installer is C(bin/<release>-<architecture>/openshift-install) below it.
    type: path
    required: true
  cache:
    description:
      - Folder that stores installers of all clusters by the checksums of their archives. Checksums and signature are still read from the
        mirror.
      - If empty, the installer is downloaded to O(directory).
    type: path
    default: ""
  version:
    description:
      - A release such as V(4.20.33), or a channel such as V(stable-4.20). It may be empty with O(path).
      - Channels are C(stable), C(latest), C(fast) and C(candidate), each also with a minor version. OKD has no channels.
      - The release of a channel is not signed. A release of another minor version is refused, and in C(stable) and C(fast) a pre-release.
    type: str
    default: ""
  path:
    description: Path of an existing C(openshift-install), instead of a download. It has to be of the release O(version), unless that is
      empty or a channel.
    type: path
    default: ""
  distribution:
    description: V(ocp) is OpenShift of Red Hat, V(okd) the community distribution.
    type: str
    choices: [ocp, okd]
    default: ocp
  architecture:
    description:
      - Architecture of the release. A V(multi) release can be installed on machines of both architectures.
      - The archive for the architecture of the host that runs the module is downloaded.
    type: str
    choices: [x86_64, aarch64, multi]
    default: x86_64
  mirror_url:
    description:
      - URL of the mirror, up to C(/pub/openshift-v4). With O(distribution=okd), the URL that contains a folder for each release.
      - By default the public mirror of the distribution. Proxies are read from the environment.
    type: str
    default: ""
  keyring:
    description:
      - OpenPGP keyring for C(gpgv) with the key that signs the releases, a path or armored text. With a keyring, the module refuses a
        mirror without the signature, an expired signature, one over SHA-1 or MD5, and one by an expired or revoked key.
      - If empty, the signature is not verified.
    type: str
    default: ""
  retries:
    description: Maximum number of retries of a download. A missing file and a wrong checksum are not retried.
    type: int
    default: 3
  delay:
    description: Seconds between two attempts.
    type: float
    default: 5
  timeout:
    description: Seconds without data until a download fails.
    type: float
    default: 60
extends_documentation_fragment: [equinix_metal.openshift._attributes.changing]
"""

EXAMPLES = r"""
- name: Download openshift-install of a release
  equinix_metal.openshift.openshift_installer:
    version: 4.20.33
    directory: ~/clusters/demo.metal.example.com
    keyring: /etc/pki/rpm-gpg/RPM-GPG-KEY-redhat-release.gpg
"""

RETURN = r"""
version:
  description: The release.
  returned: success
  type: str
  sample: 4.20.33
digest:
  description: Digest of the payload in the channel. Empty if O(version) is a release or O(path) is set.
  returned: success
  type: str
  sample: sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
path:
  description: Path of the installer. In check mode the predicted one.
  returned: success
  type: str
  sample: /home/core/clusters/demo.metal.example.com/bin/4.20.33-x86_64/openshift-install
url:
  description: URL of the folder of the mirror with the installer. Empty if O(path) is set.
  returned: success
  type: str
  sample: https://mirror.openshift.com/pub/openshift-v4/x86_64/clients/ocp/4.20.33
release_architecture:
  description: Architecture of the release as the installer reports it. V(unknown) if C(OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE) names
    another release.
  returned: when the installer was run
  type: str
  sample: amd64
machine_architectures:
  description: Architectures of the machines that the release can be installed on. All of them if its architecture is not known.
  returned: when the installer was run
  type: list
  elements: str
  sample: [x86_64]
verified:
  description: Verification of the download.
  returned: when the installer is downloaded, in check mode also when it would be
  type: dict
  contains:
    signature: {description: Whether the checksums are signed by a key of O(keyring)., type: bool, sample: true}
    details:
      description: Key and time of the signature, or why it was not verified.
      type: str
      sample: good, by key 0123456789ABCDEF0123456789ABCDEF01234567 on 2026-11-01
    archive: {description: URL of the downloaded archive., type: str, sample: openshift-install-linux-4.20.33.tar.gz}
    sha256:
      description: Checksum of the archive. In check mode the expected one.
      type: str
      sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"""

from ..module_utils.frame.base import ModuleFrame
from ..module_utils.frame.installer import INSTALLER_OPTIONS, ensure_installer


def main() -> None:
    with ModuleFrame(INSTALLER_OPTIONS) as module:
        ensure_installer(module)


if __name__ == "__main__":
    main()
