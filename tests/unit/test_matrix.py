"""The versions of ansible-core that tests are run with: ``tools/matrix.py`` and its table."""

from __future__ import annotations

import pytest
import yaml

from tests.contract.test_contracts import CHANGING
from tools import matrix
from tools.matrix import ROOT, Version

VERSIONS = [Version("2.17.14", ("3.11",)), Version("2.18.19", ("3.11",)), Version("2.19.14", ("3.11",))]


def test_the_collection_requires_the_oldest_version_that_is_tested() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["requires_ansible"] == f">={matrix.read_table()[0].series}.0"


def test_the_version_of_the_environment_is_in_the_table() -> None:
    pinned = (ROOT / "requirements" / "ansible.txt").read_text(encoding="utf-8").splitlines()
    assert [version for version in matrix.read_table() if f"ansible-core=={version.number}" in pinned]


def test_every_module_of_the_sample_has_a_contract_test() -> None:
    assert set(matrix.SAMPLE) <= {scenario.title for scenario in CHANGING}


@pytest.mark.parametrize(
    ("series", "short", "chosen"),
    [((), False, ["2.17", "2.18", "2.19"]), ((), True, ["2.17", "2.19"]), (("2.18",), False, ["2.18"]), (("2.18",), True, ["2.18"])],
)
def test_versions_are_chosen(series: tuple[str, ...], short: bool, chosen: list[str]) -> None:
    assert [version.series for version in matrix.choose(VERSIONS, series, short=short)] == chosen


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"matrix\.toml: 2\.9"):
        matrix.choose(VERSIONS, ["2.17", "2.9"], short=False)


def test_constraints_are_those_of_the_project_with_other_pins() -> None:
    text = "# made\nansible==12.3.0\nansible-core==2.19.14\nansible-lint==26.10.1\nPyYAML==6.0.3\nresolvelib==1.2.1\n"
    limits = matrix.constraints(text, ["ansible-core==2.17.14", "resolvelib==1.0.1"])
    assert limits.splitlines() == ["ansible-lint==26.10.1", "PyYAML==6.0.3", "ansible-core==2.17.14", "resolvelib==1.0.1"]


def test_the_tests_of_the_short_form_exist() -> None:
    assert not [path for path in (*matrix.LOADED, *matrix.SUITES) if not (ROOT / path).is_dir()]
