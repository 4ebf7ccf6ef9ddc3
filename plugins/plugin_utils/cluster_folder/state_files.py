# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a cluster folder that an interrupted install needs to continue, and the record of the archive that they were saved in."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

RECORD = "state-store.json"
"""The file in the cluster folder that names the archive its files were saved in or restored from."""

BOOTSTRAP_COMPLETE = "kubeconfig"
"""The file that the playbooks write when the bootstrap is complete."""

BEGUN = "project"
"""The file that the playbooks write before an install creates its first object at the Metal API."""

METADATA = "ignition/metadata.json"

SAVED = (
    "kubeconfig",
    "project",
    "release.json",
    "adopted",
    "object-storage.json",
    "ignition/*",
    "publish/method",
    "publish/bearer",
    "publish/bootstrap-pointer.ign",
    "publish/tls/*",
)
"""Patterns of the saved files. A ``*`` also matches a slash. Other files are written again from these, or have logs and reports."""

LEFT_OUT = ("ignition/openshift-install", "ignition/.openshift_install.log", "ignition/log-bundle-*", "ignition/.openshift_install.lock")

LEFT_OUT_AFTER_BOOTSTRAP = (
    "ignition/bootstrap.ign",
    "ignition/.openshift_install_state.json",
    "ignition/stream.json",
    "ignition/images.json",
    "publish/bootstrap-pointer.ign",
)
"""What only machines of the bootstrap need, and the boot images, which the running cluster names."""

DIGEST_LENGTH = 16


@dataclass(frozen=True)
class Record:
    """The archive that the files of a folder were last saved in or restored from. ``is_complete``: whether that ended."""

    location: str
    archive: str
    digest: str
    is_complete: bool = True


@dataclass(frozen=True)
class ClusterFiles:
    """The saved files of a cluster folder by their names relative to it, and the record of the store at ``location``."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    record: Record | None = None

    @property
    def infra_id(self) -> str:
        """The infraID of the install; empty before its Ignition files exist."""
        return infra_id_of(self.files)

    @property
    def is_begun(self) -> bool:
        """Whether the folder is that of an install, also of one without Ignition files yet."""
        return bool(self.infra_id) or BEGUN in self.files

    @property
    def is_bootstrapped(self) -> bool:
        return BOOTSTRAP_COMPLETE in self.files

    @property
    def digest(self) -> str:
        return digest_of(self.files)

    @property
    def is_unchanged(self) -> bool:
        return self.record is not None and self.record.is_complete and self.record.digest == self.digest


def infra_id_of(files: Mapping[str, bytes]) -> str:
    try:
        metadata = json.loads(files.get(METADATA, b"{}"))
    except ValueError:
        return ""
    return str(metadata.get("infraID") or "") if isinstance(metadata, dict) else ""


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the beginning of a SHA-256 of names and contents."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{len(files[name])}\0".encode())
        total.update(files[name])
    return total.hexdigest()[:DIGEST_LENGTH]


def is_saved(name: str, *, after_bootstrap: bool = False) -> bool:
    """Return whether a file of a cluster folder belongs into an archive, by its name relative to the folder."""
    left_out = (*LEFT_OUT, *(LEFT_OUT_AFTER_BOOTSTRAP if after_bootstrap else ()))
    return _matches(name, SAVED) and not _matches(name, left_out)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_files(directory: Path, location: str = "") -> ClusterFiles:
    """Read the files to save, without links; raises OSError. The record of another location counts as none."""
    after_bootstrap = (directory / BOOTSTRAP_COMPLETE).is_file()
    names = (str(path.relative_to(directory)) for path in _regular_files(directory))
    files = {name: (directory / name).read_bytes() for name in names if is_saved(name, after_bootstrap=after_bootstrap)}
    record = read_record(directory)
    return ClusterFiles(files, record if record and record.location == location else None)


def _regular_files(directory: Path) -> Iterator[Path]:
    tops = [directory / top for top in {pattern.partition("/")[0] for pattern in SAVED}]
    for top in tops:
        if top.is_symlink():
            continue
        if top.is_file():
            yield top
        for folder, _folders, names in os.walk(top):
            yield from (path for path in (Path(folder) / name for name in names) if path.is_file() and not path.is_symlink())


def read_record(directory: Path) -> Record | None:
    try:
        content: Any = json.loads((directory / RECORD).read_bytes())
        return Record(str(content["location"]), str(content["archive"]), str(content["digest"]), content["is_complete"] is True)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write_record(directory: Path, record: Record) -> None:
    text = json.dumps({"location": record.location, "archive": record.archive, "digest": record.digest, "is_complete": record.is_complete})
    write_file(directory / RECORD, f"{text}\n".encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, completely or not at all, with its folders."""
    # The mode of mkdir is that of the last folder alone.
    for folder in reversed([parent for parent in path.parents if not parent.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, content)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file of an existing folder, completely or not at all: a reader never sees half of it."""
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(content)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
