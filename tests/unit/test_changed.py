"""Which tests ``make check`` runs for a change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import changed
from tools.changed import ROOT, TABLE

PREFIX = "from ansible_collections.equinix_metal.openshift.plugins.module_utils"
TESTS = {
    "tests/unit/test_a.py": changed.imports_of(f"{PREFIX}.metal import device\n"),
    "tests/unit/test_b.py": changed.imports_of(f"{PREFIX}.metal.device import read\nimport tools.matrix\n"),
    "tests/metal_api/test_bgp.py": changed.imports_of("import pytest\n"),
}


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["tests/unit/test_a.py"], ["tests/unit/test_a.py"]),
        (["tools/matrix.py"], ["tests/unit/test_b.py"]),
        (["metal_api/bgp.py"], ["tests/metal_api/test_bgp.py"]),
        (["metal_api/app.py", "tests/e2e/test_install.py", "COPYING"], []),
        (["galaxy.yml"], ["tests/unit/test_artifact.py"]),
        (
            ["plugins/module_utils/metal/device.py"],
            ["tests/unit/test_a.py", "tests/unit/test_architecture.py", "tests/unit/test_b.py"],
        ),
        (["docs/dns.md"], ["tests/docs/test_links.py", "tests/docs/test_site.py"]),
    ],
)
def test_tests_follow_from_changed_files(files: list[str], chosen: list[str]) -> None:
    assert changed.select(files, TESTS) == chosen


def test_the_tests_of_the_table_exist() -> None:
    assert [test for tests in TABLE.values() for test in tests if not (ROOT / test).exists()] == []


def test_the_index_has_every_suite() -> None:
    tests = changed.index()
    assert "tools.changed" in tests["tests/unit/test_changed.py"]
    assert {suite for suite in changed.SUITES if any(test.startswith(suite) for test in tests)} == set(changed.SUITES)


def test_changes_are_counted_from_the_merge_base(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@x.test"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_text(name, encoding="utf-8")
        git("add", *names)
        git("commit", "-m", "a change")

    git("init", "--initial-branch=main")
    commit("old", "gone")
    git("switch", "-c", "branch")
    commit("committed")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("new", encoding="utf-8")
    git("switch", "main")
    commit("of-main")
    git("switch", "branch")
    assert changed.changed_files(tmp_path) == ["committed", "new"]
