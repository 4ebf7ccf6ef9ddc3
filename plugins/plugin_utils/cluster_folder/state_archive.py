# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted archive of a cluster folder, and when one is restored or written.

An archive is a tar.gz, encrypted by Ansible Vault (AES256). Its name has its generation, the digest of its files, and a checksum of its
bytes, so that a list of names is enough to decide. Archives are never changed: each change is a new generation.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ansible.parsing.vault import AnsibleVaultError, VaultLib, VaultSecret

from ...module_utils.base.errors import CollectionError
from ...module_utils.base.printable import printable
from .state_files import BOOTSTRAP_COMPLETE, DIGEST_LENGTH, ClusterFiles, digest_of, infra_id_of, is_saved

NAME = re.compile(r"(?P<generation>[0-9]{8})-(?P<digest>[0-9a-f]{16})-(?P<checksum>[0-9a-f]{16})\.vault")
HEADER = "state.json"
FILES = "files/"
FORMAT = 1
MOST_BYTES = 64 * 2**20
"""Of all files together. Those of a cluster are some MiB."""
MOST_FILES = 1000
MAGIC = b"$ANSIBLE_VAULT;"
GZIP = 31
"""The parameter ``wbits`` of zlib for gzip."""


class StateError(CollectionError):
    """An archive that cannot be used, or a folder that cannot be saved or restored. Nothing was changed."""


@dataclass(frozen=True, order=True)
class ArchiveName:
    """The name of an archive, by its parts."""

    generation: int
    digest: str
    checksum: str

    def __str__(self) -> str:
        return f"{self.generation:08d}-{self.digest}-{self.checksum}.vault"

    @classmethod
    def parse(cls, name: str) -> ArchiveName | None:
        match = NAME.fullmatch(name)
        return cls(int(match["generation"]), match["digest"], match["checksum"]) if match else None


@dataclass(frozen=True)
class Archive:
    """A decrypted archive: the cluster it is of, and its files."""

    name: ArchiveName
    cluster: str
    files: Mapping[str, bytes]

    @property
    def infra_id(self) -> str:
        return infra_id_of(self.files)


# --- names ----------------------------------------------------------------------------------------------------------------------


def newest(names: Iterable[str], location: str) -> ArchiveName | None:
    """Return the archive of the highest generation, None without one. Raises StateError when there are two of them."""
    archives = sorted(archive for name in names if (archive := ArchiveName.parse(name)))
    if not archives:
        return None
    top = [archive for archive in archives if archive.generation == archives[-1].generation]
    if len(top) > 1:
        raise StateError(
            f"{location} has {len(top)} archives of generation {top[0].generation}, saved by different runs at the same time:"
            f" {', '.join(map(str, top))}. Delete the one of the run that failed"
        )
    return archives[-1]


def needs_restore(local: ClusterFiles, top: ArchiveName | None) -> bool:
    """Return whether the newest archive has something that the folder does not have: neither the same files nor older ones."""
    if top is None or not local.is_begun:
        return top is not None
    record = local.record
    if record is None:
        return top.digest != local.digest
    if not record.is_complete:
        return True
    recorded = ArchiveName.parse(record.archive)
    is_behind = recorded is None or recorded.generation <= top.generation
    return record.archive != str(top) and top.digest != local.digest and is_behind


def next_generation(local: ClusterFiles, top: ArchiveName | None, location: str) -> int:
    """Return the generation to save the folder as. Raises StateError when the store has files that this folder was not made from."""
    recorded = ArchiveName.parse(local.record.archive) if local.record else None
    if top is not None and recorded != top and (recorded is None or recorded.generation <= top.generation):
        raise StateError(
            f"The cluster folder was not saved: {location} has generation {top.generation}, saved by another run, and this folder continues"
            f" {f'generation {recorded.generation}' if recorded else 'none of them'}. Run the playbook again, which compares both first"
        )
    return max(top.generation if top else 0, recorded.generation if recorded else 0) + 1


# --- contents -------------------------------------------------------------------------------------------------------------------


def pack(local: ClusterFiles, cluster: str, generation: int, password: str) -> tuple[ArchiveName, bytes]:
    header = {"format": FORMAT, "cluster": cluster, "infra_id": local.infra_id, "generation": generation, "digest": local.digest}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in [(HEADER, json.dumps(header).encode()), *((FILES + name, local.files[name]) for name in sorted(local.files))]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    encrypted: bytes = _vault(password).encrypt(stream.getvalue())
    return ArchiveName(generation, local.digest, _checksum(encrypted)), encrypted


