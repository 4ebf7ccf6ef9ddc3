# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mirror that clients and boot images come from, laid out like mirror.openshift.com.

Below ``/pub/openshift-v4/``::

    <arch>/clients/ocp/<version or alias>/openshift-install-linux.tar.gz
                                          openshift-install-linux-<version>.tar.gz
                                          openshift-install-linux-<other>-<version>.tar.gz
                                          release.txt  sha256sum.txt  sha256sum.txt.gpg
    multi/clients/ocp/<version or alias>/<amd64 or arm64>/...
                                         sha256sum.txt  sha256sum.txt.gpg
    <arch>/dependencies/rhcos/streams/<stream>/builds/<build>/rhcos-<build>-live-...

A release for both architectures has an installer for computers of each; the checksums of their ``sha256sum.txt`` are what is signed.
OKD's releases are below ``/pub/okd/releases/download/<version>/``, as those of a repository on GitHub: no architecture and no alias, and
the signature is ``sha256sum.txt.asc``.

``<arch>`` is ``x86_64`` or ``aarch64`` (also spelt ``amd64``, ``arm64``); aliases are ``stable``, ``stable-4.20``,
``latest``, ``fast``, ``candidate`` and so on. The installer inside is `sandbox.openshift.installer` as one executable
file. There is no ``openshift-client`` archive: the sandbox has no ``oc``.

The tree is made of real files below ``<state>/mirror`` at each start, with the same bytes whenever version, URL and Python
are the same; to test a damaged download, change a file there. ``sha256sum.txt.gpg`` is a detached OpenPGP
signature by a key of this sandbox; ``<state>/mirror-keyring.gpg`` is its public half, for ``gpgv --keyring``.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import html
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pysequoia import Profile, SignatureMode, Tsk, sign
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from .installer import catalogue
from .installer.cli import RELEASE_FILE

KEYRING_FILE: Final = "mirror-keyring.gpg"
_SECRET_KEY_FILE: Final = "mirror-signing-key.asc"  # noqa: S105 - a file name
_PACKAGE: Final = Path(__file__).parent / "installer"
_PACKAGE_NAME: Final = "openshift_install"
_EPOCH: Final = 315532800  # 1980-01-01, the oldest time in a zip file
_SHEBANG_LIMIT: Final = 127
OKD_PATH: Final = "/pub/okd/releases/download"
_SPELLINGS: Final[Mapping[str, str]] = {"amd64": "x86_64", "arm64": "aarch64"}

_SYSTEMS: Final[Mapping[str, str]] = {"rhcos": "Red Hat Enterprise Linux CoreOS", "scos": "CentOS Stream CoreOS"}

_README: Final = """# OpenShift Install

The OpenShift installer `openshift-install` makes it easy to get a cluster running on the public cloud or your local
infrastructure. This one is the sandbox's stand-in: same commands, files and messages, for clusters of the sandbox only.
"""


def keyring(state_dir: Path) -> Path:
    """Return where the public half of the mirror's signing key is: a binary OpenPGP keyring, as gpgv reads it."""
    return state_dir / KEYRING_FILE


def create_mirror_app(state_dir: Path, python: str, base_url: str, artefact: Callable[[str, str], Path | None] | None = None) -> Starlette:
    """Make the mirror's tree below ``state_dir`` and return the application that serves it (paths from ``/pub/`` on).

    ``python``: interpreter that has the sandbox's requirements, for the installer's first line. ``base_url``: how clients
    reach the root of this application, for example ``http://127.0.0.1:8080``; it is baked into the installer's stream data. ``artefact``:
    returns the file that a client (its address) gets for a path, instead of the small one of simulated machines; None for no other.
    """
    mirror_url = base_url.rstrip("/").removesuffix(catalogue.MIRROR_PATH) + catalogue.MIRROR_PATH
    root, okd = state_dir / "mirror", state_dir / "okd-releases"
    key = _signing_key(state_dir)
    _write_tree(root, python, mirror_url, key)
    _write_okd(okd, python, mirror_url, key)

    def answering(folder: Path) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            client = request.client.host if request.client is not None else ""
            instead = artefact(client, request.url.path) if artefact is not None else None
            if instead is not None:
                return FileResponse(instead, media_type="application/octet-stream")
            return await asyncio.to_thread(_answer, folder, request)

        return answer

    return Starlette(
        routes=[
            Route(f"{path}/{{path:path}}", answering(folder), methods=["GET", "HEAD"])
            for path, folder in ((catalogue.MIRROR_PATH, root), (OKD_PATH, okd))
        ]
    )


