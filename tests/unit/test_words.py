"""The check of spelling and terms: ``tools/words/check.py``, with codespell, on a small repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.words import check

GLOSSARY = "# a comment\nstranger, strangers -> unauthorized client\nodd -> malformed\ngive back, gives back -> delete, release\n"

Found = Callable[..., list[str]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with lists of its own, and the folder ``checked`` in checked.txt."""
    lists = tmp_path / "lists"
    for folder in (lists, tmp_path / "checked", tmp_path / "other"):
        folder.mkdir()
    (lists / "glossary.txt").write_text(GLOSSARY, encoding="utf-8")
    (lists / "allowed.txt").write_text("# contexts\nodd parity\n", encoding="utf-8")
    (lists / "checked.txt").write_text("# folders\nchecked\n", encoding="utf-8")
    (tmp_path / "checked" / "clean.txt").write_text("Nothing wrong\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def found(repository: Path, capfd: pytest.CaptureFixture[str]) -> Found:
    """Write a text to a file and return what the check of terms reports."""

    def write_and_check(text: str, name: str = "checked/page.md", *paths: str) -> list[str]:
        (repository / name).write_text(text, encoding="utf-8")
        clean = check.check_terms(repository, repository / "lists", paths)
        lines = capfd.readouterr().out.splitlines()
        assert clean is (lines == [])
        return lines[:-1]

    return write_and_check


WRONG = (
    "A stranger asks",
    "STRANGERS ask",
    "class Stranger:",
    "class StrangerClient:",
    "rogueStranger = 1",
    "def the_stranger_asks():",
    "name: stranger.metal.test",
    "They give back the device",
    "def give_back(device):",
    "def not_give_back(device):",
    "It Gives back a device",
    "a give-back device",
    "'odd'",
)
RIGHT = (
    "strangeness",
    "oddly, oddity",
    "odd parity",
    "give the device back",
    "forgive backup",
    "They give it",
    "odd = 1  # codespell:ignore odd",
)


def test_wrong_terms_are_found_in_texts_and_in_identifiers(found: Found) -> None:
    lines = found("\n".join(WRONG))
    assert [line.split(" ")[0] for line in lines] == [f"checked/page.md:{number}:" for number in range(1, len(WRONG) + 1)]
    assert {line.lower().partition(" ==> ")[2] for line in lines} == {"unauthorized client", "malformed", "delete, release"}


def test_other_words_and_allowed_contexts_are_not_found(found: Found) -> None:
    assert found("\n".join(RIGHT)) == []


def test_a_path_without_files_is_an_error(repository: Path) -> None:
    """A folder that was renamed must not drop out of the check unnoticed."""
    (repository / "lists" / "checked.txt").write_text("checked\nrenamed\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no such file or folder: renamed"):
        check.check_terms(repository, repository / "lists")


@pytest.mark.parametrize(
    "line", ["stranger", "stranger ->", "-> client", "odd -> malformed\nOdd -> unexpected", "o.d -> odd", ", odd -> malformed"]
)
def test_a_malformed_glossary_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "glossary.txt").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"glossary\.txt: "):
        check.read_glossary(tmp_path / "glossary.txt")


def test_misspelled_words_are_found_in_every_file(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check.check_spelling(repository)
    (repository / "other" / ".hidden.yml").write_text("name: Recieve the token\n", encoding="utf-8")  # codespell:ignore recieve
    assert not check.check_spelling(repository)
    assert capfd.readouterr().out == "other/.hidden.yml:1: Recieve ==> Receive\n"  # codespell:ignore recieve
