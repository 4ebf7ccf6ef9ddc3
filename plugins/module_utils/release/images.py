# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container images of a release and of manifests, and where machines ask for them: mirrors, sources, proxy and logins.

Sources: containers-registries.conf(5) for mirrors, containers-auth.json(5) for logins, golang.org/x/net/http/httpproxy for the proxy.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import CollectionError

REFERENCES = "release-manifests/image-references"
"""File of a release image that lists the images of its components."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[a-z0-9._/-]+")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_PORT = re.compile(r":\d+$")


class ImageError(CollectionError):
    """A reference or a release image cannot be read."""


@dataclass(frozen=True)
class Image:
    """An image by digest or tag; the digest decides. ``registry`` is a host, with a port by choice."""

    registry: str
    repository: str
    digest: str = ""
    tag: str = ""

    @property
    def name(self) -> str:
        """Return the image without its digest and tag."""
        return f"{self.registry}/{self.repository}"

    @property
    def reference(self) -> str:
        """Return what a registry is asked for: the digest, or the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        return f"{self.name}{'@' if self.digest else ':'}{self.reference}"


@dataclass(frozen=True)
class Missing:
    """An image that a place does not serve. ``image``: what the cluster asks for; ``place``: the repository that was asked.

    ``is_additional``: it is not of the release.
    """

    component: str
    image: str
    place: str
    problem: str
    is_additional: bool = False


def image(text: str) -> Image:
    """Return the image of a reference such as ``quay.io/a/b@sha256:...``. Raises ImageError."""
    name, _at, digest = text.partition("@")
    registry, slash, repository = name.partition("/")
    if not slash or not repository or not _DIGEST.fullmatch(digest):
        raise ImageError(f"Cannot read the image {text!r}: expected registry/repository@sha256 and 64 hexadecimal digits")
    return Image(registry, repository, digest)


def tagged_image(text: str) -> Image:
    """Return the image of a reference with a digest or a tag; without both it has the tag ``latest``. Raises ImageError."""
    if "@" in text:
        name, _at, digest = text.partition("@")
        head, _colon, tag = name.rpartition(":")
        # A tag before the digest is a comment.
        return image(f"{head if head and '/' not in tag else name}@{digest}")
    head, colon, tag = text.rpartition(":")
    name, tag = (head, tag) if colon and "/" not in tag else (text, "latest")
    registry, slash, repository = name.partition("/")
    is_host = "." in registry or ":" in registry or registry == "localhost"
    if not slash or not is_host or not _REPOSITORY.fullmatch(repository) or not _TAG.fullmatch(tag):
        raise ImageError(f"Cannot read the image {text!r}: expected registry/repository:tag or registry/repository@sha256:...")
    return Image(registry, repository, tag=tag)


def places(requested: Image, sources: Iterable[Mapping[str, Any]]) -> list[Image]:
    """Return where machines ask for an image: at all mirrors of the longest source that it is part of; without one, at its own registry.

    ``sources``: entries with ``source`` and ``mirrors``, as ``imageDigestSources`` of an install-config.
    """
    places_of: dict[str, list[str]] = {}
    for entry in sources:
        places_of.setdefault(str(entry.get("source") or ""), []).extend(str(mirror) for mirror in entry.get("mirrors") or [])
    matching = [
        source
        for source in places_of
        if source and places_of[source] and (requested.name == source or requested.name.startswith(f"{source}/"))
    ]
    if not matching:
        return [requested]
    source = max(matching, key=len)
    names = [f"{mirror}{requested.name.removeprefix(source)}" for mirror in dict.fromkeys(places_of[source])]
    return [tagged_image(f"{name}{'@' if requested.digest else ':'}{requested.reference}") for name in names]


def is_mirrored(name: str, sources: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        source.get("mirrors") and (name == str(source.get("source")) or name.startswith(f"{source.get('source')}/")) for source in sources
    )


def login(auths: Mapping[str, Any], registry: str, repository: str) -> str:
    """Return ``auth`` of a pull secret's entry for a repository: that of the longest path; empty without one."""
    parts = [registry, *repository.split("/")]
    for length in range(len(parts), 0, -1):
        entry = auths.get("/".join(parts[:length]))
        if isinstance(entry, Mapping) and entry.get("auth"):
            return str(entry["auth"])
    return ""


