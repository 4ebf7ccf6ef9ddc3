# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sandbox's mirror has: OpenShift and OKD releases, CoreOS builds and their artefacts, all made from names alone.

Everything here is a pure function of a version, an architecture and the mirror's URL, so that the mirror and the
installer it serves agree without talking, and a restarted sandbox offers the same bytes (and checksums) again.

Two spellings of an architecture are in use, as with the real thing: ``x86_64``/``aarch64`` in URLs and stream data,
``amd64``/``arm64`` in install-config.yaml and release payloads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from . import images

ARCHITECTURES: Final = images.ARCHITECTURES
MULTI: Final = images.MULTI

MIRROR_PATH: Final = "/pub/openshift-v4"


@dataclass(frozen=True)
class Build:
    """One CoreOS build: all boot artefacts of one boot have to come from one of these."""

    stream: str
    build: str
    released: str
    """RFC 3339."""
    separator: str = "."
    """Between artefact and architecture in file names: a dash up to OpenShift 4.18, a dot since 4.19."""
    system: str = "rhcos"
    """What file names begin with: ``rhcos``, or ``scos`` for OKD's CentOS Stream CoreOS."""


@dataclass(frozen=True)
class Release:
    """One OpenShift release for one architecture."""

    version: str
    architecture: str
    """RHCOS spelling, or ``multi``."""
    kubernetes: str
    rhcos: Build
    created: str

    @property
    def minor(self) -> str:
        """``4.20`` of ``4.20.33``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def release_architecture(self) -> str:
        return ARCHITECTURES.get(self.architecture, self.architecture)

    @property
    def is_okd(self) -> bool:
        return self.rhcos.system == "scos"

    @property
    def payload(self) -> images.Payload:
        """The release's container images."""
        return images.payload(self.version, self.architecture, self.created, okd=self.is_okd)

    @property
    def digest(self) -> str:
        """Digest of the release image, ``sha256:<hex>``."""
        return self.payload.digest

    @property
    def image(self) -> str:
        return f"{images.release_repository(okd=self.is_okd)}@{self.digest}"

    @property
    def os_image(self) -> str:
        """Image of the nodes' operating system."""
        return f"{images.component_repository(okd=self.is_okd)}@{self.payload.components[self.payload.os_component]}"

    @property
    def commit(self) -> str:
        return _hex("commit", self.version)[:40]


_RHCOS_418 = Build("4.18-9.4", "418.94.202510071432-0", "2025-10-07T14:52:10Z", separator="-")
_RHCOS_419 = Build("rhel-9.6", "9.6.20251023-0", "2025-10-23T09:11:42Z")
_RHCOS_420 = Build("rhel-9.6", "9.6.20260312-0", "2026-03-12T16:27:03Z")
_RHCOS_421 = Build("rhel-9.6", "9.6.20260428-0", "2026-04-28T15:03:51Z")

_RELEASES: Final[dict[str, tuple[str, Build, str]]] = {
    "4.18.30": ("1.31.13", _RHCOS_418, "2025-11-19T08:02:55Z"),
    "4.19.42": ("1.32.12", _RHCOS_419, "2026-07-28T11:40:18Z"),
    "4.20.33": ("1.33.11", _RHCOS_420, "2026-08-11T13:19:37Z"),
    "4.21.28": ("1.34.9", _RHCOS_421, "2026-08-18T09:44:06Z"),
}
VERSIONS: Final = tuple(_RELEASES)
"""Oldest first."""

_SCOS: Final = Build("c10s", "10.0.20260204-0", "2026-02-04T10:41:09Z", system="scos")
_OKD: Final[dict[str, tuple[str, Build, str]]] = {"4.20.0-okd-scos.9": ("1.33.6", _SCOS, "2026-02-19T06:12:40Z")}
OKD_VERSIONS: Final = tuple(_OKD)
"""OKD's are for x86_64 alone, and for no channel."""


def release(version: str, architecture: str) -> Release:
    """Return the release, or raise ``KeyError`` for a version or an architecture that the mirror does not have."""
    kubernetes, rhcos, created = (_RELEASES | _OKD)[version]
    if architecture not in ({*ARCHITECTURES, MULTI} if version in _RELEASES else {"x86_64"}):
        raise KeyError(architecture)
    return Release(version, architecture, kubernetes, rhcos, created)


def of_image(digest: str) -> Release | None:
    """Return the release whose release image has a digest, ``sha256:<hex>``; None if there is none in the mirror."""
    releases = ((version, architecture) for version in _RELEASES for architecture in (*ARCHITECTURES, MULTI))
    for version, architecture in (*releases, *((version, "x86_64") for version in _OKD)):
        candidate = release(version, architecture)
        if candidate.digest == digest:
            return candidate
    return None


