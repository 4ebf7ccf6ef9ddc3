# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from elsewhere (tags, names, messages of an API, output of programs), safe to print on a terminal or in a log."""

from __future__ import annotations

from typing import Any

LIMIT = 256
"""Characters: the longest name of a Kubernetes object (253) is not cut."""


def printable(text: Any, limit: int = LIMIT) -> str:
    r"""Return ``text`` as one line of at most ``limit`` characters that cannot pretend to be anything else.

    Control characters (C0 and C1, and with them ANSI escape sequences), line separators, bidirectional and other invisible formatting,
    blanks other than the ordinary one, and what Unicode has not assigned are written as ``\n``, ``\x1b``, ``\u202e``: all that
    ``str.isprintable`` excludes. A backslash of the text stays as it is, so that a text which has been through here does not change again.
    A longer text is cut, and its end says so with the original length. Anything that is not text is shown as ``str`` shows it; bytes are
    taken for UTF-8.
    """
    whole = text.decode("utf-8", "backslashreplace") if isinstance(text, (bytes, bytearray)) else str(text)
    if len(whole) <= limit and whole.isprintable():
        return whole
    # No character becomes shorter, so what lies behind the limit need not be read.
    escaped = "".join(_escaped(character) for character in whole[:limit])
    if len(whole) <= limit and len(escaped) <= limit:
        return escaped
    notice = f"... (cut, {len(whole)} characters)"
    return _cut(whole, limit - len(notice)) + notice if limit > len(notice) else _cut(whole, limit)


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape", "backslashreplace").decode("ascii")


def _cut(whole: str, room: int) -> str:
    """The beginning of the text that has room once escaped, without half an escape sequence at its end."""
    kept: list[str] = []
    for character in whole[: max(0, room)]:
        written = _escaped(character)
        room -= len(written)
        if room < 0:
            break
        kept.append(written)
    return "".join(kept)