# --- serving -------------------------------------------------------------------------------------------------------------


def _answer(root: Path, request: Request) -> Response:
    parts = [part for part in request.path_params["path"].split("/") if part]
    if parts and parts[0] in _SPELLINGS:
        parts[0] = _SPELLINGS[parts[0]]
    try:
        path = root.joinpath(*parts).resolve()
        exists = path.is_relative_to(root.resolve()) and path.exists()
    except (OSError, ValueError):
        # No file can have such a name: too long, or with a zero byte in it.
        exists = False
    if not exists:
        return _not_found()
    if path.is_file():
        kind = "text/plain" if path.suffix == ".txt" else "application/octet-stream"
        return FileResponse(path, media_type="application/x-gzip" if path.suffix == ".gz" else kind)
    if not request.url.path.endswith("/"):
        return RedirectResponse(request.url.path + "/", status_code=301)
    return _index(request.url.path, path)


def _not_found() -> Response:
    return HTMLResponse(
        "<!DOCTYPE html>\n<html>\n<head><title>404 Not Found</title></head>\n<body>\n<h1>Not Found</h1>\n"
        "<p>The requested URL was not found on this server.</p>\n</body>\n</html>\n",
        status_code=404,
    )


def _index(shown: str, directory: Path) -> Response:
    rows = [
        f'<tr><td class="name"><a href="{html.escape(name)}">{html.escape(name)}</a></td></tr>'
        for name in sorted(entry.name + ("/" if entry.is_dir() else "") for entry in directory.iterdir())
    ]
    title = f"Index of {html.escape(shown)}"
    return HTMLResponse(
        f"<!DOCTYPE html>\n<html>\n<head><title>{title}</title></head>\n<body>\n<h1>{title}</h1>\n<table>\n"
        + "\n".join(rows)
        + "\n</table>\n</body>\n</html>\n"
    )


# --- what is served ------------------------------------------------------------------------------------------------------


def _write_tree(root: Path, python: str, mirror_url: str, key: Tsk) -> None:
    for name in catalogue.ARCHITECTURES:
        for build in catalogue.builds():
            directory = root / catalogue.artefact_directory(build, name)
            directory.mkdir(parents=True, exist_ok=True)
            for kind, file_name in catalogue.artefact_names(build, name).items():
                (directory / file_name).write_bytes(catalogue.artefact(kind, build.build, name))
    for name in (*catalogue.ARCHITECTURES, catalogue.MULTI):
        clients = root / name / "clients" / "ocp"
        shutil.rmtree(clients, ignore_errors=True)
        for version in catalogue.VERSIONS:
            release, directory = catalogue.release(version, name), clients / version
            if name == catalogue.MULTI:
                _write_multi(directory, release, python, mirror_url, key)
            else:
                _write_clients(directory, release, python, mirror_url)
                _sign(directory, key)
        for alias, version in catalogue.aliases().items():
            (clients / alias).symlink_to(version, target_is_directory=True)


def _write_okd(root: Path, python: str, mirror_url: str, key: Tsk) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for version in catalogue.OKD_VERSIONS:
        _write_clients(root / version, catalogue.release(version, "x86_64"), python, mirror_url)
        sums = (root / version / "sha256sum.txt").read_bytes()
        (root / version / "sha256sum.txt.asc").write_bytes(_signature(key, sums, armor=True))


def _write_multi(directory: Path, release: catalogue.Release, python: str, mirror_url: str, key: Tsk) -> None:
    """Clients for computers of each architecture, and checksums of their checksums."""
    lines = []
    for name in sorted(catalogue.ARCHITECTURES.values()):
        _write_clients(directory / name, release, python, mirror_url)
        lines.append(f"{hashlib.sha256((directory / name / 'sha256sum.txt').read_bytes()).hexdigest()}  {name}/sha256sum.txt\n")
    (directory / "sha256sum.txt").write_text("".join(lines), encoding="ascii")
    _sign(directory, key)


