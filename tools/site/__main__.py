"""Builds the documentation site in .build/docs/html: the markdown pages of the repository, and the pages of all plugins and roles.

The markdown pages stay readable without the site: they are copied as they are, and get their place in the navigation from the tables of
docs/README.md. Sphinx' warnings are errors, so a reference that leads nowhere ends the build; after it the links of all HTML pages are
followed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build" / "docs"
COLLECTION = "equinix_metal.openshift"

TABLE_HEADER = re.compile(r"^\| (\w+) \| \|$")
TABLE_ENTRY = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\.md\)")


class BuildError(Exception):
    """The site cannot be built, with the reason."""


def navigation(index: str) -> dict[str, list[str]]:
    """Return the pages of each table of docs/README.md: its header -> the pages from the root, without ``.md``."""
    found: dict[str, list[str]] = {}
    header = ""
    for line in index.splitlines():
        if begun := TABLE_HEADER.match(line):
            header = begun[1]
        elif entry := TABLE_ENTRY.match(line):
            found.setdefault(header, []).append(f"docs/{entry[1]}")
    return found


def toctree(caption: str, pages: Sequence[str]) -> str:
    """Return the directive that puts pages into the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption.capitalize()}", "", *pages, "```", ""])


def tracked_files() -> list[Path]:
    """Return the files that git lists, also those not yet added: pages, and what they link to."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [Path(name) for name in listed if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def copy_pages(source: Path) -> None:
    """Copy the repository's files to ``source``, and add the navigation to its start page."""
    for name in tracked_files():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    readme = source / "README.md"
    text = readme.read_text(encoding="utf-8")
    pages = navigation((source / "docs" / "README.md").read_text(encoding="utf-8"))
    if not pages:
        raise BuildError("docs/README.md has no table of pages: the site would have no navigation")
    listed = {page for group in pages.values() for page in group}
    others = sorted(str(path.relative_to(source).with_suffix("")) for path in unlisted(source, listed))
    trees = [toctree(caption, group) for caption, group in pages.items()]
    trees += [toctree("collection", ["reference/index"]), toctree("development", others)]
    readme.write_text("\n".join([text, *trees]), encoding="utf-8")
    shutil.copyfile(ROOT / "tools" / "site" / "conf.py", source / "conf.py")


def unlisted(source: Path, listed: set[str]) -> Iterator[Path]:
    """Yield the pages that no table of docs/README.md has: those for developers."""
    for pattern in ("docs/**/*.md", "tests/README.md", "tools/words/README.md", "roles/*/README.md"):
        for path in source.glob(pattern):
            if str(path.relative_to(source).with_suffix("")) not in listed:
                yield path


def run(*command: str) -> None:
    """Run a program of the virtual environment; raises BuildError when it fails."""
    environment = {**os.environ, "ANSIBLE_LOCALHOST_WARNING": "False"}
    if subprocess.run(command, cwd=ROOT, check=False, env=environment, stdin=subprocess.DEVNULL).returncode:
        raise BuildError(f"{command[0]} failed, see above")


class _Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """Return the links to files or anchors that the site does not have, as ``page: link``. Links to other sites are not followed."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(broken))


def build(directory: Path) -> Path:
    """Build the site below ``directory``; return the folder of its pages."""
    shutil.rmtree(directory, ignore_errors=True)
    source, site = directory / "source", directory / "html"
    copy_pages(source)
    reference = source / "reference"
    reference.mkdir()
    run(
        *("antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error", "--no-add-antsibull-docs-version"),
        *("--dest-dir", str(reference), COLLECTION),
    )
    run("sphinx-build", "-q", "-W", "--keep-going", "-j", "auto", "-d", str(directory / "doctrees"), str(source), str(site))
    # The page that web servers send for a folder.
    (site / "index.html").write_text('<!doctype html><meta http-equiv="refresh" content="0; url=README.html">\n', encoding="utf-8")
    if broken := broken_links(site):
        raise BuildError("links that lead nowhere:\n  " + "\n  ".join(broken))
    return site


def main() -> int:
    """Build the site and print where it is."""
    try:
        site = build(BUILD)
    except BuildError as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    print(f"The documentation is in {(site / 'index.html').relative_to(ROOT)}: {len(list(site.rglob('*.html')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
