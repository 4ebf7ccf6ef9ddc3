#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: release_images_info
short_description: Check that registries serve the images of an OpenShift release and of catalogues
version_added: 0.1.0
description:
  - Asks each mirror of a release for the release image and for the images of all components that it lists, as the machines of a cluster
    ask for them. Without a mirror, the registry of the image itself is asked.
  - Nothing is downloaded but the manifest and the layer of the release image that has the list. What is downloaded is verified by digest.
  - An image that is missing is no error of the module, but reported.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  image:
    description:
      - The release image by digest, as C(openshift-install version) prints it.
    type: str
    required: true
  sources:
    description:
      - Mirrors, as C(imageDigestSources) of C(install-config.yaml). Every mirror of the longest C(source) that an image is part of is
        asked.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Repository or registry that is mirrored.
        type: str
        required: true
      mirrors:
        description: Repositories or registries that have the same images.
        type: list
        elements: str
        default: []
      sourcePolicy:
        description: Whether nodes ask the source after the mirrors. Of no effect here.
        type: str
        default: ""
  additional_images:
    description:
      - Further images by a name of your choice, each by tag or digest, such as the images of CatalogSources. They are not of the release.
    type: dict
    default: {}
  additional_sources:
    description:
      - Further mirrors of O(additional_images) by digest, as C(imageDigestMirrors) of an ImageDigestMirrorSet.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Repository or registry that is mirrored.
        type: str
        required: true
      mirrors:
        description: Repositories or registries that have the same images.
        type: list
        elements: str
        default: []
      sourcePolicy:
        description: Whether nodes ask the source after the mirrors. Of no effect here.
        type: str
        default: ""
  tag_sources:
    description:
      - Mirrors of O(additional_images) by tag, as C(imageTagMirrors) of an ImageTagMirrorSet.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Repository or registry that is mirrored.
        type: str
        required: true
      mirrors:
        description: Repositories or registries that have the same images.
        type: list
        elements: str
        default: []
      sourcePolicy:
        description: Whether nodes ask the source after the mirrors. Of no effect here.
        type: str
        default: ""
  pull_secret:
    description:
      - The pull secret, as JSON text or as a dictionary, with a login for each registry that needs one.
    type: raw
    default: ""
  trust_bundle:
    description:
      - CA certificates in PEM format that are trusted in addition to those of the system.
    type: str
    default: ""
  proxy:
    description:
      - Proxy of the nodes, as in install-config.yaml. Proxies of the environment are not used.
    type: dict
    suboptions:
      httpProxy:
        description: Proxy of requests over HTTP. Registries are not asked through it.
        type: str
      httpsProxy:
        description: Proxy of requests over HTTPS, such as those to registries.
        type: str
      noProxy:
        description: Domains, addresses and networks that are reached directly, with commas between them.
        type: str
  components:
    description:
      - Whether the images of the components are asked for, too. Otherwise only the release image is.
    type: bool
    default: true
  timeout:
    description:
      - Seconds without data after which a request has failed.
    type: float
    default: 30
  retries:
    description:
      - How often a request is tried again after 429, 5xx and lost connections.
    type: int
    default: 3
  delay:
    description:
      - Seconds between two tries of a request.
    type: float
    default: 2
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.info_module
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

- name: Check that a mirror registry serves a release image and a catalogue
  equinix_metal.openshift.release_images_info:
    image: quay.io/openshift-release-dev/ocp-release@sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    components: false
    additional_images:
      catalogue cs-redhat-operator-index-v4-20: registry.example.com:5000/redhat/redhat-operator-index:v4.20
    pull_secret: "{{ lookup('ansible.builtin.file', '~/pull-secret.json') }}"
"""

RETURN = r"""
images:
  description: Number of images that were asked for. 1 if the list of components could not be read.
  returned: success
  type: int
  sample: 190
missing:
  description: Images that a mirror does not serve.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: Name of the component, C(release image), or the name in O(additional_images).
      type: str
      sample: etcd
    image:
      description: The image that nodes ask for.
      type: str
      sample: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    place:
      description: The repository that was asked.
      type: str
      sample: registry.example.com:5000/openshift/release
    problem:
      description: What the registry answered.
      type: str
      sample: manifest unknown
    is_additional:
      description: Whether the image is one of O(additional_images).
      type: bool
      sample: false
messages:
  description: A sentence for each repository and problem.
  returned: success
  type: list
  elements: str
  sample: ["registry.example.com:5000/openshift/release does not serve etcd: manifest unknown"]
commands:
  description: Commands that mirror the missing images. Replace C(PULL_SECRET_FILE) by the file of the pull secret, and
    C(COMPONENTS_REPOSITORY) by the mirror of the components, which is not known without the release image.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.release_images import ImagesModule


def main() -> None:
    with ImagesModule() as module:
        module.read()


if __name__ == "__main__":
    main()
