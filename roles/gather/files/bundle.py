# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pack what was found into an archive that can be shown to others: no secret is in it.

Usage: bundle.py PATH, with this as JSON on standard input (where no list of processes shows it), each part of it optional:

- ``contents``: a dictionary of names in the archive and what they hold;
- ``files``: paths of files and folders to put in; archives among them are opened;
- ``secrets``: texts, lists or dictionaries of which every text is a secret;
- ``secret_files``: paths of files that hold nothing but secrets.

Writes PATH (tar.gz) for its owner alone and prints ``entries``, ``left_out`` and ``redacted``, how often something was taken out, as JSON.

Two nets lie one behind the other. What is known to be secret goes wherever it stands, also quoted, escaped or in base64. What looks like a
secret goes too: by the name it stands under, or by its form. Rather too much goes than too little: a log with a hole can be read, a key
that is out cannot be called back. Nothing but Python's own library is used, since this runs on the computer Ansible runs on.
"""

from __future__ import annotations

import base64
import binascii
import functools
import gzip
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

REDACTED = "<redacted>"

SHORTEST_SECRET = 6
"""Characters. What is shorter stands in too many places where it is no secret."""

SHORTEST_LINE = 20
"""Characters of a line of a longer secret (a key) that is one by itself."""

_DEPTH = 4
"""How often base64 is looked into: an Ignition file in an Ignition file in a log."""

_SECRET_NAME = re.compile(
    r"""
    pass(?:word|wd|phrase)? | secret | token | credential | api[_-]?key | access[_-]?key | private[_-]?key | key[_-]?data | kubeconfig
    | ^(?:auth|auths|authorization|cookie|md5|psk|pin|customdata|userdata|user_?data|ssh_?key_?file|signature)$
    | ^x-.*(?:token|key|auth|signature|credential) | _?auth$ | dockerconfigjson
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PUBLIC_NAME = re.compile(
    r"(?:names?|ids?|url|type|kind|mode|file|path|bytes|count|algorithm|expires?|timeout|required|ref|mounts?)$", re.IGNORECASE
)
"""What ends like this speaks about a secret: ``tokenName``, ``secret_file``, ``credentialsMode``."""

_NAME = r"[A-Za-z][\w.-]{0,60}"
_PEM = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY)-----.*?(?:-----END (?P=kind)-----|\Z)", re.DOTALL)
_BLOCK = re.compile(
    rf"(?m)^(?P<indent>[ \t]*)(?:- )?(?P<quote>[\"']?)(?P<name>{_NAME})(?P=quote):[ \t]*[|>][-+0-9]*[ \t]*\n"
    r"(?P<block>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)"
)
"""A text of several lines in YAML."""
_KEY = re.compile(rf"\\*[\"']?\b(?P<name>{_NAME})\\*[\"']?\s*(?:=>|[:=])[ \t]*")
_VALUE = re.compile(r""""(?:[^"\\]|\\.)*"|(?P<escape>\\+)".*?(?<!\\)(?P=escape)"|'(?:[^'\\]|\\.)*'|\[[^\]\n]*\]|[^\s,;&}\]"'\\]+""")
_NO_VALUE = frozenset({"", REDACTED, "null", "None", "true", "false", "True", "False", "{", "[", "|", ">", "|-", ">-"})
_HEADER = re.compile(r"(?im)\b(?P<before>(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\n\"',}]+)")
_SCHEME = re.compile(r"\b(?P<before>(?:Bearer|Basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})")
_USERINFO = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://)(?P<value>[^\s/@\"'<>]+)(?=@)")
_FORMS = (
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),  # JSON web token
    re.compile(r"\bsha256~[A-Za-z0-9_-]{20,}"),  # OpenShift's OAuth tokens
    re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),  # Kubernetes' bootstrap tokens
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # access keys of S3
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


