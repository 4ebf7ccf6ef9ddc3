#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: release_images_info
short_description: Check that registries serve the images of an OpenShift release and of catalogues
version_added: 0.1.0
description:
  - Requests from each mirror the release image and the images of all its components, as the machines of a cluster do. Without a mirror, the
    registry of the image is used.
  - List only the manifest and the layer of the release image with the list of components are downloaded, and verified by digest.
  - A missing image is returned in RV(missing), and is no error.
options:
  image:
    description: The release image by digest, as C(openshift-install version) prints it.
    type: str
    required: true
  sources:
    description: Mirrors, in the format of C(imageDigestSources) of C(install-config.yaml). For each image, every mirror of the longest
      matching C(source) is checked.
    type: list
    elements: dict
    default: []
    suboptions: &source
      source:
        description: Repository or registry that is mirrored.
        type: str
        required: true
      mirrors:
        description: Repositories or registries with the same images.
        type: list
        elements: str
        default: []
      sourcePolicy:
        description: Whether nodes use the source after the mirrors. Ignored here.
        type: str
        default: ""
  additional_images:
    description: Further images by any name, each by tag or digest, such as the images of CatalogSources.
    type: dict
    default: {}
  additional_sources:
    description: Further mirrors of O(additional_images) by digest, in the format of C(imageDigestMirrors) of an ImageDigestMirrorSet.
    type: list
    elements: dict
    default: []
    suboptions: *source
  tag_sources:
    description: Mirrors of O(additional_images) by tag, in the format of C(imageTagMirrors) of an ImageTagMirrorSet.
    type: list
    elements: dict
    default: []
    suboptions: *source
  pull_secret:
    description: The pull secret, as JSON text or as a dictionary, with the credentials for each registry.
    type: raw
    default: ""
  trust_bundle:
    description: CA certificates (PEM) to trust in addition to those of the system.
    type: str
    default: ""
  proxy:
    description: Proxy of the nodes, in the format of C(install-config.yaml). Proxies of the environment are ignored.
    type: dict
    suboptions:
      httpProxy:
        description: Proxy for HTTP requests. Not used for registries.
        type: str
      httpsProxy:
        description: Proxy for HTTPS requests, such as those to registries.
        type: str
      noProxy:
        description: Comma-separated domains, addresses and networks to connect to without the proxy.
        type: str
  components:
    description: Check the images of the components, too. Otherwise only the release image is checked.
    type: bool
    default: true
  timeout:
    description: Seconds without data until a request fails.
    type: float
    default: 30
  retries:
    description: Maximum number of retries of a request after status 429, 5xx and lost connections.
    type: int
    default: 3
  delay:
    description: Seconds between two attempts.
    type: float
    default: 2
extends_documentation_fragment: [equinix_metal.openshift._attributes.info_module]
"""

EXAMPLES = r"""
- name: Check that a mirror registry serves a release
  equinix_metal.openshift.release_images_info:
    image: quay.io/openshift-release-dev/ocp-release@sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    sources:
      - source: quay.io/openshift-release-dev/ocp-release
        mirrors: [registry.example.com:5000/openshift/release-images]
      - source: quay.io/openshift-release-dev/ocp-v4.0-art-dev
        mirrors: [registry.example.com:5000/openshift/release]
    pull_secret: "{{ lookup('ansible.builtin.file', '~/pull-secret.json') }}"
    trust_bundle: "{{ lookup('ansible.builtin.file', '~/registry-ca.pem') }}"
  register: images
  failed_when: images.missing | length > 0
"""

RETURN = r"""
images:
  description: Number of checked images. 1 if the list of components could not be read.
  returned: success
  type: int
  sample: 190
missing:
  description: Images that a mirror does not serve.
  returned: success
  type: list
  elements: dict
  contains:
    component: {description: "Name of the component, C(release image), or the name in O(additional_images).", type: str, sample: etcd}
    image:
      description: The image that nodes request.
      type: str
      sample: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    place: {description: The repository that was checked., type: str, sample: registry.example.com:5000/openshift/release}
    problem: {description: Response of the registry., type: str, sample: manifest unknown}
    is_additional: {description: Whether the image is one of O(additional_images)., type: bool, sample: false}
messages:
  description: A sentence for each repository and problem.
  returned: success
  type: list
  elements: str
  sample: ["registry.example.com:5000/openshift/release does not serve etcd: manifest unknown"]
commands:
  description: Commands that mirror the missing images. Replace C(PULL_SECRET_FILE) with the file of the pull secret, and
    C(COMPONENTS_REPOSITORY) with the mirror of the components, which is not known without the release image.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ..module_utils.frame.base import ModuleFrame
from ..module_utils.frame.release_images import IMAGES_OPTIONS, read_images


def main() -> None:
    with ModuleFrame(IMAGES_OPTIONS) as module:
        read_images(module)


if __name__ == "__main__":
    main()
