"""The parts of ``make nightly``: every long test is in one of them, and a part ends when its time is over."""

import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import nightly as nightly_tests
from tools.nightly import PARTS, ROOT, Part

LONG = re.compile(r"pytest\.mark\.(?:long|e2e)\b")


def long_files() -> list[str]:
    files = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path != Path(__file__))
    return [str(path.relative_to(ROOT)) for path in files if is_long(path)]


def is_long(path: Path) -> bool:
    listed = (ROOT / re.split(r"::|\[", start)[0] for start in nightly_tests())
    return any(path.is_relative_to(place) for place in listed) or bool(LONG.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("start", nightly_tests())
def test_what_is_listed_exists(start: str) -> None:
    path, _colons, name = start.partition("::")
    assert (ROOT / path.split("[")[0]).exists()
    assert not name or f"def {name.split('[')[0]}(" in (ROOT / path).read_text(encoding="utf-8")


def places(part: Part) -> list[str]:
    """Return where the tests of a part are: its paths, and packages that are run as programs."""
    programs = [command[1].replace(".", "/") for command in part.commands if command[0] == "-m"]
    return [*(path.split("::")[0] for path in part.paths), *programs]


@pytest.mark.parametrize("file", long_files())
def test_a_file_with_long_tests_is_in_one_part(file: str) -> None:
    owners = [name for name, part in PARTS.items() if any(Path(file).is_relative_to(place) for place in places(part))]
    shares = [PARTS[name].share for name in owners]
    assert shares == (
        ["1/1"] * 2 if file.endswith("test_each_write.py") else [f"{number}/{len(shares)}" for number in range(1, len(shares) + 1)]
    )
    assert owners


def test_the_paths_of_parts_exist() -> None:
    paths = {path.split("::")[0] for part in PARTS.values() for path in part.paths}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_workflow_runs_every_part() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["nightly"]["strategy"]["matrix"]["part"] == list(PARTS)