def _write_clients(directory: Path, release: catalogue.Release, python: str, mirror_url: str) -> None:
    archive = _tar({"README.md": (_README.encode(), 0o644), "openshift-install": (_executable(release, python, mirror_url), 0o755)})
    files = {
        "openshift-install-linux.tar.gz": archive,
        f"openshift-install-linux-{release.version}.tar.gz": archive,
        "release.txt": _release_text(release).encode(),
    }
    if release.architecture in catalogue.ARCHITECTURES:
        # For computers of the other architecture: a script runs on both.
        (other,) = set(catalogue.ARCHITECTURES.values()) - {release.release_architecture}
        files[f"openshift-install-linux-{other}-{release.version}.tar.gz"] = archive
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items())).encode()
    files["sha256sum.txt"] = sums
    directory.mkdir(parents=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)


def _sign(directory: Path, key: Tsk) -> None:
    (directory / "sha256sum.txt.gpg").write_bytes(_signature(key, (directory / "sha256sum.txt").read_bytes()))


def _executable(release: catalogue.Release, python: str, mirror_url: str) -> bytes:
    """Return the installer as a zip archive that starts with the line that runs it."""
    baked = {"version": release.version, "architecture": release.architecture, "mirror_url": mirror_url}
    files = {"__main__.py": f"import sys\n\nfrom {_PACKAGE_NAME}.cli import main\n\nsys.exit(main(sys.argv[1:]))\n".encode()}
    for path in sorted(_PACKAGE.iterdir()):
        if path.suffix in (".py", ".txt"):
            files[f"{_PACKAGE_NAME}/{path.name}"] = path.read_bytes()
    files[f"{_PACKAGE_NAME}/{RELEASE_FILE}"] = json.dumps(baked, sort_keys=True).encode()
    buffer = io.BytesIO()
    buffer.write(_first_line(python))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=datetime.fromtimestamp(_EPOCH, UTC).timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _first_line(python: str) -> bytes:
    # -I: neither the caller's PYTHON* variables nor the current directory may change what is imported.
    line = f"#!{python} -I\n"
    if any(character.isspace() for character in python) or len(line) > _SHEBANG_LIMIT:
        # The kernel cuts such a line; a shell reads two lines, then is replaced.
        quoted = "'" + python.replace("'", "'\\''") + "'"
        line = f'#!/bin/sh\nexec {quoted} -I "$0" "$@"\n'
    return line.encode()


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, _EPOCH
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _release_text(release: catalogue.Release) -> str:
    return f"""Client tools for OpenShift
--------------------------

These archives contain the client tooling for [OpenShift](https://docs.openshift.com).

To verify the contents of this directory, use the 'gpg' and 'shasum' tools to
ensure the archives you have downloaded match those published from this location.

The openshift-install binary has been preconfigured to install the following release:

---

Name:           {release.version}
Digest:         {release.digest}
Created:        {release.created}
OS/Arch:        linux/{release.release_architecture}
Manifests:      766
Metadata files: 2

Pull From: {release.image}

Release Metadata:
  Version:  {release.version}

Component Versions:
  kubectl          {release.kubernetes}
  kubernetes       {release.kubernetes}
  kubernetes-tests {release.kubernetes}
  machine-os       {release.rhcos.build} {_SYSTEMS[release.rhcos.system]}

Images:
  NAME               PULL SPEC
  {release.payload.os_component} {release.os_image}
"""


# --- signing -------------------------------------------------------------------------------------------------------------


def _signing_key(state_dir: Path) -> Tsk:
    """Return this sandbox's signing key, made at the first start; the keyring of its public half is written each time."""
    state_dir.mkdir(parents=True, exist_ok=True)
    path = state_dir / _SECRET_KEY_FILE
    if path.exists():
        key = Tsk.from_bytes(path.read_bytes())
    else:
        # RFC 4880 (version 4 keys): what the gpgv of today's distributions reads.
        key = Tsk.generate(user_id="Sandbox release key <security@sandbox.invalid>", profile=Profile.RFC4880)
        partial = path.with_suffix(".partial")  # a start that is killed here must not leave half a key
        partial.touch(mode=0o600)
        partial.write_text(str(key), encoding="ascii")
        partial.replace(path)
    keyring(state_dir).write_bytes(bytes(key.extract_certificate()))
    return key


def _signature(key: Tsk, content: bytes, *, armor: bool = False) -> bytes:
    return bytes(sign(key.signer(), content, mode=SignatureMode.DETACHED, armor=armor))
