# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module of ``openshift-install``: it resolves a release, and downloads, verifies and unpacks the installer of that release.

Preflight uses the same code without a module.

A file gets its final name in one step, when it is complete and verified: an interrupted run leaves nothing but a temporary folder, which
the next run deletes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import signal
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..base.argspec import Options
from ..base.diff import shown
from ..base.errors import CollectionError
from ..release.keyring import keyring_name
from ..release.versions import (
    CHECKSUMS,
    MIRRORS,
    MULTI,
    NOT_LISTED,
    UNKNOWN,
    Installer,
    Mirror,
    Pin,
    alternatives,
    go_name,
    is_channel,
    is_release,
    machine_architectures,
    read_channel,
    read_checksums,
    read_pin,
)
from .base import BaseModule, ModuleFrame
from .mirror import CHUNK, MirrorError, ProgramError, Run, check_signature, chunks, get, installer_version

INSTALLER_OPTIONS = Options(
    {
        "state": {"type": "str", "choices": ["present", "pinned"], "default": "present"},
        "directory": {"type": "path", "required": True},
        "cache": {"type": "path", "default": ""},
        "version": {"type": "str", "default": ""},
        "path": {"type": "path", "default": ""},
        "distribution": {"type": "str", "choices": ["ocp", "okd"], "default": "ocp"},
        "architecture": {"type": "str", "choices": ["x86_64", "aarch64", "multi"], "default": "x86_64"},
        "mirror_url": {"type": "str", "default": ""},
        "keyring": {"type": "str", "default": "", "no_log": False},
        "retries": {"type": "int", "default": 3},
        "delay": {"type": "float", "default": 5},
        "timeout": {"type": "float", "default": 60},
    }
)

NAME = "openshift-install"
PIN = "release.json"
PROGRESS_INTERVAL = 5.0
"""Seconds between two lines of progress of a download."""
PROGRAM_TIMEOUT = 60.0
"""Seconds for an installer to report its version, and for gpgv to read two small files."""

_Read = TypeVar("_Read")


class ReleaseError(CollectionError):
    """The release cannot be resolved, or what is offered as its installer is not."""


@dataclass(frozen=True)
class Release:
    """A release; ``digest``: that of its payload, empty when any will do."""

    version: str
    digest: str


def ensure_installer(module: ModuleFrame) -> None:
    files = InstallerFiles(module.params, partial(_run, module.module), check_mode=module.check_mode)
    try:
        files.ensure()
    finally:
        module.result.update(files.result)


def _run(module: BaseModule, argv: Sequence[str], data: bytes) -> tuple[int, bytes, bytes]:
    """Run a program as ``mirror.Run`` does; ``run_command`` itself has no limit of time."""

    def watch(process: Any) -> None:
        timer = threading.Timer(PROGRAM_TIMEOUT, process.kill)  # does nothing once the program has ended
        timer.daemon = True
        timer.start()

    how = {"binary_data": True, "encoding": None, "expand_user_and_vars": False, "handle_exceptions": False}
    try:
        code, output, errors = module.run_command([*argv], data=data, before_communicate_callback=watch, **how)
    except (OSError, ValueError) as problem:
        raise ProgramError(str(getattr(problem, "strerror", None) or problem)) from problem
    if code == -signal.SIGKILL:
        raise ProgramError(f"it was killed, after {PROGRAM_TIMEOUT:g} s without an answer or by another program")
    return code, output, errors


