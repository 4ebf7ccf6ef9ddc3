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
    """Return ``catalogs``, ``images``, ``sources`` and ``tag_sources`` of manifests, as the filter ``manifests`` returns them.

    ``catalogs``: names of all CatalogSources. ``images``: the image of each CatalogSource that has one, by ``catalogue <name>``.
    ``sources`` and ``tag_sources``: mirrors of images by digest and by tag, as ``imageDigestSources`` of an install-config.
    """
    try:
        documents = [document for each in manifests for document in yaml.safe_load_all(str(each["content"]))]
    except (KeyError, TypeError, yaml.YAMLError) as problem:
        raise CollectionError(f"Cannot read the manifests: {problem}") from problem
    objects = [each for document in documents for each in _objects(document)]
    catalogs = {_name(each): str(mapping(each.get("spec")).get("image") or "") for each in _of_kind(objects, "CatalogSource")}
    return {
        "catalogs": sorted(catalogs),
        "images": {f"catalogue {name}": image for name, image in catalogs.items() if image},
        "sources": [entry for each in _of_kind(objects, "ImageDigestMirrorSet") for entry in _mirrors(each, "imageDigestMirrors")],
        "tag_sources": [entry for each in _of_kind(objects, "ImageTagMirrorSet") for entry in _mirrors(each, "imageTagMirrors")],
    }


def _objects(document: Any) -> list[Mapping[str, Any]]:
    if not isinstance(document, Mapping):
        return []
    return mappings(document.get("items")) if document.get("kind") in _LISTS else [document]


def _of_kind(objects: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [each for each in objects if each.get("kind") == kind]


def _name(item: Mapping[str, Any]) -> str:
    return str(mapping(item.get("metadata")).get("name") or "")


def _mirrors(item: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = mappings(mapping(item.get("spec")).get(key))
    return [{"source": str(each.get("source") or ""), "mirrors": [str(mirror) for mirror in each.get("mirrors") or []]} for each in entries]
