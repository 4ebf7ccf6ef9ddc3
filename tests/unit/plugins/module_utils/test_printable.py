"""Text from elsewhere cannot forge a line, colour a terminal, turn its direction or fill a log."""

import sys
import unicodedata
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import LIMIT, printable

CASES: list[tuple[Any, str]] = [
    ("worker-0", "worker-0"),
    ("Zürich 東京 ok", "Zürich 東京 ok"),
    ("a\nfatal: [localhost]: FAILED!", "a\\nfatal: [localhost]: FAILED!"),
    ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    ("title\x1b]0;pwned\x07", "title\\x1b]0;pwned\\x07"),
    ("line\u2028paragraph\u2029", "line\\u2028paragraph\\u2029"),
    ("admin\u202egpj.exe", "admin\\u202egpj.exe"),
    ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
    ("tag\U000e0041", "tag\\U000e0041"),
    ("half a surrogate \ud800", "half a surrogate \\ud800"),
    (b"bytes \xff\n", "bytes \\xff\\n"),
    (None, "None"),
    (["a\n"], "['a\\n']"),
]


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_what_is_written(text: Any, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown, "a text that has been through does not change again"


def test_every_character_of_unicode_becomes_one_visible_line() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        shown = printable(character)
        assert shown.isprintable()
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            assert shown.isascii() and shown.startswith("\\"), hex(number)


@pytest.mark.parametrize("text", ["x" * 200_000, "\x1b" * 200_000, "ab\u202e" * 70_000, "\n" * (LIMIT // 2 + 1)])
@pytest.mark.parametrize("limit", [LIMIT, 1000, 64, 30, 8, 0])
def test_a_long_text_is_cut_and_says_so(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert len(shown) <= limit
    assert printable(shown, limit) == shown
    if limit >= 30:
        assert shown.endswith(f"... (cut, {len(text)} characters)") or shown == text.replace("\n", "\\n")
