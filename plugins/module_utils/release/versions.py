# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenShift releases: names of versions, channels and architectures, the folders of a mirror, and what its files and installers report.

The one place of these rules, for the module ``openshift_installer``, the role ``ignition`` and preflight.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import unescape
from typing import Any
from urllib.parse import unquote

_RELEASE = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?"
_CHANNEL = re.compile(r"(?P<stream>stable|latest|fast|candidate)(?:-(?P<minor>[0-9]+\.[0-9]+))?")
"""Folders of the mirror that show one release after the other. The channels ``eus-*`` of updates have no such folder."""
FINAL = ("stable", "fast")
"""Channels that show no release before it is finished."""
MIRRORS = {
    "ocp": "https://mirror.openshift.com/pub/openshift-v4",
    "okd": "https://github.com/okd-project/okd/releases/download",
}
"""The public mirror of each distribution."""
NOT_LISTED = "it does not list what it has"

GO = {"x86_64": "amd64", "aarch64": "arm64"}
"""Go's name of an architecture, which install-config.yaml and the installer use, by the name that kernels, mirrors and plans use."""
MULTI = "multi"
"""The architecture of a release for all of them."""
UNKNOWN = "unknown"
"""The architecture that an installer reports of a release that it does not know."""

_ARCHIVE = re.compile(rf"\bopenshift-install-linux-(?:(?P<go>{'|'.join(GO.values())})-)?(?P<version>{_RELEASE})\.tar\.gz\b")


def is_release(version: str) -> bool:
    return re.fullmatch(_RELEASE, version) is not None


def is_channel(version: str, distribution: str) -> bool:
    """Return whether the mirror of the distribution may have a channel of this name. OKD has releases only."""
    return distribution != "okd" and _CHANNEL.fullmatch(version) is not None


def go_name(architecture: str) -> str:
    """Return Go's name of an architecture; one that is Go's already, or of no such pair, is returned as it is."""
    return GO.get(architecture, architecture)


def kernel_name(architecture: str) -> str:
    """Return the name that kernels, mirrors and plans use for an architecture that has Go's name."""
    return next((name for name, suffix in GO.items() if suffix == architecture), architecture)


def machine_architectures(release: str) -> list[str]:
    """Return the architectures of machines that a release is for. Of one that the installer does not know these are all."""
    return sorted(GO) if release in (MULTI, UNKNOWN) else [kernel_name(release)]


# --- the folders of a mirror -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mirror:
    """Addresses of the files of releases for one architecture.

    OKD's releases are in folders by their names alone. A release for several architectures has a folder for each that a computer may have,
    and its signed checksums are those of the checksums in these folders. ``computer``: the architecture of the computer that the installer
    is for.
    """

    url: str
    distribution: str
    architecture: str
    computer: str

    @property
    def releases(self) -> str:
        """The folder that has a folder for each release and channel."""
        return self.url.rstrip("/") + ("" if self._okd else f"/{self.architecture}/clients/ocp")

    def release(self, version: str) -> str:
        return f"{self.releases}/{version}"

    def clients(self, version: str) -> str:
        return f"{self.release(version)}/{go_name(self.computer)}" if self.is_nested else self.release(version)

    def channel(self, name: str) -> str:
        return f"{self.clients(name)}/release.txt"

    def checksums(self, version: str) -> str:
        return f"{self.release(version)}/{CHECKSUMS}"

    def signature(self, version: str) -> str:
        return f"{self.checksums(version)}.{'asc' if self._okd else 'gpg'}"

    @property
    def is_nested(self) -> bool:
        """Whether the signed checksums are of the file :attr:`nested_checksums`."""
        return self.architecture == MULTI and not self._okd

    @property
    def nested_checksums(self) -> str:
        return f"{go_name(self.computer)}/{CHECKSUMS}"

    def archives(self, version: str) -> list[str]:
        """Return the names of the archives that may have an installer for this computer, the best first."""
        # For a computer of another architecture than the release's there may be an archive of its own.
        return [f"openshift-install-linux-{prefix}{version}.tar.gz" for prefix in (f"{go_name(self.computer)}-", "")]

    @property
    def _okd(self) -> bool:
        return self.distribution == "okd"


CHECKSUMS = "sha256sum.txt"


def read_checksums(text: str) -> dict[str, str]:
    """Return the SHA-256 of each file that ``sha256sum.txt`` lists, by its name."""
    return {name: digest for digest, name in re.findall(r"^([0-9a-f]{64}) +[*]?(\S+)$", text, re.MULTILINE)}


@dataclass(frozen=True)
class Archive:
    """An archive with an installer for Linux. ``architecture``: Go's name of that of the computer; empty: that of the release."""

    name: str
    version: str
    architecture: str


def archives_in(text: str, version: str = "") -> list[Archive]:
    """Return the archives with an installer that a text names; with ``version`` those of this release."""
    archives = (Archive(match[0], match["version"], match["go"] or "") for match in _ARCHIVE.finditer(text))
    return [archive for archive in archives if version in ("", archive.version)]


def listed(page: str) -> list[str]:
    """Return the names that a web server's listing of a folder links to."""
    links = re.findall(r"""href=["']?([^"'\s>?#]+)""", page)
    return list(dict.fromkeys(unescape(unquote(link)).rstrip("/").rpartition("/")[2] for link in links))


