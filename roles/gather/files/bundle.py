# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pack what was found into an archive that can be shown to others: no secret is in it.

Usage: bundle.py PATH, with this as JSON on standard input (where no list of processes shows it), each part of it optional:

- ``contents``: a dictionary of names in the archive and what they hold;
- ``folder``, the cluster's, with ``folder_files`` and ``folder_secrets``: patterns of files below it to put in, and of files that hold
  nothing but secrets. What is not there is passed over;
- ``files``: paths of further files and folders to put in; archives among them are opened;
- ``consoles``, serial consoles to read, ``journals``, addresses of machines by hostname, and ``console_key``, the file of the private key
  for both (``remote_logs.py`` beside this file);
- ``secrets``: texts, lists or dictionaries of which every text is a secret;
- ``keep``: how many archives of this cluster are kept, the newest ones. 0 or nothing keeps all.

Writes PATH (tar.gz) for its owner alone and prints as JSON ``path``, ``entries``, ``left_out``, ``missing`` (``consoles`` and ``journals``
if one could not be read), ``redacted`` (how often something was taken out) and ``deleted``, the older archives. Only what this program has
written is deleted: a file with such a name that has no such contents stays, and does not count.

What is secret is found by ``plugins/plugin_utils/programs/redaction.py`` of the same collection. Nothing but Python's own library is used,
since this runs on the computer Ansible runs on.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.programs.redaction import Redactor, secrets_in
    from ansible_collections.equinix_metal.openshift.roles.gather.files.remote_logs import JOURNAL, read_logs
else:
    # A program, not a plugin: nothing here loads collections.
    sys.path += [str(Path(__file__).resolve().parents[3] / "plugins" / "plugin_utils" / "programs"), str(Path(__file__).resolve().parent)]
    from redaction import Redactor, secrets_in
    from remote_logs import JOURNAL, read_logs

NAME = re.compile(r"(?P<cluster>.+)-failed-[0-9]{8}T[0-9]{6}Z\.tar\.gz", re.DOTALL)
"""The name of an archive, such as demo.metal.test-failed-20261121T071000Z.tar.gz."""

ARCHIVES_DEEP = 3
"""How deep archives within archives are opened."""

LARGEST = 5_000_000
"""Characters of one entry; of a longer one its end is kept."""


class Archive:
    """Collects entries, cleans each of them, and writes a tar.gz for its owner alone."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._entries: dict[str, bytes] = {}
        self.left_out: list[dict[str, str]] = []
        """What could not be had, each with ``name`` and ``reason``."""

    @property
    def names(self) -> list[str]:
        return sorted(self._entries)

    def add_data(self, name: str, value: Any) -> None:
        """Lists and dictionaries as JSON, a text as it is."""
        if isinstance(value, str):
            self._add_text(name, value)
        else:
            self._add_text(name, json.dumps(self._redactor.data(value), indent=2, sort_keys=True, default=str) + "\n")

    def add_file(self, path: Path, name: str | None = None) -> None:
        """A file; of a folder every file in it. What cannot be read is reported and does not stop the collection."""
        name = name or path.name
        try:
            if path.is_dir():
                for inner in sorted(path.iterdir()):
                    self.add_file(inner, f"{name}/{inner.name}")
            elif path.is_file():
                self._add_content(name, path.read_bytes(), ARCHIVES_DEEP)
            else:
                self.leave_out(name, "there is no such file")
        except OSError as error:
            self.leave_out(name, error.strerror or str(error))

    def _add_content(self, name: str, content: bytes, depth: int) -> None:
        text = _text(content)
        if text is not None:
            self._add_text(name, text)
        elif not depth:
            self.leave_out(name, "an archive too deep in others")
        else:
            try:
                for inner, unpacked in _unpacked(name, content):
                    self._add_content(inner, unpacked, depth - 1)
            except (OSError, EOFError, tarfile.TarError, zlib.error):
                # Nobody can say what is in it, so nobody can say that there is no secret in it.
                self.leave_out(name, "neither text nor an archive")

    def _add_text(self, name: str, text: str) -> None:
        if len(text) > LARGEST:
            # A line or a key cut in two could hold half a secret, which no rule knows.
            text = text[-LARGEST:].partition("\n")[2]
            cut, end, rest = text.partition("-----END")
            text = rest if end and "-----BEGIN" not in cut else text
            self.leave_out(name, f"all but its last {LARGEST} characters")
        self._entries[_safe(self._redactor.text(name))] = self._redactor.text(text).encode()

    def leave_out(self, name: str, reason: str) -> None:
        self.left_out.append({"name": self._redactor.text(name), "reason": reason})

    def write(self, path: Path) -> None:
        """Write it beside its place and move it there: there is a whole archive or none."""
        top = path.name.removesuffix(".tar.gz")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
                for name in self.names:
                    entry = tarfile.TarInfo(f"{top}/{name}")
                    entry.size, entry.mode, entry.mtime = len(self._entries[name]), 0o600, int(time.time())
                    archive.addfile(entry, io.BytesIO(self._entries[name]))
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink()
            raise


def _text(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files in a tar, packed or not, or the one file in a gzip."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield f"{name}/{member.name}", stream.read()
    except tarfile.ReadError:
        yield name.removesuffix(".gz"), gzip.decompress(content)


def _safe(name: str) -> str:
    """A name that stays inside the archive when it is unpacked."""
    return "/".join(part for part in PurePosixPath(name).parts if part not in ("/", "..")) or "unnamed"


def known_secrets(values: Iterable[Any], files: Iterable[Path]) -> Iterator[str]:
    """The secrets that were given, and those in files of which every text is one.

    Raises OSError or UnicodeDecodeError for one that cannot be read: what is in it could not be taken out.
    """
    for value in values:
        yield from secrets_in(value)
    for file in files:
        yield from secrets_in(file.read_text(encoding="utf-8"))


def below(asked: Mapping[str, Any], key: str) -> list[Path]:
    """The files below the cluster's folder by the patterns under ``key``, each once, in the order of the patterns."""
    folder = Path(asked.get("folder") or "/nonexistent")
    return list(dict.fromkeys(found for pattern in asked.get(key, []) for found in sorted(folder.glob(pattern))))


