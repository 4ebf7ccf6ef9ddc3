"""What computes is Python: YAML has expressions of one or two lines and no statements of Jinja."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path for folder in ("roles/*/vars", "roles/*/tasks", "playbooks") for place in ROOT.glob(folder) for path in place.rglob("*.yml")
)
EXPRESSION = re.compile(r"\{\{ .*? \}\}", re.DOTALL)
LONGEST = 2
"""Lines of one expression."""


def programs(path: Path) -> list[str]:
    """Return the statements of Jinja in a file, and its expressions of more lines than ``LONGEST``."""
    text = path.read_text(encoding="utf-8")
    return [line for line in text.splitlines() if "{%" in line] + [each for each in EXPRESSION.findall(text) if each.count("\n") >= LONGEST]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_yaml_has_no_programs(path: Path) -> None:
    assert programs(path) == []
