# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backup and restore of a state folder: one archive with the state, the CA, the token and the Ironic of its own."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metal_api.state_folder import StartError, locked

DATABASES: Final = ("metal.sqlite", "ironic/ironic.sqlite")
FILES: Final = (
    *("token", "tls/ca.pem", "tls/ca.key", "audit.log"),
    *("ironic/password", "ironic/database-is-complete"),
)
"""What is kept besides the databases; all else is made at the next start."""


def backup(state: Path, archive: Path) -> list[str]:
    """Write a state folder to ``archive`` (gzip), also while its server runs. Returns the names in it. Raises :class:`StartError`.

    It has secrets: the token, the CA's key and the credentials of the BMCs. Its owner alone may read it.
    """
    if not (state / DATABASES[0]).is_file():
        raise StartError(f"--state {state}: no state of a server is there")
    if archive.exists():
        raise StartError(f"{archive} exists already: name another file")
    fresh = archive.with_name(archive.name + ".new")
    try:
        fresh.unlink(missing_ok=True)
        fresh.touch(mode=0o600)
        with tempfile.TemporaryDirectory(dir=fresh.parent, prefix="backup-") as folder, tarfile.open(fresh, "w:gz") as written:
            for name in DATABASES:
                if (state / name).is_file():
                    copy = Path(folder) / "copy.sqlite"
                    _copy(state / name, copy)
                    written.add(copy, name)
                    copy.unlink()
            for name in FILES:
                if (state / name).is_file():
                    written.add(state / name, name)
            names = written.getnames()
        fresh.replace(archive)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise StartError(f"the backup {archive} cannot be written: {error}") from None
    return names


def restore(archive: Path, state: Path) -> list[str]:
    """Make the state folder of a backup, which must not have a state yet. Returns the names in it. Raises :class:`StartError`."""
    with locked(state, "server"):
        if (state / DATABASES[0]).exists():
            raise StartError(f"--state {state}: there is a state already; restore into an empty folder")
        try:
            with tarfile.open(archive, "r:gz") as read, _restored(state) as folder:
                known = {*DATABASES, *FILES}
                names = read.getnames()
                if unknown := sorted(set(names) - known):
                    raise StartError(f"{archive} is no backup of a server: it has {', '.join(unknown[:3])}")
                if DATABASES[0] not in names:
                    raise StartError(f"{archive} is no backup of a server: {DATABASES[0]} is missing")
                for member in read.getmembers():
                    _extract(read, member, folder / member.name)
        except (OSError, tarfile.TarError, EOFError) as error:
            raise StartError(f"the backup {archive} cannot be restored: {error}") from None
    return names


@contextlib.contextmanager
def _restored(state: Path) -> Iterator[Path]:
    """Yield a folder whose content is moved into ``state`` when all of it is there; the state's database comes last."""
    with tempfile.TemporaryDirectory(dir=state, prefix="restore-") as folder:
        yield Path(folder)
        for name in (*FILES, *reversed(DATABASES)):
            made = Path(folder) / name
            if made.exists():
                (state / name).parent.mkdir(exist_ok=True, mode=0o700)
                made.replace(state / name)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = archive.extractfile(member)
    if content is None:
        raise StartError(f"the archive is no backup of a server: {member.name} is no file")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with content, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while block := content.read(1 << 20):
            file.write(block)


def _copy(source: Path, target: Path) -> None:
    """Copy a database as of one moment, also while another process writes it."""
    with (
        contextlib.closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as read,
        contextlib.closing(sqlite3.connect(target)) as write,
    ):
        target.chmod(0o600)
        read.backup(write)