def prune(path: Path, keep: int) -> list[str]:
    """Delete the older archives of the cluster whose newest is ``path``, but for the newest ``keep``; returns their paths."""
    name = NAME.fullmatch(path.name)
    if keep < 1 or name is None:
        return []
    # The name ends with the time: in the order of the names the newest is the last.
    alike = [each for each in sorted(path.parent.iterdir()) if (other := NAME.fullmatch(each.name)) and other["cluster"] == name["cluster"]]
    written = [each for each in alike if is_bundle(each)]
    deleted = []
    for each in written[:-keep]:
        try:
            each.unlink()
        except OSError:
            continue  # it is gone, or may not be deleted: the next run tries again
        deleted.append(str(each))
    return deleted


def is_bundle(path: Path) -> bool:
    """Return whether this program has written the file: an archive with one folder of its own name that holds ``failure.json``."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with tarfile.open(path) as archive:
            return f"{path.name.removesuffix('.tar.gz')}/failure.json" in archive.getnames()
    except (OSError, EOFError, tarfile.TarError, zlib.error):
        return False


def remote_logs(asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return which logs to read over SSH, by file. Consoles of one hostname, as of a failed device and its replacement, have ids."""
    logs = {
        f"journals/{name}.log": {"user": "core", "host": address, "port": 0, "command": JOURNAL}
        for name, address in asked.get("journals", {}).items()
    }
    consoles = asked.get("consoles", [])
    times = Counter(each["hostname"] for each in consoles)
    # After the journals: on a service without the command the session of a console ends by its time limit alone.
    for each in consoles:
        suffix = "" if times[each["hostname"]] == 1 else f"-{each['user']}"
        logs[f"consoles/{each['hostname']}{suffix}.log"] = {**each, "command": "log"}
    return logs


def pack(path: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Write the archive; returns what the program prints."""
    keep = int(asked.get("keep") or 0)
    redactor = Redactor(known_secrets(asked.get("secrets", []), below(asked, "folder_secrets")))
    archive = Archive(redactor)
    for name, value in asked.get("contents", {}).items():
        archive.add_data(name, value)
    for file in [*below(asked, "folder_files"), *map(Path, asked.get("files", []))]:
        archive.add_file(file)
    asked_for = remote_logs(asked)
    for name, log in zip(asked_for, read_logs([*asked_for.values()], asked.get("console_key", "")), strict=True):
        if log.text:
            archive.add_data(name, log.text)
        if log.problem:
            archive.leave_out(name, log.problem)
    if archive.left_out:
        archive.add_data("left-out.json", archive.left_out)
    archive.write(path)
    deleted = prune(path, keep)
    incomplete = {each["name"].partition("/")[0] for each in archive.left_out}
    missing = [kind for kind in ("consoles", "journals") if kind in incomplete]
    return {
        "path": str(path),
        "entries": archive.names,
        "left_out": archive.left_out,
        "missing": missing,
        "redacted": redactor.count,
        "deleted": deleted,
    }


def main() -> None:
    try:
        answer = pack(Path(sys.argv[1]), json.load(sys.stdin))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"Could not write {sys.argv[1]}: {error}")
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
