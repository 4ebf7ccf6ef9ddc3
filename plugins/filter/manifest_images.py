# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: manifest_images
short_description: Catalogue images and mirrors of manifests
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the images of the CatalogSources among manifests, and the mirrors of ImageDigestMirrorSets and ImageTagMirrorSets, as
    C(oc mirror) writes them.
positional: _input
options:
  _input:
    description:
      - Manifests, as the filter P(equinix_metal.openshift.manifests#filter) returns them.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the images of catalogues
  ansible.builtin.debug:
    msg: "{{ (['mirror/'] | equinix_metal.openshift.manifests | equinix_metal.openshift.manifest_images).images }}"
"""

RETURN = r"""
_value:
  description: What was found.
  type: dict
  contains:
    catalogs:
      description: Names of the CatalogSources.
      type: list
      elements: str
      sample: [cs-redhat-operator-index-v4-20]
    images:
      description: Images of the CatalogSources by C(catalogue NAME).
      type: dict
      sample: {catalogue cs-redhat-operator-index-v4-20: "registry.example.com:5000/redhat/redhat-operator-index:v4.20"}
    sources:
      description: Mirrors of images by digest, each with C(source) and C(mirrors).
      type: list
      elements: dict
      sample: []
    tag_sources:
      description: Mirrors of images by tag, each with C(source) and C(mirrors).
      type: list
      elements: dict
      sample: []
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.manifest_images import manifest_images as images_of


def manifest_images(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return catalogue images and mirrors. Raises AnsibleFilterError for a malformed input."""
    try:
        return images_of(document for each in manifests for document in yaml.safe_load_all(str(each["content"])))
    except (KeyError, TypeError, yaml.YAMLError) as problem:
        raise AnsibleFilterError(f"manifest_images: cannot read the manifests: {problem}") from problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"manifest_images": manifest_images}
