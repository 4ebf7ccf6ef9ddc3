# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the mirrors of container images for the release image: one request to each."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.json_objects import mappings
from ...module_utils.frame import mirror as reading
from ...module_utils.frame import release_images
from ...module_utils.release.images import image, is_mirrored
from ..manifests.images import manifest_images
from ..manifests.user_manifests import user_manifests
from ..preflight.context import Context

_PULL_FROM = re.compile(r"^Pull From:\s+(\S+)$", re.MULTILINE)


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``release_image`` (image and messages, or msg) and ``catalogs`` (names and messages, or msg).

    The release image is that of ``release.txt`` on the mirror of the clients. It is absent if it has no mirror or is not known yet, and
    ``catalogs`` if the manifests of the user cannot be read. Neither is read for a cluster that is installed.
    """
    if settings.get("bootstrap_over"):
        return {}
    context = Context(settings, {})
    config = context.install_config
    if not config:
        return {}
    options = {
        "sources": mappings(config.get("imageDigestSources")),
        "pull_secret": config.get("pullSecret"),
        "trust_bundle": config.get("additionalTrustBundle"),
        "proxy": config.get("proxy"),
        "timeout": float(settings["timeout"]),
        "retries": 1,
        "delay": 1.0,
    }
    return {**_release_image(context, options), **_catalogs(settings.get("manifests") or [], options)}


def _release_image(context: Context, options: Mapping[str, Any]) -> dict[str, Any]:
    if context.settings.get("installer") or not context.settings.get("image_digest_sources"):
        return {}
    try:
        url = f"{replace(context.mirror, computer=platform.machine()).clients(context.text('version'))}/release.txt"
        match = _PULL_FROM.search(reading.get(url, options["timeout"]).decode("utf-8", "replace"))
        if match is None:
            return {"release_image": {"msg": f"{url} names no image"}}
        if not is_mirrored(image(match[1]).name, options["sources"]):
            return {}
        checked = release_images.check({**options, "image": match[1]}, with_components=False)
        return {"release_image": {"image": match[1], "messages": checked["messages"]}}
    except CollectionError as problem:
        return {"release_image": {"msg": problem.message}}


def _catalogs(paths: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        catalogs = manifest_images(user_manifests(paths))
    except CollectionError:
        # The check of the manifests reports this.
        return {}
    additional = {
        "additional_images": catalogs["images"],
        "additional_sources": catalogs["sources"],
        "tag_sources": catalogs["tag_sources"],
    }
    try:
        # A malformed pull secret is an error of other checks, unless a registry has to be asked.
        messages = release_images.missing_images({**options, **additional}) if catalogs["images"] else []
        return {"catalogs": {"names": catalogs["catalogs"], "messages": messages}}
    except CollectionError as problem:
        return {"catalogs": {"names": catalogs["catalogs"], "msg": problem.message}}
