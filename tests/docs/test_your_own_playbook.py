"""docs/your-own-playbook.md shows every playbook in docs/examples, and a molecule scenario plays each."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yml"))
SCENARIOS = ROOT / "tests" / "molecule"


def role_of(playbook: Path) -> str:
    (play,) = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    (task,) = play["tasks"]
    return str(task["ansible.builtin.include_role"]["name"]).rpartition(".")[2]


@pytest.mark.parametrize("playbook", EXAMPLES, ids=lambda playbook: playbook.stem)
def test_a_playbook_is_on_the_page_and_played_by_the_scenario_of_its_role(playbook: Path) -> None:
    assert f"(examples/{playbook.name})" in (ROOT / "docs" / "your-own-playbook.md").read_text(encoding="utf-8")
    converge = SCENARIOS / role_of(playbook) / "converge.yml"
    (imported,) = (play["ansible.builtin.import_playbook"] for play in yaml.safe_load(converge.read_text(encoding="utf-8")))
    assert (converge.parent / imported).resolve() == playbook


def test_scenarios_share_one_molecule_yml() -> None:
    # Otherwise molecule, with one state for all of them, warns in each that the file was changed.
    files = list(SCENARIOS.glob("*/molecule.yml"))
    assert {path.resolve() for path in files} == {SCENARIOS / "default" / "molecule.yml"}
    script = (ROOT / "tools" / "molecule.sh").read_text(encoding="utf-8")
    assert all(path.parent.name in script for path in files)
