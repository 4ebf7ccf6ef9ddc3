# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that registries serve the images of a release and of catalogues: for the module ``release_images_info`` and for preflight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from ..base.argspec import Options
from ..clients.registry import Connection, RegistryClient, RegistryError
from ..release.images import (
    Image,
    ImageError,
    Missing,
    commands,
    components,
    first_manifest,
    image,
    layers,
    login,
    logins,
    places,
    proxy_for,
    sentences,
    tagged_image,
)
from .base import ModuleFrame

RELEASE = "release image"
AT_ONCE = 8
"""Requests at a time: a mirror registry on one host serves these without a queue."""

SOURCE_OPTIONS = {
    "source": {"type": "str", "required": True},
    "mirrors": {"type": "list", "elements": "str", "default": []},
    "sourcePolicy": {"type": "str", "default": ""},
}

IMAGES_OPTIONS = Options(
    {
        "image": {"type": "str", "required": True},
        "sources": {"type": "list", "elements": "dict", "default": [], "options": SOURCE_OPTIONS},
        "additional_images": {"type": "dict", "default": {}},
        "additional_sources": {"type": "list", "elements": "dict", "default": [], "options": SOURCE_OPTIONS},
        "tag_sources": {"type": "list", "elements": "dict", "default": [], "options": SOURCE_OPTIONS},
        "pull_secret": {"type": "raw", "default": "", "no_log": True},
        "trust_bundle": {"type": "str", "default": ""},
        "proxy": {
            "type": "dict",
            "options": {
                "httpProxy": {"type": "str", "no_log": True},
                "httpsProxy": {"type": "str", "no_log": True},
                "noProxy": {"type": "str"},
            },
        },
        "components": {"type": "bool", "default": True},
        "timeout": {"type": "float", "default": 30},
        "retries": {"type": "int", "default": 3},
        "delay": {"type": "float", "default": 2},
    }
)


class Registries:
    """The registries that images are read from, by the settings of an install."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Raises CollectionError. ``settings``: pull_secret, trust_bundle, proxy, timeout, retries, delay."""
        self._settings = settings
        self._auths = logins(settings["pull_secret"])
        self._clients: dict[str, RegistryClient] = {}

    def client(self, registry: str) -> RegistryClient:
        """Return the client of a registry. Raises RegistryError."""
        if registry not in self._clients:
            connection = Connection(
                proxy=proxy_for(registry, self._settings["proxy"] or {}),
                trust_bundle=str(self._settings["trust_bundle"] or ""),
                timeout=float(self._settings["timeout"]),
                retries=int(self._settings["retries"]),
                delay=float(self._settings["delay"]),
            )
            self._clients[registry] = RegistryClient(registry, partial(login, self._auths, registry), connection)
        return self._clients[registry]

    def problem(self, place: Image) -> str:
        """Return why a place does not serve an image; empty if it does."""
        try:
            return "" if self.client(place.registry).has_manifest(place.repository, place.reference) else "manifest unknown"
        except RegistryError as problem:
            return problem.message

    def components(self, place: Image) -> dict[str, str]:
        """Return the images of a release image's components by name. Raises CollectionError."""
        client = self.client(place.registry)
        manifest = client.manifest(place.repository, place.digest)
        if inner := first_manifest(manifest):
            manifest = client.manifest(place.repository, inner)
        for digest in layers(manifest):
            if (parts := components(client.blob(place.repository, digest))) is not None:
                return parts
        raise ImageError(f"{place} is not a release image: it has no release-manifests/image-references")


def check(settings: Mapping[str, Any], *, with_components: bool) -> dict[str, Any]:
    """Return what is missing where: ``images`` (number of those that were asked for), ``missing``, ``messages`` and ``commands``.

    ``settings``: image, sources, those of ``missing_images``, and those of Registries. Raises CollectionError for settings that cannot be
    used.
    """
    registries, release = Registries(settings), image(str(settings["image"]))
    sources: Sequence[Mapping[str, Any]] = settings["sources"] or []
    additional = _additional(settings)
    missing = _missing(registries, {RELEASE: release}, sources)
    requested = {RELEASE: release}
    if with_components:
        lacking = {image.place for image in missing}
        having = [place for place in places(release, sources) if place.name not in lacking]
        if having:
            parts = {name: image(text) for name, text in registries.components(having[0]).items()}
            missing += _missing(registries, parts, sources)
            requested |= parts
    missing += _missing_additional(registries, settings, additional)
    return {
        "images": len(requested) + len(additional),
        "missing": [asdict(image) for image in missing],
        "messages": sentences(missing),
        "commands": commands(release, missing),
    }


def missing_images(settings: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each place and problem of ``additional_images``.

    ``settings``: additional_images, sources, additional_sources and tag_sources, and those of Registries. Raises CollectionError for
    settings that cannot be used.
    """
    return sentences(_missing_additional(Registries(settings), settings, _additional(settings)))


def _additional(settings: Mapping[str, Any]) -> dict[str, Image]:
    return {str(name): tagged_image(str(text)) for name, text in (settings.get("additional_images") or {}).items()}


def _missing_additional(registries: Registries, settings: Mapping[str, Any], additional: Mapping[str, Image]) -> list[Missing]:
    """Return which additional images are missing. Images by digest and by tag have mirrors of their own (containers-registries.conf(5))."""
    by_digest = [*(settings.get("sources") or []), *(settings.get("additional_sources") or [])]
    missing: list[Missing] = []
    for has_digest, sources in ((True, by_digest), (False, settings.get("tag_sources") or [])):
        requested = {name: image for name, image in additional.items() if bool(image.digest) == has_digest}
        missing += [replace(image, is_additional=True) for image in _missing(registries, requested, sources)]
    return missing


def _missing(registries: Registries, requested: Mapping[str, Image], sources: Sequence[Mapping[str, Any]]) -> list[Missing]:
    requests = [(name, image, place) for name, image in requested.items() for place in places(image, sources)]
    # Clients are created in this thread.
    usable: dict[str, str] = {}
    for _name, _image, place in requests:
        if place.registry not in usable:
            try:
                registries.client(place.registry)
                usable[place.registry] = ""
            except RegistryError as problem:
                usable[place.registry] = problem.message
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = pool.map(lambda entry: usable[entry[2].registry] or registries.problem(entry[2]), requests)
        return [
            Missing(name, str(image), place.name, problem)
            for (name, image, place), problem in zip(requests, problems, strict=True)
            if problem
        ]


def read_images(module: ModuleFrame) -> None:
    module.result.update(check(module.params, with_components=module.params["components"]))
