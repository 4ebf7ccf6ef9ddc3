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
KINDS = re.compile(r"ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com")
CERTIFICATE = "-cert-v01@openssh.com"


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
        strings = _strings(base64.b64decode(encoded, validate=True))
        kind = next(strings, b"").decode("ascii")
        # A certificate of a key has numbers without a length: its content is not read.
        return kind if kind.endswith(CERTIFICATE) or (KINDS.fullmatch(kind) and list(strings)) else ""
    except ValueError:
        return ""


def _strings(blob: bytes) -> Iterator[bytes]:
    """Yield the strings of a key, each after its length. Raises ValueError when one is cut off."""
    while blob:
        end = 4 + int.from_bytes(blob[:4], "big")
        if len(blob) < end:
            raise ValueError("cut off")
        yield blob[4:end]
        blob = blob[end:]
