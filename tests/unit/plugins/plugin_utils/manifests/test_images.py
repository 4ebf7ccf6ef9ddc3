# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogue images and mirrors in what ``oc mirror`` writes."""

from __future__ import annotations

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
