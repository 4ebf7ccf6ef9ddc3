# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Public SSH keys as authorized_keys has them: one a line, perhaps with options before it, with comments and empty lines between.

The installer takes a text in which it finds one key, and sshd on the nodes takes each line for itself. So there are two questions here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass

OPTIONS = re.compile(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+[ \t]+')
"""What stands before a key: options with commas between them, whose values may have blanks in quotes (sshd(8))."""
CERTIFICATE = "-cert-v01@openssh.com"
CURVES = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
"""Length of a point by the name of its curve."""
NUMBERS = {"ssh-rsa": 2, "ssh-dss": 4}
"""Of how many numbers a key consists."""


@dataclass(frozen=True)
class Line:
    """One line that is neither empty nor a comment. ``kind`` is the kind of its key, empty when there is no whole key on the line;
    ``problem`` is why sshd ignores the line, or empty."""

    number: int
    kind: str
    problem: str


def read(text: str) -> list[Line]:
    """Return the lines that should hold a key."""
    return [_line(number, line) for number, line in _lines(text)]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.partition("\r")[0].strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _line(number: int, line: str) -> Line:
    # The key behind the first word, else behind the options and a word: as the installer's library searches it.
    options = OPTIONS.match(line)
    for rest in (line, line[options.end() :] if options else ""):
        word, *behind = rest.split(maxsplit=2)[:2] or [""]
        kind = _kind(behind[0]) if behind else ""
        if kind:
            return Line(number, kind, "" if word == kind else f"its key is {kind}, it says {word}")
    return Line(number, "", "no whole public key")


def _kind(encoded: str) -> str:
    """Return the kind of a key in base64, or nothing when it is none or not whole (RFC 4253, 6.6)."""
    try:
        name, rest = _string(base64.b64decode(encoded, validate=True))
        kind = name.decode("ascii")
        # A certificate of a key has numbers without a length: its content is not read.
        return kind if kind.endswith(CERTIFICATE) or _is_whole(kind, list(_strings(rest))) else ""
    except ValueError:
        return ""


def _string(blob: bytes) -> tuple[bytes, bytes]:
    """Return the first string of a key, after its length, and the rest. Raises ValueError when it is cut off."""
    length = int.from_bytes(blob[:4], "big")
    if len(blob) < 4 + length or len(blob) < 4:
        raise ValueError("cut off")
    return blob[4 : 4 + length], blob[4 + length :]


def _strings(blob: bytes) -> Iterator[bytes]:
    while blob:
        part, blob = _string(blob)
        yield part


def _is_whole(kind: str, parts: list[bytes]) -> bool:
    sizes = [len(part) for part in parts]
    if kind in NUMBERS:
        return len(parts) == NUMBERS[kind] and all(sizes)
    # Keys on hardware have the name of their application at their end.
    hardware = kind.startswith("sk-")
    if kind in ("ssh-ed25519", "sk-ssh-ed25519@openssh.com"):
        return sizes[:1] == [32] and len(parts) == 1 + hardware
    curve = re.fullmatch(r"(?:sk-)?ecdsa-sha2-(nistp\d+)(?:@openssh\.com)?", kind)
    if curve is None or curve[1] not in CURVES:
        return False
    return parts[:1] == [curve[1].encode()] and sizes[1:2] == [CURVES[curve[1]]] and len(parts) == 2 + hardware
