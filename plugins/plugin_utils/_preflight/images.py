# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the mirrors of container images for the release image: one request to each.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.json_objects import mappings
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame import mirror as reading
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame import release_images
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.install_config.rendering import InstallConfigError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release_images import image, is_mirrored
from ansible_collections.equinix_metal.openshift.plugins.module_utils.preflight.context import Context

_PULL_FROM = re.compile(r"^Pull From:\s+(\S+)$", re.MULTILINE)


def collect(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``release_image`` (image and messages, or msg), or nothing if the release has no mirror or its image is not known yet.

    The release image is that of ``release.txt`` on the mirror of the clients.
    """
    if settings.get("bootstrap_over") or settings.get("installer") or not settings.get("image_digest_sources"):
        return {}
    context = Context(settings, {})
    timeout = float(settings["timeout"])
    try:
        config = context.rendered_install_config()
        url = f"{replace(context.mirror, computer=platform.machine()).clients(context.text('version'))}/release.txt"
        found = _PULL_FROM.search(reading.get(url, timeout).decode("utf-8", "replace"))
        if found is None:
            return {"release_image": {"msg": f"{url} names no image"}}
        sources = mappings(config.get("imageDigestSources"))
        if not is_mirrored(image(found[1]).name, sources):
            return {}
        asked = {
            "image": found[1],
            "sources": sources,
            "pull_secret": config.get("pullSecret"),
            "trust_bundle": config.get("additionalTrustBundle"),
            "proxy": config.get("proxy"),
            "timeout": timeout,
            "retries": 1,
            "delay": 1.0,
        }
        return {"release_image": {"image": found[1], "messages": release_images.check(asked, with_components=False)["messages"]}}
    except InstallConfigError:
        return {}
    except CollectionError as problem:
        return {"release_image": {"msg": problem.message}}