class Redactor:
    """Takes what is secret out of text and of data. ``count`` is how often it found something."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.count = 0
        forms = {form for secret in secrets for form in _forms(secret)}
        # The longest first: a part of a secret must not be taken out of its whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """``text`` without what is secret in it."""
        return self._text(text, _DEPTH)

    def data(self, value: Any, name: str = "") -> Any:
        """The same for what is in lists and dictionaries; what stands under the name of a secret goes whole."""
        if name and is_secret_name(name) and value not in (None, "", [], {}, True, False):
            self.count += 1
            return REDACTED
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.data(item, str(key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _text(self, text: str, depth: int) -> str:
        if self._known is not None:
            text = self._replace(self._known, text)
        text = self._replace(_PEM, text)
        text = _BLOCK.sub(self._block, text)
        text = self._behind(_HEADER, text)
        text = self._behind(_SCHEME, text)
        text = self._behind(_USERINFO, text)
        text = self._pairs(text)
        for form in _FORMS:
            text = self._replace(form, text)
        return _BASE64.sub(lambda match: self._encoded(match[0], depth), text) if depth else text

    def _replace(self, pattern: re.Pattern[str], text: str) -> str:
        text, found = pattern.subn(REDACTED, text)
        self.count += found
        return text

    def _behind(self, pattern: re.Pattern[str], text: str) -> str:
        return pattern.sub(self._counted(lambda match: f"{match['before']}{REDACTED}"), text)

    def _counted(self, replace: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        def counted(match: re.Match[str]) -> str:
            self.count += match["value"].strip() != REDACTED
            return replace(match)

        return counted

    def _pairs(self, text: str) -> str:
        """Values behind the names of secrets: ``name: value``, ``name=value``, ``"name": "value"``, also within a text within a text."""
        parts, position = [], 0
        for key in _KEY.finditer(text):
            if key.start() < position or not is_secret_name(key["name"]):
                continue
            value = _VALUE.match(text, key.end())
            if value is None or value[0].strip("\\\"'") in _NO_VALUE:
                continue
            self.count += 1
            quote = re.match(r"\\*[\"']|", value[0])
            mark = quote[0] if quote else ""
            parts += [text[position : key.end()], mark, REDACTED, mark]
            position = value.end()
        return "".join([*parts, text[position:]])

    def _block(self, match: re.Match[str]) -> str:
        if not is_secret_name(match["name"]):
            return match[0]
        self.count += 1
        head = match[0][: match.start("block") - match.start()]
        return f"{head}{match['indent']}  {REDACTED}\n"

    def _encoded(self, run: str, depth: int) -> str:
        """A run of base64 goes whole when what it stands for has a secret in it."""
        for text in _decoded(run):
            before = self.count
            clean = self._text(text, depth - 1)
            if clean != text:
                self.count = before + 1
                return REDACTED
        return run


@functools.lru_cache(maxsize=4096)  # a log has few names, many times
def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is a secret, going by the name alone."""
    return bool(_SECRET_NAME.search(name)) and not _PUBLIC_NAME.search(name)


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret text in ``value``: a text itself, what a JSON text has of credentials, and what lists and dictionaries hold."""
    if isinstance(value, str):
        yield value
        inner = _parsed(value)
        if inner is not None:
            yield from secrets_in(inner)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            # Of a registry's entry the address of a person is none, and its host names are public.
            if not isinstance(item, str) or str(name) not in ("email", "username"):
                yield from secrets_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from secrets_in(item)


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def _forms(secret: str) -> Iterator[str]:
    """The spellings under which a secret is found again: plain, in JSON, in an address, and in base64 wherever it begins there."""
    secret = secret.strip()
    if len(secret) < SHORTEST_SECRET:
        return
    lines = [line.strip() for line in secret.splitlines()]
    for text in {secret, *(line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith("-----"))}:
        yield text
        yield json.dumps(text)[1:-1]
        yield urllib.parse.quote(text, safe="")
        yield urllib.parse.quote(text)
        yield urllib.parse.quote_plus(text)
        for shift in range(3):
            # Three bytes are four characters: behind one or two other bytes the same text reads differently, but for its edges.
            core = base64.b64encode(b"\0" * shift + text.encode()).rstrip(b"=").decode()
            core = core[(0, 2, 3)[shift] :]
            core = core[: len(core) - 1 if len(text.encode()) + shift % 3 else len(core)]
            if len(core) >= SHORTEST_SECRET:
                yield core
                yield core.replace("+", "-").replace("/", "_")


def _decoded(run: str) -> Iterator[str]:
    """What a run of base64 may stand for, when that is text."""
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(run[: len(run) - (len(run) % 4 == 1)] + "=" * (-len(run) % 4), validate=True)
        yield content.decode("utf-8")
    except (binascii.Error, ValueError):
        return


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
        """A file; of a folder every file in it. What cannot be read is told, and stops nothing."""
        name = name or path.name
        try:
            if path.is_dir():
                for inner in sorted(path.iterdir()):
                    self.add_file(inner, f"{name}/{inner.name}")
            elif path.is_file():
                self._add_content(name, path.read_bytes(), ARCHIVES_DEEP)
            else:
                self._leave_out(name, "there is no such file")
        except OSError as error:
            self._leave_out(name, error.strerror or str(error))

    def _add_content(self, name: str, content: bytes, depth: int) -> None:
        text = _text(content)
        if text is not None:
            self._add_text(name, text)
        elif not depth:
            self._leave_out(name, "an archive too deep in others")
        else:
            try:
                for inner, unpacked in _unpacked(name, content):
                    self._add_content(inner, unpacked, depth - 1)
            except (OSError, EOFError, tarfile.TarError, zlib.error):
                # Nobody can say what is in it, so nobody can say that there is no secret in it.
                self._leave_out(name, "neither text nor an archive")

    def _add_text(self, name: str, text: str) -> None:
        if len(text) > LARGEST:
            # A line or a key cut in two could hold half a secret, which no rule knows.
            text = text[-LARGEST:].partition("\n")[2]
            cut, end, rest = text.partition("-----END")
            text = rest if end and "-----BEGIN" not in cut else text
            self._leave_out(name, f"all but its last {LARGEST} characters")
        self._entries[_safe(self._redactor.text(name))] = self._redactor.text(text).encode()

    def _leave_out(self, name: str, reason: str) -> None:
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


def known_secrets(values: Iterable[Any], files: Iterable[str]) -> Iterator[str]:
    """The secrets that were given, and those in files of which every text is one. A file that is not there has none.

    Raises OSError or UnicodeDecodeError for one that cannot be read: what is in it could not be taken out.
    """
    for value in values:
        yield from secrets_in(value)
    for file in files:
        if Path(file).exists():
            yield from secrets_in(Path(file).read_text(encoding="utf-8"))


def pack(path: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Write the archive; returns what the program prints."""
    redactor = Redactor(known_secrets(asked.get("secrets", []), asked.get("secret_files", [])))
    archive = Archive(redactor)
    for name, value in asked.get("contents", {}).items():
        archive.add_data(name, value)
    for file in asked.get("files", []):
        archive.add_file(Path(file))
    if archive.left_out:
        archive.add_data("left-out.json", archive.left_out)
    archive.write(path)
    return {"entries": archive.names, "left_out": archive.left_out, "redacted": redactor.count}


def main() -> None:
    try:
        answer = pack(Path(sys.argv[1]), json.load(sys.stdin))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"Could not write {sys.argv[1]}: {error}")
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