def alternatives(requested: str, page: str) -> str:
    """Return which releases or channels a mirror has instead of one that it does not have, by its listing; or nothing.

    Pre-releases are listed only if a pre-release is requested.
    """
    folders = listed(page)
    if _CHANNEL.fullmatch(requested):
        channels = sorted((name for name in folders if _CHANNEL.fullmatch(name)), key=_by_number)
        return f"its channels are {', '.join(channels[-12:])}" if channels else ""
    releases = [name for name in folders if is_release(name) and ("-" in requested or "-" not in name)]
    parts = re.match(r"[0-9]+\.[0-9]+(?=\.)", requested)
    if not parts or not releases:
        return ""
    same_minor = newest((name for name in releases if name.startswith(f"{parts[0]}.")), 3)
    if same_minor:
        return f"the newest of {parts[0]} there {'is' if len(same_minor) == 1 else 'are'} {', '.join(same_minor)}"
    return f"it has none of {parts[0]}, the newest there are {', '.join(newest(releases, 3))}"


def newest(releases: Iterable[str], number: int) -> list[str]:
    """Return the newest releases, the newest first; one that is not finished comes before the finished one of the same numbers."""
    return sorted(releases, key=_by_number, reverse=True)[:number]


def _by_number(name: str) -> tuple[list[int], bool, list[int], str]:
    numbers, dash, rest = name.partition("-") if name[:1].isdigit() else ("", "", name)
    finished = not dash
    return [int(part) for part in re.findall(r"\d+", numbers)], finished, [int(part) for part in re.findall(r"\d+", rest)], rest


# --- what files and installers report --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Installer:
    """What ``openshift-install version`` reports; a value that it does not report is empty.

    ``architecture``: that of the release: Go's name, ``multi`` or ``unknown``.
    """

    version: str
    digest: str
    architecture: str


def read_version(output: str) -> Installer:
    """Return what an installer reports.

    The version is the last word before the line of the commit: the first line begins with the path that the installer was called by, which
    may have blanks in it.
    """
    version = re.search(r"(?:^|\s)v?(\d\S*)\nbuilt from commit ", output)
    digest = re.search(r"^release image \S+@(sha256:[0-9a-f]{64})$", output, re.MULTILINE)
    architecture = re.search(r"^release architecture (\S+)$", output, re.MULTILINE)
    return Installer(*(match[1] if match else "" for match in (version, digest, architecture)))


def read_channel(text: str, channel: str) -> tuple[str, str, str]:
    """Return version and digest of the release that ``release.txt`` of a channel names, and why it cannot be one of that channel."""
    version = re.search(r"^Name:\s+(\S+)$", text, re.MULTILINE)
    digest = re.search(r"^Digest:\s+(sha256:[0-9a-f]{64})$", text, re.MULTILINE)
    release = version[1] if version else ""
    problem = channel_problem(channel, release) or ("" if digest else f"{channel} shows {release} without the digest of its payload")
    return release, digest[1] if digest else "", problem


def channel_problem(channel: str, version: str) -> str:
    """Return why a release cannot be the one that a channel shows, or nothing. What a channel shows is not signed."""
    parts = _CHANNEL.fullmatch(channel)
    if parts is None or not is_release(version):
        return f"{channel} shows {version or 'nothing'}, which is no release"
    if parts["minor"] and not version.startswith(f"{parts['minor']}."):
        return f"{channel} shows {version}, which is no release of {parts['minor']}"
    if parts["stream"] in FINAL and "-" in version:
        return f"{channel} shows {version}, which is not finished"
    return ""


@dataclass(frozen=True)
class Pin:
    """The release that a channel showed when it was read, which is kept in ``release.json``. ``architecture``: of the release."""

    channel: str
    architecture: str
    version: str
    digest: str

    def text(self) -> str:
        return json.dumps(asdict(self), indent=4, sort_keys=True) + "\n"


def read_pin(text: str) -> Pin | None:
    """Return the content of ``release.json``; None when it is empty. Raises ValueError when it is something else."""
    if not text.strip():
        return None
    kept = json.loads(text)
    try:
        return Pin(str(kept["channel"]), str(kept["architecture"]), str(kept["version"]), str(kept.get("digest") or ""))
    except (KeyError, TypeError) as problem:
        raise ValueError(f"it is no JSON object with channel, architecture and version: {problem}") from problem


_OLD_BUILD = re.compile(r"4\d\d\.(?P<major>\d+)\d\.\d{8,}")
"""Up to OpenShift 4.18: OpenShift's version, RHEL's, and the time, such as 418.94.202501221327-0."""
_BUILD = re.compile(r"(?P<major>\d+)\.\d+\.\d{8,}")


@dataclass(frozen=True)
class BootImages:
    """What the stream metadata of an installer has for booting over the network.

    ``architectures``: those that can be booted. ``builds``: the builds of these images. ``os_image_streams``: what ``osImageStream`` of
    install-config.yaml calls these builds.
    """

    stream: str
    architectures: list[str]
    builds: list[str]
    os_image_streams: list[str]


def read_stream(text: Any) -> BootImages:
    """Return what the stream metadata has. Raises ValueError, TypeError, KeyError or AttributeError for anything else."""
    stream = json.loads(text)
    metal = {name: entry["artifacts"].get("metal") or {} for name, entry in stream["architectures"].items()}
    bootable = {name: str(entry["release"]) for name, entry in metal.items() if "pxe" in entry.get("formats", {})}
    builds = sorted(set(bootable.values()))
    # The name of the stream does not show the operating system (rhcos-4.19, before that 4.18-9.4); the builds of its images do.
    matches = (_OLD_BUILD.match(build) or _BUILD.match(build) for build in builds)
    return BootImages(str(stream["stream"]), sorted(bootable), builds, sorted({f"rhel-{match['major']}" for match in matches if match}))
