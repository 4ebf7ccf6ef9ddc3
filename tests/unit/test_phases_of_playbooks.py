"""Every playbook announces the phases of its table, each once and in their order, and ends a failure with the report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PHASE = "equinix_metal.openshift.phase"
PLAYS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))[0] for path in sorted((ROOT / "playbooks").glob("*.yml"))}
PLANS = {**dict.fromkeys(("install", "replace", "scale"), "validate_plan"), "destroy": "destroy_plan"}
"""The fact with the plan of a playbook that has one."""
WRITING = ["approve", "destroy", "install", "replace", "scale", "start", "stop"]


def tasks(entries: list[dict[str, Any]], folder: Path = ROOT / "playbooks") -> Iterator[dict[str, Any]]:
    """Yield the tasks of a play, those of imported files and of the files of phases too.

    Others, which are included several times, have phases without a number.
    """
    for entry in entries:
        yield entry
        phase = entry.get("ansible.builtin.include_tasks") if "validate_plan.due" in str(entry.get("when")) else None
        if "rescue" not in entry and (imported := entry.get("ansible.builtin.import_tasks") or phase):
            path = folder / imported
            yield from tasks(yaml.safe_load(path.read_text(encoding="utf-8")), path.parent)
        for section in ("block", "rescue", "always"):
            yield from tasks(entry.get(section, []), folder)


def test_what_writes_has_phases() -> None:
    assert [name for name, play in PLAYS.items() if "play_phases" in play.get("vars", {})] == WRITING


def test_plays_have_a_strategy_of_their_own() -> None:
    """Machines of pools are added to the inventory by add_host, which refuses the strategy free of a user's ansible.cfg."""
    assert {play["strategy"] for play in PLAYS.values()} == {"linear"}


@pytest.mark.parametrize("name", WRITING)
def test_the_phases_are_those_of_the_table_in_its_order(name: str) -> None:
    announced = [task["name"] for task in tasks(PLAYS[name]["tasks"]) if PHASE in task]
    assert announced == PLAYS[name]["vars"]["play_phases"]
    assert all(task.get("register") == "play_phase" for task in tasks(PLAYS[name]["tasks"]) if PHASE in task)
    plan = {"plan": f"{{{{ {PLANS[name]} | default(none) }}}}"} if name in PLANS else {}
    assert PLAYS[name]["module_defaults"][PHASE] == {"phases": "{{ play_phases }}", "log": "{{ play_phase.log | default([]) }}", **plan}


@pytest.mark.parametrize("name", WRITING)
def test_a_failure_is_reported_by_the_last_task(name: str) -> None:
    entries = PLAYS[name]["tasks"]
    (block,) = (entry for entry in entries if "rescue" in entry)
    assert block["rescue"][0]["ansible.builtin.import_tasks"] == "tasks/failure.yml"
    # After an `always` too: nothing is printed behind the report.
    assert entries[-1]["ansible.builtin.import_tasks"] == "tasks/fail.yml"
    assert entries[-2] is block
