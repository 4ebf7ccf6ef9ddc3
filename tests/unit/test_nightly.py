"""The parts of ``make nightly``: every long test is in one of them, and a part ends when its time is over."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import nightly as nightly_tests
from tests.e2e.resume import RUNS
from tools import nightly
from tools.matrix import read_table
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


@pytest.mark.parametrize("file", long_files())
def test_a_file_with_long_tests_is_in_one_part(file: str) -> None:
    owners = [name for name, part in PARTS.items() if any(Path(file).is_relative_to(path.split("::")[0]) for path in part.paths)]
    assert owners == (["destroyed", "continued"] if file.endswith("test_each_write.py") else owners[:1])
    assert owners


def test_the_paths_of_parts_exist() -> None:
    paths = [path.split("::") for part in PARTS.values() for path in part.paths]
    assert [path for path, *_name in paths if not (ROOT / path).exists()] == []
    each_write = (ROOT / paths_of_each_write()[0].split("::")[0]).read_text(encoding="utf-8")
    tests = set(re.findall(r"(?m)^def (test_\w+)", each_write))
    assert {path.split("::")[1] for path in paths_of_each_write()} == tests


def test_the_parts_of_chaos_are_all_its_runs() -> None:
    numbers = [command[-1] for part in PARTS.values() for command in part.commands if "tests.e2e.chaos" in command]
    first, last = (number.split("-") for number in numbers)
    assert (first[0], int(first[1]) + 1, last[1]) == ("0", int(last[0]), str(RUNS - 1))


def paths_of_each_write() -> list[str]:
    return [path for part in PARTS.values() for path in part.paths if "::" in path]


def test_every_supported_version_of_ansible_core_is_a_part() -> None:
    assert {name for name in PARTS if name.startswith("matrix-")} == {f"matrix-{version.series}" for version in read_table()}


def test_the_workflow_runs_every_part() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["nightly"]["strategy"]["matrix"]["part"] == list(PARTS)


def test_arguments_are_for_pytest() -> None:
    assert nightly.commands_of(Part("tests", ("tests/a",)), ["-n", "2"])[0][-5:] == ["-m", "e2e or long", "tests/a", "-n", "2"]
    [command] = nightly.commands_of(PARTS["matrix-2.17"], ["-n", "2"])
    assert command[1:] == ["-m", "tools.matrix", "2.17", "--", "-n", "2"]


def test_a_part_that_takes_too_long_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    # As in the background of a shell.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sleeps = "import time\ntry: time.sleep(600)\nexcept KeyboardInterrupt: print('interrupted')"
    # The time is enough for Python to start on a loaded computer; the wait for it is over at once when it is interrupted.
    part = Part("sleeps", commands=(("-c", sleeps), ("-c", "print('the next command')")))
    failure = nightly.run_part(part, [], limit=5.0)
    assert failure == "not finished within 0 minutes"
    output = capfd.readouterr().out
    assert output.split("\n")[:2] == ["interrupted", "the next command"]


def test_a_failed_command_is_reported() -> None:
    assert nightly.run([sys.executable, "-c", "raise SystemExit(3)"], 60) == "ended with 3"
    assert nightly.run([sys.executable, "-c", ""], 60) == ""