def logins(pull_secret: Any) -> dict[str, Any]:
    """Return ``auths`` of a pull secret, which is JSON text or a dictionary; none for an empty one. Raises ImageError for anything else."""
    if not pull_secret or (isinstance(pull_secret, str) and not pull_secret.strip()):
        return {}
    try:
        auths = (json.loads(pull_secret) if isinstance(pull_secret, str) else pull_secret)["auths"]
    except (ValueError, LookupError, TypeError):
        auths = None
    if not isinstance(auths, dict):
        raise ImageError("Cannot read pull_secret: expected a JSON object with auths")
    return auths


def proxy_for(registry: str, proxy: Mapping[str, Any]) -> str:
    """Return the proxy of HTTPS requests to a registry, empty for a direct connection. ``proxy``: httpProxy, httpsProxy, noProxy."""
    chosen = str(proxy.get("httpsProxy") or "")
    return chosen if chosen and uses_proxy(registry, str(proxy.get("noProxy") or "")) else ""


def uses_proxy(place: str, no_proxy: str) -> bool:
    """Return whether the services of nodes reach a host (with a port or without) through the proxy: not loopback, and no exception."""
    host, _unused, port = place.rpartition(":") if _PORT.search(place) else (place, "", "")
    host, port, address = host.strip("[]").lower(), port or "443", _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    return not any(_excepts(entry.strip().lower(), host, port, address) for entry in no_proxy.split(","))


def _excepts(entry: str, host: str, port: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    if entry in {"", "*"}:
        return entry == "*"
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _unused, requested = entry.rpartition(":") if _PORT.search(entry) and _address(entry) is None else (entry, "", "")
    if requested and requested != port:
        return False
    if address is not None:
        return address == _address(name)
    name = name.removeprefix("*")
    # A domain with a dot in front means only the names below it.
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def first_manifest(content: bytes) -> str:
    """Return the digest of the first image of a manifest list; empty for the manifest of one image. Raises ImageError."""
    manifest = _document(content)
    entries = manifest.get("manifests")
    if entries is None:
        return ""
    try:
        return str(entries[0]["digest"])
    except (LookupError, TypeError) as problem:
        raise ImageError("The manifest list of the release image is empty") from problem


def layers(content: bytes) -> list[str]:
    """Return the digests of the layers of an image, the last one first: it has the manifests of a release. Raises ImageError."""
    try:
        return [str(layer["digest"]) for layer in reversed(_document(content)["layers"])]
    except (LookupError, TypeError) as problem:
        raise ImageError("The manifest of the release image has no layers") from problem


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ImageError("The manifest of the release image is not a JSON object")
    return document


def components(layer: bytes) -> dict[str, str] | None:
    """Return the images of the components by name; None for a layer without them. Raises ImageError for one that cannot be read."""
    try:
        with tarfile.open(fileobj=io.BytesIO(layer), mode="r:*") as archive:
            member = archive.extractfile(REFERENCES) if REFERENCES in archive.getnames() else None
            if member is None:
                return None
            tags = json.load(member)["spec"]["tags"]
            return {str(tag["name"]): str(tag["from"]["name"]) for tag in tags}
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, LookupError, TypeError) as problem:
        raise ImageError(f"Cannot read {REFERENCES} of the release image: {problem}") from problem


def sentences(missing: Sequence[Missing]) -> list[str]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for image in missing:
        grouped.setdefault((image.place, image.problem), []).append(image.component)
    return [f"{place} does not serve {_listed(names)}: {problem}" for (place, problem), names in grouped.items()]


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more images" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def commands(release: Image, missing: Sequence[Missing]) -> list[str]:
    """Return commands that mirror what is missing: the release when its release image or many images are missing, else each image."""
    lacking = [(image, tagged_image(image.image)) for image in missing]
    lacking = [(image, requested) for image, requested in lacking if image.place != requested.name]
    released = [(image, requested) for image, requested in lacking if not image.is_additional]
    lines = []
    if any(requested.digest == release.digest for _image, requested in released) or len(released) > _MOST_COPIED:
        to_release = next((image.place for image, requested in released if requested.digest == release.digest), "")
        # Without the release image the components, and so their mirror, are not known.
        to = next((image.place for image, requested in released if requested.digest != release.digest), "COMPONENTS_REPOSITORY")
        option = f" --to-release-image={to_release}:{release.digest.removeprefix('sha256:')[:12]}" if to_release else ""
        lines.append(f"oc adm release mirror --from={release} --to={to}{option} -a PULL_SECRET_FILE")
        lacking = [(image, requested) for image, requested in lacking if image.is_additional]
    for image, requested in lacking:
        to = image.place if requested.digest else f"{image.place}:{requested.tag}"
        lines.append(f"oc image mirror --keep-manifest-list=true -a PULL_SECRET_FILE {image.image} {to}")
    return lines


_MOST_COPIED = 10
