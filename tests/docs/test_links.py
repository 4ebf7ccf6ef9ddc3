"""Every link of the documentation leads to a file of the repository, and to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", ".github/*.md", "docs/**/*.md", "roles/*/README.md", "tests/*.md", "tools/**/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere."""
    found = []
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(f"{path}#{anchor}" if anchor else path)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []
