# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the files that devices boot from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from ..boot import files as boot_files

__all__ = ["bootstrap_pointer", "contents", "files", "live_images", "server_port", "unsigned"]

Object = Mapping[str, Any]

bootstrap_pointer = boot_files.bootstrap_pointer
live_images = boot_files.boot_images


FIRST_PORT = 20000
PORTS = 10000
"""The range of the ports of the server of the boot files, two for each cluster."""


def server_port(names: Sequence[Any], *, https: bool = False) -> int:
    """Return the default port of the server of the boot files: the same from every controller, and another one for each cluster.

    ``names``: name and domain of the cluster, and the ID of its project.
    """
    digest = hashlib.sha256(".".join(map(str, names)).encode()).hexdigest()
    return FIRST_PORT + int(digest, 16) % (PORTS // 2) * 2 + https


class Files(TypedDict):
    profiles: list[dict[str, Any]]
    """Boot profiles, which machines with the same architecture, install disk and consoles share."""
    machines: list[Object]
    """Machines that boot. On the Ignition platform metal each has a boot script and a live config of its own."""
    names: list[str]
    urls: dict[str, str]
    """Address of each file; in object storage of those that are signed."""


def files(nodes: Sequence[Object], bootstrap: Sequence[Object], defaults: Object, settings: Object) -> Files:
    """Return which files are published and at which address.

    ``defaults``: attributes of machines that do not set them. ``settings``: ``ignition_platform``; ``bootstrap_complete``, without which
    ``bootstrap.ign`` is published; ``url``, and ``bootstrap_url`` of that file; ``stored``, whether they are in object storage, and
    ``signed``, the signed addresses there by name.
    """
    complete = settings["bootstrap_complete"]
    profiles = boot_files.boot_profiles([*bootstrap, *nodes], defaults)
    machines = [*(() if complete else bootstrap), *nodes]
    of_profiles = [str(profile["boot_profile"]) for profile in profiles]
    booted = [str(machine["hostname"]) for machine in machines] if settings["ignition_platform"] == boot_files.METAL else of_profiles
    names = [f"{name}-live.ign" for name in dict.fromkeys([*of_profiles, *booted])] + [f"{name}.ipxe" for name in booted]
    names += [] if complete else [boot_files.BOOTSTRAP_IGN]
    signed = settings["signed"] if settings["stored"] else None
    published = names if signed is None else [name for name in names if name in signed]
    urls = boot_files.boot_urls(published, settings["url"], settings["bootstrap_url"], signed)
    return {"profiles": profiles, "machines": machines, "names": names, "urls": urls}


def unsigned(published: Files, signed: Mapping[str, Object], signing: str, validity: int) -> list[str]:
    """Return the names of files without a signed address that a device which is ordered now can use.

    ``signing``: hash of what a signed address depends on. ``validity``: seconds that an address has to remain valid, until such a device
    has fetched its file.
    """
    end = datetime.now(UTC).timestamp() + int(validity)
    valid = {name for name, address in signed.items() if address.get("signing") == signing and address["ends"] >= end}
    return [name for name in published["names"] if name not in valid]


def contents(
    published: Files,
    stream: Object,
    programs: Sequence[Mapping[str, str]],
    settings: Object,
    pointers: Mapping[str, str | Mapping[str, Any]] | None = None,
) -> dict[str, str]:
    """Return the content of each boot script and live config by file name, see ``boot_files.boot_contents``."""
    return boot_files.boot_contents(published["profiles"], stream, published["urls"], programs, settings, published["machines"], pointers)
