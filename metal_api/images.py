# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of RHEL CoreOS for servers whose iPXE has no HTTPS, as that of Debian 12: the boot service has copies of them.

``python -m metal_api images`` downloads kernel, initramfs and root file system of stream metadata into the state folder, with their
checksums. The boot service serves them over plain HTTP below ``/images``, which is openshift_image_mirror_url of the inventory.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from metal_api.state_folder import StartError

FOLDER: Final = "images"
"""In the state folder, and in the URLs of the boot service."""
SUMS: Final = "sha256sum.txt"
"""The checksums of all files in the folder, as sha256sum writes and reads them."""
ARCHITECTURE: Final = "x86_64"
TIMEOUT: Final = 60.0
"""Seconds without a byte, after which a download has failed."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PART: Final = ".part"


@dataclass(frozen=True)
class Image:
    """A file of stream metadata. ``name``: the last part of its URL, by which machines ask for it."""

    url: str
    sha256: str
    name: str


def images_folder(state: Path) -> Path:
    """Make the folder of the images and return it. They are public: the boot service may run as another user than the download."""
    folder = state / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def read_stream(name: str) -> str:
    """Return the text of a file, or of standard input for ``-``. Raises :class:`StartError`."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"{name} cannot be read: {error}") from None


def images_of(stream: str) -> list[Image]:
    """Return the images that a server boots, of ``openshift-install coreos print-stream-json``. Raises :class:`StartError`."""
    try:
        formats = json.loads(stream)["architectures"][ARCHITECTURE]["artifacts"]["metal"]["formats"]["pxe"]
        images = [_image(formats[kind]) for kind in ("kernel", "initramfs", "rootfs")]
    except (ValueError, KeyError, TypeError) as error:
        raise StartError(
            f"this is no stream metadata with images of {ARCHITECTURE} servers, which openshift-install coreos print-stream-json prints "
            f"({type(error).__name__}: {error})"
        ) from None
    return images


def _image(entry: Mapping[str, Any]) -> Image:
    url, sha256 = str(entry["location"]), str(entry["sha256"])
    name = urlsplit(url).path.rpartition("/")[2]
    if urlsplit(url).scheme not in {"https", "http"} or _NAME.fullmatch(name) is None or name == SUMS or name.endswith(_PART):
        raise ValueError(f"the location {url!r} is not the URL of a file")
    if _SHA256.fullmatch(sha256) is None:
        raise ValueError(f"{sha256!r} is not the sha256 of {name}")
    return Image(url, sha256, name)


def fetch(stream: str, state: Path, progress: Callable[[str], None] = print, *, client: httpx.Client | None = None) -> None:
    """Download the images that the folder lacks or has with another content, each in one step. Raises :class:`StartError`."""
    images, folder = images_of(stream), images_folder(state)
    with client or httpx.Client(timeout=TIMEOUT, follow_redirects=True) as used:
        for image in images:
            path = folder / image.name
            if path.is_file() and _sha256(path) == image.sha256:
                progress(f"{image.name}: unchanged")
                continue
            _download(used, image, path)
            progress(f"{image.name}: downloaded, its checksum is that of the stream metadata")
    _write_sums(folder, {entry.name: entry.sha256 for entry in images})


def _download(client: httpx.Client, image: Image, path: Path) -> None:
    part = path.with_name(path.name + _PART)
    digest = hashlib.sha256()
    try:
        with client.stream("GET", image.url) as answer, part.open("wb") as file:
            if answer.status_code != 200:
                raise StartError(f"{image.url} cannot be downloaded: HTTP {answer.status_code}")
            for data in answer.iter_bytes():
                digest.update(data)
                file.write(data)
        if digest.hexdigest() != image.sha256:
            raise StartError(f"{image.url} has sha256 {digest.hexdigest()}, and {image.sha256} in the stream metadata: nothing was changed")
        part.chmod(0o644)
        part.replace(path)
    except httpx.HTTPError as error:
        raise StartError(f"{image.url} cannot be downloaded: {error or type(error).__name__}") from None
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_sums(folder: Path, new: Mapping[str, str]) -> None:
    """Write the checksums of ``new`` and of the images of earlier streams that are still there."""
    path = folder / SUMS
    known = {**dict(_sums(path)), **new}
    lines = [f"{sha256}  {name}\n" for name, sha256 in sorted(known.items()) if (folder / name).is_file()]
    fresh = path.with_name(path.name + _PART)
    fresh.write_text("".join(lines), encoding="ascii")
    fresh.chmod(0o644)
    fresh.replace(path)


def _sums(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="ascii").splitlines() if path.exists() else ():
        sha256, _spaces, name = line.partition("  ")
        yield name, sha256