def newest(minor: str) -> str:
    """Return the newest release of a minor version such as ``4.20``; empty if the mirror has none."""
    return next((version for version in reversed(VERSIONS) if version.rpartition(".")[0] == minor), "")


def is_newer(version: str, than: str) -> bool:
    """Return whether a release is in the mirror and newer than another one."""
    return than in VERSIONS and version in VERSIONS[VERSIONS.index(than) + 1 :]


def aliases() -> dict[str, str]:
    """Return the alias directories of the mirror (``stable``, ``latest-4.20`` ...) and the version each shows now."""
    directories: dict[str, str] = {}
    for version in VERSIONS:  # oldest first: the newest wins the names without a minor
        minor = version.rpartition(".")[0]
        for channel in ("stable", "latest", "fast", "candidate"):
            directories[f"{channel}-{minor}"] = version
            directories[channel] = version
    return directories


# --- RHCOS artefacts -----------------------------------------------------------------------------------------------------

_ARTEFACTS: Final[Mapping[str, tuple[str, str]]] = {
    # kind: (middle of the file name, extension)
    "kernel": ("live-kernel", ""),
    "initramfs": ("live-initramfs", ".img"),
    "rootfs": ("live-rootfs", ".img"),
    "iso": ("live-iso", ".iso"),
    "metal": ("metal", ".raw.gz"),
    "metal4k": ("metal4k", ".raw.gz"),
}
_SIZES: Final[Mapping[str, int]] = {"kernel": 4 << 10, "initramfs": 16 << 10, "rootfs": 64 << 10}
_SMALLEST: Final = 2 << 10


def builds() -> tuple[Build, ...]:
    return tuple({entry[1].build: entry[1] for entry in (*_RELEASES.values(), *_OKD.values())}.values())


def artefact_names(build: Build, architecture: str) -> dict[str, str]:
    """Return kind -> file name of every artefact of a build."""
    return {
        kind: f"{build.system}-{build.build}-{middle}{build.separator}{architecture}{extension}"
        for kind, (middle, extension) in _ARTEFACTS.items()
    }


def artefact_directory(build: Build, architecture: str) -> str:
    """Return the path of a build's artefacts below the mirror's URL."""
    return f"{architecture}/dependencies/rhcos/streams/{build.stream}/builds/{build.build}"


@cache
def artefact(kind: str, build: str, architecture: str) -> bytes:
    """Return the bytes of an artefact: a line that describes it, then filler.

    The initramfs has the hash of its rootfs inside, as the real one has: a live system refuses a rootfs of another build.
    """
    head = f"sandbox-rhcos {kind} {build} {architecture}\n"
    if kind == "initramfs":
        head += f"rootfs-sha256 {artefact_sha256('rootfs', build, architecture)}\n"
    return head.encode() + hashlib.shake_256(head.encode()).digest(_SIZES.get(kind, _SMALLEST))


def artefact_sha256(kind: str, build: str, architecture: str) -> str:
    return hashlib.sha256(artefact(kind, build, architecture)).hexdigest()


def stream(release: Release, mirror_url: str) -> dict[str, Any]:
    """Return what ``openshift-install coreos print-stream-json`` prints; shape: the CoreOS stream metadata.

    RHEL CoreOS' stream is named by OpenShift's minor version, whatever folder its builds are in.

    ``mirror_url`` is the mirror's address up to and including ``/pub/openshift-v4``.
    """

    build = release.rhcos

    def located(kind: str, architecture: str) -> dict[str, str]:
        name = artefact_names(build, architecture)[kind]
        return {
            "location": f"{mirror_url.rstrip('/')}/{artefact_directory(build, architecture)}/{name}",
            "sha256": artefact_sha256(kind, build.build, architecture),
        }

    return {
        "stream": f"rhcos-{release.minor}" if build.system == "rhcos" else build.stream,
        "metadata": {"last-modified": build.released, "generator": "plume cosa2stream 2026.3"},
        "architectures": {
            architecture: {
                "artifacts": {
                    "metal": {
                        "release": build.build,
                        "formats": {
                            "4k.raw.gz": {"disk": located("metal4k", architecture)},
                            "iso": {"disk": located("iso", architecture)},
                            "pxe": {
                                "rootfs": located("rootfs", architecture),
                                "initramfs": located("initramfs", architecture),
                                "kernel": located("kernel", architecture),
                            },
                            "raw.gz": {"disk": located("metal", architecture)},
                        },
                    }
                },
                "images": {},
            }
            for architecture in sorted(ARCHITECTURES)
        },
    }


def _hex(*words: str) -> str:
    return hashlib.sha256(" ".join(("sandbox", *words)).encode()).hexdigest()
