# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenShift releases: their names, the channels of a mirror, and what an installer says of itself.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
CHANNEL = re.compile(r"(?P<stream>stable|latest|fast|candidate)(?:-(?P<minor>[0-9]+\.[0-9]+))?")
NOT_LISTED = "it does not list what it has"
FINAL = ("stable", "fast")
"""Channels that show no release before it is finished."""


@dataclass(frozen=True)
class Installer:
    """What ``openshift-install version`` says; what it does not say is empty. ``architecture`` is Go's name, ``multi`` or ``unknown``."""

    version: str
    digest: str
    architecture: str


def read_version(output: str) -> Installer:
    """Return what an installer says of itself.

    The version is the last word before the line of the commit: the first line begins with the path that the installer was called by, which
    may have blanks in it.
    """
    version = re.search(r"(?:^|\s)v?(\d\S*)\nbuilt from commit ", output)
    digest = re.search(r"^release image \S+@(sha256:[0-9a-f]{64})$", output, re.MULTILINE)
    architecture = re.search(r"^release architecture (\S+)$", output, re.MULTILINE)
    return Installer(*(found[1] if found else "" for found in (version, digest, architecture)))


@dataclass(frozen=True)
class Shown:
    """The release that a channel shows. ``problem`` says why it cannot be one of that channel."""

    version: str
    digest: str
    problem: str


def read_channel(text: str, channel: str) -> Shown:
    """Return the release that ``release.txt`` of a channel names."""
    version = re.search(r"^Name:\s+(\S+)$", text, re.MULTILINE)
    digest = re.search(r"^Digest:\s+(sha256:[0-9a-f]{64})$", text, re.MULTILINE)
    found = version[1] if version else ""
    problem = channel_problem(channel, found) or ("" if digest else f"{channel} shows {found} without the digest of its payload")
    return Shown(found, digest[1] if digest else "", problem)


def channel_problem(channel: str, version: str) -> str:
    """Return why a release cannot be the one that a channel shows, or nothing. What a channel shows is not signed."""
    parts = CHANNEL.fullmatch(channel)
    if parts is None or not RELEASE.fullmatch(version):
        return f"{channel} shows {version or 'nothing'}, which is no release"
    if parts["minor"] and not version.startswith(f"{parts['minor']}."):
        return f"{channel} shows {version}, which is no release of {parts['minor']}"
    if parts["stream"] in FINAL and "-" in version:
        return f"{channel} shows {version}, which is not finished"
    return ""


def listed(page: str) -> list[str]:
    """Return the names that a web server's listing of a folder links to."""
    links = re.findall(r"""href=["']?([^"'\s>?#]+)""", page)
    return list(dict.fromkeys(unescape(unquote(link)).rstrip("/").rpartition("/")[2] for link in links))


def alternatives(wanted: str, page: str) -> str:
    """Return which releases or channels a mirror has instead of one that it does not have, by its listing; or nothing.

    Releases that are not finished are named only to who wants such a one.
    """
    folders = listed(page)
    if CHANNEL.fullmatch(wanted):
        channels = sorted((name for name in folders if CHANNEL.fullmatch(name)), key=_by_number)
        return f"its channels are {', '.join(channels[-12:])}" if channels else ""
    releases = [name for name in folders if RELEASE.fullmatch(name) and ("-" in wanted or "-" not in name)]
    parts = re.match(r"[0-9]+\.[0-9]+(?=\.)", wanted)
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
