# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue images and mirrors in what ``oc mirror`` writes."""

from __future__ import annotations

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.images import manifest_images

CATALOGS = """
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: cs-redhat-operator-index-v4-20, namespace: openshift-marketplace}
spec: {image: "registry.example.com:5000/redhat/redhat-operator-index:v4.20", sourceType: grpc}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: served-by-address, namespace: openshift-marketplace}
spec: {address: "catalog.example.com:50051", sourceType: grpc}
---
"""
MIRRORS = """
apiVersion: v1
kind: List
items:
  - apiVersion: config.openshift.io/v1
    kind: ImageDigestMirrorSet
    metadata: {name: idms-operator-0}
    spec:
      imageDigestMirrors:
        - {source: registry.redhat.io/lvms4, mirrors: [registry.example.com:5000/lvms4]}
  - apiVersion: config.openshift.io/v1
    kind: ImageTagMirrorSet
    metadata: {name: itms-generic-0}
    spec:
      imageTagMirrors:
        - {source: registry.redhat.io/redhat, mirrors: [registry.example.com:5000/redhat]}
"""


def test_catalogues_and_mirrors() -> None:
    assert manifest_images([{"content": CATALOGS}, {"content": MIRRORS}]) == {
        "catalogs": ["cs-redhat-operator-index-v4-20", "served-by-address"],
        "images": {"catalogue cs-redhat-operator-index-v4-20": "registry.example.com:5000/redhat/redhat-operator-index:v4.20"},
        "sources": [{"source": "registry.redhat.io/lvms4", "mirrors": ["registry.example.com:5000/lvms4"]}],
        "tag_sources": [{"source": "registry.redhat.io/redhat", "mirrors": ["registry.example.com:5000/redhat"]}],
    }


@pytest.mark.parametrize(
    "text", ["", "kind: MachineConfig", "kind: CatalogSource\nspec:\nmetadata: {name: a}", "[a]", "kind: List\nitems: a"]
)
def test_other_manifests_ask_for_nothing(text: str) -> None:
    found = manifest_images([{"content": text}])
    assert (found["images"], found["sources"], found["tag_sources"]) == ({}, [], [])


def test_what_is_not_yaml_is_refused() -> None:
    with pytest.raises(CollectionError, match="Cannot read the manifests"):
        manifest_images([{"content": "a: ["}])
