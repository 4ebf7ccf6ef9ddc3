# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container images of a release: manifests, configs and layers, whose digests are those of their bytes.

A release image has ``release-manifests/image-references`` in its layer, an ImageStream with the digest of each component's image. Images
of a release for several architectures are manifest lists, of the same component images as those of the architectures' own releases.
Media types and layout are those of quay.io (Docker image manifest, version 2, schema 2).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

ARCHITECTURES: Final[Mapping[str, str]] = {"x86_64": "amd64", "aarch64": "arm64"}
"""RHCOS name -> Go name."""

MULTI: Final = "multi"
"""Architecture of a release for machines of all of them."""

MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
MANIFEST_LIST: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
_CONFIG: Final = "application/vnd.docker.container.image.v1+json"
_LAYER: Final = "application/vnd.docker.image.rootfs.diff.tar.gzip"

REFERENCES_PATH: Final = "release-manifests/image-references"
_METADATA_PATH: Final = "release-manifests/release-metadata"
_EPOCH: Final = 315532800  # 1980-01-01


@dataclass(frozen=True)
class Payload:
    """The images of a release. Manifests (and manifest lists) and blobs are keyed by ``sha256:<hex>``."""

    digest: str
    """Of the release image."""
    os_component: str
    """Name of the component that is the operating system of the nodes."""
    components: Mapping[str, str]
    """Digest of each component's image."""
    references: bytes
    """``image-references`` of the release image; that of the first architecture in a release for several."""
    release_manifests: Mapping[str, bytes]
    component_manifests: Mapping[str, bytes]
    blobs: Mapping[str, bytes]


@cache
def payload(version: str, architecture: str, created: str, *, okd: bool = False) -> Payload:
    """Return the images of a release. ``architecture``: RHCOS spelling, or ``multi``."""
    blobs: dict[str, bytes] = {}
    component_manifests: dict[str, bytes] = {}
    release_manifests: dict[str, bytes] = {}
    spelt = [ARCHITECTURES[architecture]] if architecture != MULTI else sorted(ARCHITECTURES.values())
    names = component_names(okd=okd)
    components: dict[str, str] = {}
    base = {go_arch: _layer(blobs, {"etc/os-release": f"VERSION={version}\n".encode()}) for go_arch in spelt}
    for name in names:
        labels = {"io.openshift.release": version, "io.k8s.display-name": name}
        own = {go_arch: _image(component_manifests, blobs, go_arch, created, labels, base[go_arch]) for go_arch in spelt}
        components[name] = own[spelt[0]] if architecture != MULTI else _list(component_manifests, own)
    references = _references(version, created, components, okd=okd)
    metadata: dict[str, Any] = {"kind": "cincinnati-metadata-v0", "version": version, "previous": []}
    if architecture == MULTI:
        metadata["metadata"] = {"release.openshift.io/architecture": MULTI}
    files = {REFERENCES_PATH: references, _METADATA_PATH: json.dumps(metadata, indent=2).encode()}
    labels = {"io.openshift.release": version, "io.openshift.release.base-image-digest": components["cluster-version-operator"]}
    layer = _layer(blobs, files)
    images = {go_arch: _image(release_manifests, blobs, go_arch, created, labels, layer) for go_arch in spelt}
    digest = images[spelt[0]] if architecture != MULTI else _list(release_manifests, images)
    return Payload(digest, os_component(okd=okd), components, references, release_manifests, component_manifests, blobs)


@cache
def catalog(minor: str) -> tuple[str, Mapping[str, bytes], Mapping[str, bytes]]:
    """Return digest, manifests and blobs of an operator catalogue (a file-based index) for a minor version such as 4.20."""
    blobs: dict[str, bytes] = {}
    manifests: dict[str, bytes] = {}
    layer = _layer(blobs, {"configs/catalog.json": json.dumps({"schema": "olm.package", "name": "lvms-operator"}).encode()})
    labels = {"operators.operatorframework.io.index.configs.v1": "/configs", "version": f"v{minor}"}
    images = {
        go_arch: _image(manifests, blobs, go_arch, "2026-01-01T00:00:00Z", labels, layer) for go_arch in sorted(ARCHITECTURES.values())
    }
    return _list(manifests, images), manifests, blobs


