"""The recipes of docs/contributing.md: they name what exists, and each is followed once in a copy of the checkout.

``recipes`` has a patch for each: the change that a contributor makes by it, and before that the commands that show that nothing is missing.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "contributing.md"
PATCHES = Path(__file__).with_name("recipes")
ROW = re.compile(r"^\| (?P<files>[^|]*) \| (?P<contents>[^|]*) \|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Z][A-Z_]{3,}|[a-z]+(?:_[a-z]+)+")
"""A constant, or a name of a function."""
CHECK = re.compile(r"^Check: (.*)$", re.MULTILINE)
CHANGED = re.compile(r"^\+\+\+ b/(.*)$", re.MULTILINE)


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
        found = sorted(ROOT.glob(re.sub(r"<\w+>", "*", name)))
        assert found, f"{recipe}: there is no {name}"
        text += "\n".join(path.read_text(encoding="utf-8") for path in found if path.is_file())
    for quoted in QUOTED.findall(contents):
        if NAME.fullmatch(quoted):
            assert re.search(rf"\b{quoted}\b", text), f"{recipe}: {files} has no {quoted}"


def patch_of(recipe: str) -> Path:
    return PATCHES / f"{recipe.lower().replace(',', '').replace(' ', '-')}.patch"


def test_each_recipe_has_a_patch() -> None:
    assert {patch_of(recipe) for recipe in recipes()} == set(PATCHES.glob("*.patch"))


@pytest.mark.long
@pytest.mark.parametrize("recipe", recipes())
def test_a_recipe_is_complete(recipe: str, tmp_path: Path) -> None:
    copy, patch = tmp_path / "checkout", patch_of(recipe)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    changed = CHANGED.findall(patch.read_text(encoding="utf-8"))
    named = [Path(re.sub(r"<\w+>", "*", name)) for name in QUOTED.findall(recipes()[recipe])]
    assert [name for name in changed if not any(Path(name).match(str(pattern)) for pattern in named)] == []
    environment = {**os.environ, "PYTHONPATH": str(copy / "collections")}
    commands = [["git", "apply", "-C1", str(patch)]]
    commands += [[sys.executable, "-m", *check.split()] for check in CHECK.findall(patch.read_text(encoding="utf-8"))]
    for command in commands:
        came = subprocess.run(command, cwd=copy, env=environment, check=False, capture_output=True, text=True)
        assert came.returncode == 0, f"{recipe}: {' '.join(command)}\n{came.stdout[-3000:]}{came.stderr[-3000:]}"
