"""Check spelling and terms: ``python -m tools.words.check``.

Both checks are codespell's. Spelling is checked in every file that git lists. Terms are checked in the paths that ``checked.txt`` lists:
``glossary.txt`` says which words are wrong there and which are right, ``allowed.txt`` where a wrong word is right after all.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).resolve().parent
ANY_WORD = "[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
"""A word of a text or a part of an identifier: ``strangerClient``, ``StrangerClient`` and ``the_stranger`` all have ``stranger``."""
HINT = "terms: {path} lists the terms to use; an exception is a pattern in {allowed} or `codespell:ignore WORD` in the line"


def entries(path: Path) -> Iterator[str]:
    """Yield the lines of a list, without comments and empty lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def read_glossary(path: Path) -> dict[str, str]:
    """Return the wrong words and phrases, in lower case, and what to write instead of each. Raises ValueError for a malformed line."""
    glossary: dict[str, str] = {}
    for entry in entries(path):
        wrong, arrow, right = (part.strip() for part in entry.partition("->"))
        if not (wrong and arrow and right):
            raise ValueError(f"{path}: not 'wrong, wrong -> right': {entry}")
        for term in wrong.split(","):
            key = " ".join(term.lower().split())
            if not re.fullmatch("[a-z]+(?:[ '][a-z]+)*", key):
                raise ValueError(f"{path}: not one or several words: {term.strip()!r} in {entry}")
            if key in glossary:
                raise ValueError(f"{path}: listed twice: {key}")
            glossary[key] = right
    return glossary


def spellings(term: str) -> list[str]:
    """Return a term as texts and as identifiers write it: ``give back``, ``give_back`` and ``give-back``."""
    return list(dict.fromkeys(term.replace(" ", joint) for joint in (" ", "_", "-")))


def dictionary(glossary: dict[str, str]) -> str:
    """Return the glossary as a dictionary of codespell. The comma at the end of a line says that nothing is replaced automatically."""
    return "".join(f"{spelling}->{right.rstrip(',')},\n" for term, right in glossary.items() for spelling in spellings(term))


def word_pattern(glossary: dict[str, str]) -> str:
    """Return the regular expression that finds what is looked up in the dictionary: phrases first, then single words."""
    phrases = sorted((spelling for term in glossary if " " in term for spelling in spellings(term)), key=len, reverse=True)
    if not phrases:
        return ANY_WORD
    return f"(?<![A-Za-z])(?i:{'|'.join(map(re.escape, phrases))})(?![A-Za-z])|{ANY_WORD}"


def listed_files(root: Path, paths: Sequence[str] = ()) -> list[str]:
    """Return the files that git tracks or would track, of ``paths`` (git's pathspecs) when any are given.

    Raises ValueError for a path without a file.
    """

    def ls(*pathspecs: str) -> list[str]:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *pathspecs]
        names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
        return [name for name in names if name and (root / name).is_file() and not (root / name).is_symlink()]

    if lost := [path for path in paths if not ls(path)]:
        raise ValueError(f"no such file or folder: {', '.join(lost)}")
    return sorted(set(ls(*paths)))


def check_spelling(root: Path) -> bool:
    """Check the spelling of every file, as ``[tool.codespell]`` in pyproject.toml sets it. Returns whether it is right."""
    return _codespell(root, listed_files(root))


def check_terms(root: Path, lists: Path, paths: Sequence[str] = ()) -> bool:
    """Check the terms in ``paths``, or in those of ``checked.txt``. Returns whether they are right."""
    glossary = read_glossary(lists / "glossary.txt")
    files = listed_files(root, paths or list(entries(lists / "checked.txt")))
    # These files consist of wrong words.
    files = [name for name in files if (root / name).parent != lists]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as words:
        words.write(dictionary(glossary))
        words.flush()
        options = ["--dictionary", words.name, "--regex", word_pattern(glossary)]
        if allowed := list(entries(lists / "allowed.txt")):
            options += ["--ignore-regex", "|".join(f"(?:{pattern})" for pattern in allowed)]
        clean = _codespell(root, files, *options)
    if not clean:
        folder = lists.relative_to(root)
        print(HINT.format(path=folder / "glossary.txt", allowed=folder / "allowed.txt"), flush=True)
    return clean


def _codespell(root: Path, files: Sequence[str], *options: str) -> bool:
    """Run codespell, whose exit code is 65 for what it has found. Raises CalledProcessError when it failed otherwise."""
    if not files:
        return True
    done = subprocess.run([sys.executable, "-m", "codespell_lib", "--check-hidden", *options, "--", *files], cwd=root, check=False)
    if done.returncode not in (0, 65):
        done.check_returncode()
    return not done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Check spelling and terms.")
    parser.add_argument("paths", nargs="*", help="check the terms in these files and folders instead of those of checked.txt")
    options = parser.parse_args()
    try:
        # Both, so that one run shows everything.
        clean = [check_terms(ROOT, LISTS, options.paths), bool(options.paths) or check_spelling(ROOT)]
    except ValueError as error:
        sys.exit(f"words: {error}")
    return not all(clean)


if __name__ == "__main__":
    sys.exit(main())