def component_names(*, okd: bool) -> list[str]:
    """Return the names of a release's components. OKD's operating system has another name."""
    names = resources.files(__package__ or "").joinpath("components.txt").read_text(encoding="utf-8").split()
    return [name.replace("rhel-coreos", "stream-coreos") for name in names] if okd else names


def os_component(*, okd: bool) -> str:
    """Return the name of the component that is the nodes' operating system."""
    return "stream-coreos" if okd else "rhel-coreos"


def release_repository(*, okd: bool) -> str:
    """Return where release images are published."""
    return "quay.io/okd/scos-release" if okd else "quay.io/openshift-release-dev/ocp-release"


def component_repository(*, okd: bool) -> str:
    """Return where the images of components are published."""
    return "quay.io/okd/scos-content" if okd else "quay.io/openshift-release-dev/ocp-v4.0-art-dev"


def sha256(content: bytes) -> str:
    """Return the digest of a manifest or a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _references(version: str, created: str, components: Mapping[str, str], *, okd: bool) -> bytes:
    """Return an ImageStream naming each component's image and source."""
    minor = ".".join(version.split(".")[:2])
    tags = [
        {
            "name": name,
            "annotations": {
                "io.openshift.build.commit.id": hashlib.sha256(f"commit {version} {name}".encode()).hexdigest()[:40],
                "io.openshift.build.commit.ref": f"release-{minor}",
                "io.openshift.build.source-location": f"https://github.com/openshift/{name}",
                "io.openshift.build.versions": "",
            },
            "from": {"kind": "DockerImage", "name": f"{component_repository(okd=okd)}@{digest}"},
            "generation": 2,
            "importPolicy": {"importMode": "Legacy"},
            "referencePolicy": {"type": "Source"},
        }
        for name, digest in components.items()
    ]
    stream = {
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": {
            "name": version,
            "creationTimestamp": created,
            "annotations": {"release.openshift.io/from-image-stream": f"ocp/{minor}-art-assembly-{version}"},
        },
        "spec": {"lookupPolicy": {"local": False}, "tags": tags},
        "status": {"dockerImageRepository": ""},
    }
    return json.dumps(stream, indent=2).encode()


def _image(  # noqa: PLR0913, PLR0917 - the parts of an image
    manifests: dict[str, bytes], blobs: dict[str, bytes], architecture: str, created: str, labels: Mapping[str, str], layer: tuple[str, str]
) -> str:
    """Add an image of one layer, and return its digest."""
    digest, diff_id = layer
    config = _json(
        {
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": {"Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
            "history": [{"created": created}],
        }
    )
    blobs[sha256(config)] = config
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": _CONFIG, "size": len(config), "digest": sha256(config)},
            "layers": [{"mediaType": _LAYER, "size": len(blobs[digest]), "digest": digest}],
        }
    )
    manifests[sha256(manifest)] = manifest
    return sha256(manifest)


def _list(manifests: dict[str, bytes], images: Mapping[str, str]) -> str:
    """Add the manifest list of one image for each architecture, and return its digest."""
    entries = [
        {"mediaType": MANIFEST, "size": len(manifests[digest]), "digest": digest, "platform": {"architecture": go_arch, "os": "linux"}}
        for go_arch, digest in images.items()
    ]
    content = _json({"schemaVersion": 2, "mediaType": MANIFEST_LIST, "manifests": entries})
    manifests[sha256(content)] = content
    return sha256(content)


def _layer(blobs: dict[str, bytes], files: Mapping[str, bytes]) -> tuple[str, str]:
    """Add a layer, and return its digest and that of its uncompressed content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), 0o644, _EPOCH
            archive.addfile(entry, io.BytesIO(content))
    packed = gzip.compress(buffer.getvalue(), mtime=0)
    blobs[sha256(packed)] = packed
    return sha256(packed), sha256(buffer.getvalue())


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