class InstallerFiles:
    """What the module does with its options: ``ensure`` sets ``result``. ``run`` runs gpgv and installers, ``announce`` gets progress."""

    def __init__(
        self, params: Mapping[str, Any], run: Run, *, check_mode: bool = False, announce: Callable[[str], None] = lambda line: None
    ) -> None:
        self.params = params
        self._run_program = run
        self.check_mode = check_mode
        self.result: dict[str, Any] = {}
        self._announce = announce
        self._directory = Path(self.params["directory"])
        self._version: str = self.params["version"]
        url = self.params["mirror_url"] or MIRRORS[self.params["distribution"]]
        self._mirror = Mirror(url, self.params["distribution"], self.params["architecture"], platform.machine())
        self._before: dict[str, Any] = {}
        self._after: dict[str, Any] = {}

    def ensure(self) -> None:
        """Resolve the release and, with ``state=present``, ensure that its installer is there; in check mode only predict that."""
        try:
            if self.params["path"]:
                self._use_own()
            else:
                release = self._resolve()
                path = self._directory / "bin" / f"{release.version}-{self.params['architecture']}" / NAME
                self.result.update(asdict(release), path=str(path), url=self._mirror.clients(release.version))
                if self.params["state"] == "present":
                    self._ensure_installer(release, path)
        except OSError as problem:
            raise CollectionError(f"Cannot use {problem.filename or self._directory}: {problem.strerror or problem}") from problem
        header = str(self._directory)
        self.result.update(changed=self._before != self._after, diff=shown(self._before, self._after, header))

    # --- which release ---------------------------------------------------------------------------------------------------------------

    def _use_own(self) -> None:
        """Use the installer that is given: its version decides, unless a release is given as well."""
        path = os.path.realpath(self.params["path"])
        installer = self._run(path)
        is_any = not self._version or is_channel(self._version, self.params["distribution"])
        if not is_release(installer.version) or not (is_any or installer.version == self._version):
            expected = self._version or "a release"
            raise ReleaseError(f"{self.params['path']} is of version {installer.version or 'unknown'}, not of {expected}")
        self.result.update(version=installer.version, digest="", path=path, url="")
        self._report(installer)
        if self.params["state"] == "present":
            # With OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE, which only an installer of one's own may have, the architecture is not known.
            self._verify(path, installer, Release(installer.version, ""), UNKNOWN)

    def _resolve(self) -> Release:
        if is_release(self._version):
            return Release(self._version, "")
        if not is_channel(self._version, self.params["distribution"]):
            channel = "" if self.params["distribution"] == "okd" else " or to a channel such as stable-4.20"
            raise ReleaseError(
                f"{self._version or 'An empty version'} names no release. Set version (openshift_version) to one such as 4.20.33{channel}"
            )
        pin = self._pinned() or self._pin()
        return Release(pin.version, pin.digest)

    def _pinned(self) -> Pin | None:
        """Return the release that the channel showed when it was read first; None when it has not been read yet."""
        file = self._directory / PIN
        try:
            pin = read_pin(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as problem:
            raise ReleaseError(f"Cannot read {file}: {problem}. Delete it to have the channel read again") from problem
        if pin is None:
            return None
        self._before[PIN] = self._after[PIN] = asdict(pin)
        if (pin.channel, pin.architecture) != (self._version, self.params["architecture"]):
            return None
        if not is_release(pin.version):
            raise ReleaseError(f"{file}: {pin.version} names no release. Delete the file to have the channel read again")
        return pin

    def _pin(self) -> Pin:
        """Read which release the channel shows and keep it: tomorrow the channel shows another one."""
        url = self._mirror.channel(self._version)
        version, digest, problem = read_channel(self._get(url).decode("utf-8", "replace"), self._version)
        if problem:
            raise ReleaseError(
                f"{url} cannot be trusted: {problem}. Find out why before you use this mirror, or set version"
                " (openshift_version) to a release"
            )
        pin = Pin(self._version, self.params["architecture"], version, digest)
        if not self.check_mode:
            _make_folders(self._directory)
            _write(self._directory / PIN, [pin.text().encode()], 0o600)
            self.result["changed"] = True
        self._after[PIN] = asdict(pin)
        return pin

    # --- its installer ---------------------------------------------------------------------------------------------------------------

    def _ensure_installer(self, release: Release, path: Path) -> None:
        if path.exists():
            installer = self._run(str(path))
            self._verify(str(path), installer, release)
            self._report(installer)
            return
        archive, sha256 = self._find_archive(release)
        if not self.check_mode:
            _make_folders(self._directory, path.parent.parent, path.parent)
            if self.params["cache"]:
                _copy(self._cached(release, archive, sha256), path)
            else:
                self._fetch(release, archive, sha256, path)
        self._after[str(path.relative_to(self._directory))] = {"version": release.version}

    def in_cache(self, version: str) -> Path:
        """Return the installer of a release in the cache, which downloads it if it does not have it yet."""
        release = Release(version, "")
        return self._cached(release, *self._find_archive(release))

    def _cached(self, release: Release, archive: str, sha256: str) -> Path:
        """Return the installer that was unpacked from the archive with this checksum. One process at a time downloads."""
        path = Path(self.params["cache"]).expanduser() / sha256[:32] / NAME
        _make_folders(path.parent.parent, path.parent)
        with (path.parent / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                installer = self._run(str(path))
                self._verify(archive, installer, release)
                self._report(installer)
            else:
                self._fetch(release, archive, sha256, path)
        return path

    def _fetch(self, release: Release, archive: str, sha256: str, path: Path) -> None:
        for left in path.parent.glob(".download-*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=path.parent) as folder:
            unpacked = self._download(archive, sha256, Path(folder))
            installer = self._run(str(unpacked))
            self._verify(archive, installer, release)
            unpacked.replace(path)
        self._report(installer)

    def _find_archive(self, release: Release) -> tuple[str, str]:
        """Return URL and SHA-256 of the archive for this computer, from checksums whose signature is checked."""
        mirror, version = self._mirror, release.version
        signed = self._get(mirror.checksums(version))
        self._check_signature(mirror.signature(version), signed)
        listed = read_checksums(signed.decode("utf-8", "replace"))
        if mirror.is_nested:
            # Of a release for several architectures the checksums of the checksums are signed.
            url = f"{mirror.release(version)}/{mirror.nested_checksums}"
            nested = self._get(url)
            _compare(url, hashlib.sha256(nested).hexdigest(), listed.get(mirror.nested_checksums, ""))
            listed = read_checksums(nested.decode("utf-8", "replace"))
        names = mirror.archives(version)
        name = next((name for name in names if name in listed), "")
        if not name:
            raise ReleaseError(f"{mirror.clients(version)}/{CHECKSUMS} has neither {' nor '.join(names)}")
        self.result["verified"].update(archive=name, sha256=listed[name])
        return f"{mirror.clients(version)}/{name}", listed[name]

    def _check_signature(self, url: str, signed: bytes) -> None:
        keyring = self.params["keyring"]
        try:
            signature = self._read(url, lambda: get(url, self.params["timeout"]))
        except MirrorError as problem:
            if problem.status != 404:
                raise
            if keyring:
                # A client that can replace the checksums can also delete their signature.
                raise ReleaseError(
                    f"{url} is not there, so that what this mirror has cannot be checked by {keyring_name(keyring)}. Find out why; for"
                    " a mirror without signatures that is trusted all the same, leave openshift_release_keyring out (keyring)"
                ) from problem
            self.result["verified"] = {"signature": False, "details": "the mirror has none"}
            return
        if not keyring:
            details = "openshift_release_keyring (keyring) names no keyring with the key to check it by"
            self.result["verified"] = {"signature": False, "details": details}
            return
        verdict = check_signature(signed, signature, keyring, self._run_program)
        if not verdict.good:
            raise ReleaseError(
                f"The signature {url} is refused by {keyring_name(keyring)}: {verdict.found}. Do not use what this mirror has"
                " before you know why"
            )
        self.result["verified"] = {"signature": True, "details": verdict.found}

    def _download(self, url: str, sha256: str, folder: Path) -> Path:
        archive, unpacked = folder / "archive", folder / NAME

        def read() -> str:
            digest, size, reported = hashlib.sha256(), 0, time.monotonic()
            with archive.open("wb") as file:
                for part in chunks(url, self.params["timeout"]):
                    digest.update(part)
                    file.write(part)
                    size += len(part)
                    if time.monotonic() - reported >= PROGRESS_INTERVAL:
                        reported = time.monotonic()
                        self._announce(f"{url}: {size // 1_000_000} MB downloaded")
            return digest.hexdigest()

        self._announce(f"Downloading {url}")

        _compare(url, self._get_with(url, read), sha256)
        try:
            _unpack(archive, unpacked)
        except (KeyError, tarfile.TarError, EOFError, zlib.error) as problem:
            raise ReleaseError(f"Cannot unpack {NAME} from {url}: {problem}") from problem
        return unpacked

    def _verify(self, name: str, installer: Installer, release: Release, *also: str) -> None:
        """Raise ReleaseError unless this installer is of the release, and for machines of the architecture."""
        fitting = list(dict.fromkeys([go_name(self.params["architecture"]), MULTI]))
        digest_fits = not release.digest or installer.digest == release.digest
        if installer.version == release.version and digest_fits and installer.architecture in [*fitting, *also]:
            return
        expected = f"{release.version}, {release.digest or 'any'} and {' or '.join(fitting)}"
        reported = f"{installer.version or 'unknown'}, {installer.digest or 'unknown'} and {installer.architecture or 'unknown'}"
        raise ReleaseError(
            f"{name} cannot be used: version, digest of its release and architecture should be {expected}, they are {reported}"
        )

    def _report(self, installer: Installer) -> None:
        self.result.update(release_architecture=installer.architecture, machine_architectures=machine_architectures(installer.architecture))

    def _run(self, path: str) -> Installer:
        try:
            return installer_version(path, self._run_program)
        except ProgramError as problem:
            raise ProgramError(f"Cannot run {path} version: {problem}") from problem

    # --- reading the mirror ----------------------------------------------------------------------------------------------------------

    def _get(self, url: str) -> bytes:
        return self._get_with(url, lambda: get(url, self.params["timeout"]))

    def _get_with(self, url: str, read: Callable[[], _Read]) -> _Read:
        """Return what ``read`` returns. Raises ReleaseError for a file that the mirror does not have."""
        try:
            return self._read(url, read)
        except MirrorError as problem:
            if problem.status != 404:
                raise
            raise ReleaseError(
                f"The mirror has no {self._version}: {url} does not exist; {self._instead()}."
                " Set version (openshift_version) to one that the mirror has"
            ) from problem

    def _read(self, url: str, read: Callable[[], _Read]) -> _Read:
        """Try it again for all but a file that does not exist: any other failure may be the network's."""
        retries = max(0, self.params["retries"])
        for left in range(retries, -1, -1):
            try:
                return read()
            except MirrorError as problem:
                if problem.status == 404:
                    raise
                if not left:
                    message = f"Cannot download {url}: {problem} (tries: {retries + 1}). Check mirror_url (openshift_mirror_url)"
                    raise MirrorError(url, message, problem.status) from problem
            time.sleep(self.params["delay"])
        raise AssertionError("the last try returns or raises")

    def _instead(self) -> str:
        try:
            page = get(f"{self._mirror.releases}/", self.params["timeout"])
        except MirrorError:
            return NOT_LISTED
        return alternatives(self._version, page.decode("utf-8", "replace")) or NOT_LISTED


def _copy(installer: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".download-", dir=path.parent) as folder:
        copy = Path(folder) / NAME
        try:
            os.link(installer, copy)
        except OSError:  # another file system
            shutil.copy2(installer, copy)
        copy.replace(path)


def _compare(url: str, sha256: str, expected: str) -> None:
    if sha256 != expected:
        raise ReleaseError(
            f"The checksum of {url} is {sha256}, {CHECKSUMS} has {expected or 'none of it'}. Do not use this mirror before you know why"
        )


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as packed:
        content = packed.extractfile(target.name)
        if content is None:
            raise KeyError(f"{target.name} is no file")
        with content:
            _write(target, iter(lambda: content.read(CHUNK), b""), 0o755)


def _make_folders(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _write(path: Path, parts: Iterable[bytes], mode: int) -> None:
    """Write a file that gets its name when all of it is on the disk."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    partial.replace(path)