def unpack(name: str, content: bytes, cluster: str, password: str, location: str) -> Archive:
    """Return the files of an archive of this cluster. Raises StateError for a damaged or foreign one, and for a wrong password."""
    where = f"The archive {printable(name)} in {location}"
    parsed = ArchiveName.parse(name)
    if parsed is None or not content.startswith(MAGIC) or _checksum(content) != parsed.checksum:
        raise StateError(
            f"{where} is damaged: its {len(content)} bytes do not have the checksum in its name. Delete it to continue with the generation"
            " before it, if there is one"
        )
    try:
        packed: bytes = _vault(password).decrypt(content)
    except AnsibleVaultError as problem:
        raise StateError(f"{where} cannot be decrypted. Set openshift_state_password to the password it was saved with") from problem
    try:
        header, files = _read(packed)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, KeyError, TypeError) as problem:
        raise StateError(f"{where} was not written by these playbooks: {printable(str(problem))}. Nothing was restored") from problem
    if header["cluster"] != cluster:
        raise StateError(
            f"{where} is of the cluster {printable(str(header['cluster']))} (infraID {infra_id_of(files) or 'unknown'}), and the inventory"
            f" is of {cluster}. Set openshift_state_prefix to a prefix of its own for each cluster name"
        )
    return Archive(parsed, cluster, files)


def _read(packed: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header and files of a tar.gz. Raises ValueError for what no archive of this collection has."""
    inflate = zlib.decompressobj(wbits=GZIP)
    content = inflate.decompress(packed, MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    if not inflate.eof:
        raise ValueError("it is truncated")
    entries: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            if member.name in entries or len(entries) > MOST_FILES:
                raise ValueError(f"it has {member.name!r} twice, or more than {MOST_FILES} files")
            entries[member.name] = _content(archive, member)
    header = json.loads(entries.pop(HEADER))
    files = {name.removeprefix(FILES): text for name, text in entries.items()}
    if not isinstance(header, dict) or header["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    if header["digest"] != digest_of(files):
        raise ValueError("its files do not have the digest in its header")
    return header, files


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return a regular file that belongs into a cluster folder; raises ValueError for links, devices and other paths."""
    stream = archive.extractfile(member) if member.isreg() else None
    if stream is None:
        raise ValueError(f"{member.name!r} is no regular file")
    if member.name != HEADER:
        name = member.name.removeprefix(FILES)
        parts = PurePosixPath(name).parts
        is_plain = member.name.startswith(FILES) and "/".join(parts) == name and ".." not in parts and not name.startswith("/")
        if not is_plain or "\0" in name or not is_saved(name):
            raise ValueError(f"{member.name!r} is no file of a cluster folder")
    return stream.read()


def _vault(password: str) -> VaultLib:
    return VaultLib([("default", VaultSecret(password.encode()))])


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


# --- restore --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Restoration:
    """The files to write into a cluster folder, and the names of files to delete from it."""

    written: Mapping[str, bytes]
    deleted: tuple[str, ...] = ()


def restoration(local: ClusterFiles, archive: Archive, directory: str, location: str) -> Restoration:
    """Return how the folder gets the files of the archive. Raises StateError rather than overwrite what no archive has.

    Into a folder without an install, into one that was not changed since an older generation, and after an interrupted restore, all files
    are written. Into the folder of a running cluster, which was written with its kubeconfig, only those that it does not have.
    """
    other = f"the archive {archive.name} in {location} (infraID {archive.infra_id or 'none'}, generation {archive.name.generation})"
    is_interrupted = local.record is not None and not local.record.is_complete
    if not local.infra_id or is_interrupted or local.is_unchanged:
        is_bootstrapped = BOOTSTRAP_COMPLETE in archive.files
        extra = (name for name in local.files if name not in archive.files and is_saved(name, after_bootstrap=is_bootstrapped))
        return Restoration(archive.files, tuple(sorted(extra)))
    if local.infra_id != archive.infra_id:
        raise StateError(
            f"Nothing was restored: {directory} has the files of the install {local.infra_id}, and {other} is of another install of"
            f" {archive.cluster}. Move the folder away to continue with the archive, or delete the archive to continue with the folder"
        )
    if local.is_bootstrapped:
        return Restoration({name: content for name, content in archive.files.items() if name not in local.files})
    raise StateError(
        f"Nothing was restored: {directory} has files of the install {local.infra_id} that differ from the generation they were saved as,"
        f" and {other} was saved by another run. Move the folder away to continue with the archive, or delete the archive to continue with"
        " the folder"
    )
