"""Mirrors in what ``oc mirror`` writes; tests/images has its catalogues."""

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.manifests.images import manifest_images

MIRRORS = """
kind: List
items:
  - kind: ImageDigestMirrorSet
    spec: {imageDigestMirrors: [{source: registry.redhat.io/lvms4, mirrors: ["registry.example.com:5000/lvms4"]}]}
  - kind: ImageTagMirrorSet
    spec: {imageTagMirrors: [{source: registry.redhat.io/redhat, mirrors: ["registry.example.com:5000/redhat"]}]}
"""


def test_mirrors_by_digest_and_by_tag() -> None:
    found = manifest_images([{"content": MIRRORS}])
    assert found["sources"] == [{"source": "registry.redhat.io/lvms4", "mirrors": ["registry.example.com:5000/lvms4"]}]
    assert found["tag_sources"] == [{"source": "registry.redhat.io/redhat", "mirrors": ["registry.example.com:5000/redhat"]}]
