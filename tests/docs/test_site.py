"""The documentation site: its navigation, its links, and the whole build."""

from pathlib import Path

import pytest

from tools.site import __main__ as site

ROOT = Path(__file__).resolve().parents[2]


def test_each_page_for_users_is_in_the_navigation() -> None:
    pages = site.navigation((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    listed = [page for group in pages.values() for page in group]
    assert set(pages) == {"use", "reference"}
    assert len(listed) == len(set(listed))
    missing = {str(path.relative_to(ROOT).with_suffix("")) for path in ROOT.glob("docs/**/*.md")} - {"docs/README", *listed}
    assert not missing, "a row in the tables of docs/README.md is missing"


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a> <a href="b.html#gone">2</a> <a href="https://x.test/">3</a>', encoding="utf-8"
    )
    (tmp_path / "b.html").write_text(
        '<p id="there"><a href="c%20d.html">4</a> <img src="gone.png"> <a href="#there">5</a>', encoding="utf-8"
    )
    (tmp_path / "c d.html").write_text("", encoding="utf-8")
    assert site.broken_links(tmp_path) == ["a.html: b.html#gone", "b.html: gone.png"]


@pytest.mark.long
def test_the_whole_site_is_built(tmp_path: Path) -> None:
    built = site.build(tmp_path)
    start = (built / "README.html").read_text(encoding="utf-8")
    assert "docs/install.html" in start
    assert "reference/index.html" in start
    assert (built / "reference" / "metal_device_module.html").is_file()
    assert (built / "index.html").is_file()
