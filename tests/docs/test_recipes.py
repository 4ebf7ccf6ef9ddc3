"""The recipes of docs/contributing.md name files that exist, and names that are in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "contributing.md"
ROW = re.compile(r"^\| (?P<files>[^|]*) \| (?P<contents>[^|]*) \|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Z][A-Z_]{3,}|[a-z]+(?:_[a-z]+)+")
"""A constant, or a name of a function."""


def recipes() -> dict[str, str]:
    """Return the text of each recipe by its heading."""
    parts = re.split(r"(?m)^### (Add .*)$", PAGE.read_text(encoding="utf-8").split("\n## The rules")[0])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows() -> list[tuple[str, str, str]]:
    return [
        (heading, row["files"], row["contents"])
        for heading, text in recipes().items()
        for row in ROW.finditer(text)
        if row["files"] not in ("file", "---")
    ]


@pytest.mark.parametrize(("recipe", "files", "contents"), rows())
def test_a_recipe_names_what_exists(recipe: str, files: str, contents: str) -> None:
    text = ""
    for name in QUOTED.findall(files):
        # A placeholder stands for any name: its folder exists and has files of this kind.
        pattern = re.sub(r"<\w+>", "*", name)
        found = sorted(ROOT.glob(pattern))
        assert found, f"{recipe}: there is no {name}"
        text += "\n".join(path.read_text(encoding="utf-8") for path in found if path.is_file())
    for quoted in QUOTED.findall(contents):
        if NAME.fullmatch(quoted):
            assert re.search(rf"\b{quoted}\b", text), f"{recipe}: {files} has no {quoted}"
