# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue images that manifests ask for, and the mirrors that manifests add: what ``oc mirror`` writes.

Kinds: CatalogSource (operators.coreos.com), ImageDigestMirrorSet and ImageTagMirrorSet (config.openshift.io).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mapping, mappings

_LISTS = frozenset({"List", "CatalogSourceList", "ImageDigestMirrorSetList", "ImageTagMirrorSetList"})


def manifest_images(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``catalogs``, ``images``, ``sources`` and ``tag_sources`` of manifests, as ``user_manifests`` returns them.

    ``catalogs``: names of all CatalogSources. ``images``: the image of each CatalogSource that has one, by ``catalogue <name>``.
    ``sources`` and ``tag_sources``: mirrors of images by digest and by tag, as ``imageDigestSources`` of an install-config.
    """
    try:
        documents = [document for manifest in manifests for document in yaml.safe_load_all(str(manifest["content"]))]
    except (KeyError, TypeError, yaml.YAMLError) as problem:
        raise CollectionError(f"Cannot read the manifests: {problem}") from problem
    objects = [item for document in documents for item in _objects(document)]
    catalogs = {_name(item): str(mapping(item.get("spec")).get("image") or "") for item in _of_kind(objects, "CatalogSource")}
    return {
        "catalogs": sorted(catalogs),
        "images": {f"catalogue {name}": image for name, image in catalogs.items() if image},
        "sources": [entry for item in _of_kind(objects, "ImageDigestMirrorSet") for entry in _mirrors(item, "imageDigestMirrors")],
        "tag_sources": [entry for item in _of_kind(objects, "ImageTagMirrorSet") for entry in _mirrors(item, "imageTagMirrors")],
    }


def _objects(document: Any) -> list[Mapping[str, Any]]:
    if not isinstance(document, Mapping):
        return []
    return mappings(document.get("items")) if document.get("kind") in _LISTS else [document]


def _of_kind(objects: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [item for item in objects if item.get("kind") == kind]


def _name(item: Mapping[str, Any]) -> str:
    return str(mapping(item.get("metadata")).get("name") or "")


def _mirrors(item: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = mappings(mapping(item.get("spec")).get(key))
    return [
        {"source": str(entry.get("source") or ""), "mirrors": [str(mirror) for mirror in entry.get("mirrors") or []]} for entry in entries
    ]
