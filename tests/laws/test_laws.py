"""The four laws, for every module that changes something, against the sandbox.

1. Check mode touches nothing and predicts ``changed`` and ``diff`` truly.
2. A second run is quiet: unchanged, no write.
3. ``absent`` twice is quiet; ``absent`` of what never was is quiet.
4. ``--diff`` says what really changed, as the API tells it before and after, and never shows a secret.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.running import RunningSandbox
from tests.laws.ground import laid
from tests.laws.playbook import Outcome, Task, run
from tests.laws.scenario import SECRET, Scenario
from tests.laws.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "equinix_metal.openshift"
ASK = Path(__file__).with_name("ask.py")

ELSEWHERE = {"csr_approval": "tests/cluster/test_csr_approval.py"}
"""Modules that speak to a cluster: their laws are held beside the cluster they need."""


def test_every_module_that_changes_something_has_a_scenario() -> None:
    names = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("[a-z]*.py"))
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-doc", "--type", "module", "--json", *(f"{COLLECTION}.{name}" for name in names)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    # A module that has nothing to show a difference of changes nothing.
    supports = {name: entry["doc"]["attributes"]["diff_mode"]["support"] for name, entry in json.loads(done.stdout).items()}
    changing = {name.rpartition(".")[2] for name, support in supports.items() if support != "N/A"}
    assert changing == {scenario.module for scenario in SCENARIOS} | set(ELSEWHERE)
    assert all((ROOT / path).is_file() for path in ELSEWHERE.values())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_laws(scenario: Scenario, sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path) -> None:
    with laid(scenario, sandbox, sandbox_environment) as ready:
        _hold(ready, sandbox, sandbox_environment, tmp_path)


def _hold(scenario: Scenario, sandbox: RunningSandbox, environment: dict[str, str], tmp_path: Path) -> None:
    def step(name: str, options: Any, *, check: bool = False) -> Task:
        return Task(name, f"{COLLECTION}.{scenario.module}", options, check)

    def look(name: str) -> Task:
        argv = [sys.executable, str(ASK), scenario.listing, str(tmp_path / name)]
        return Task(f"world: {name}", "ansible.builtin.command", {"argv": argv})

    # What a resource cannot do (a gateway never changes, a port is never absent) is left out.
    lives = [name for name in ("create", "change", "absent") if getattr(scenario, name) is not None]
    never = [step("never", scenario.never)] if scenario.never is not None else []
    change = [
        step("check change", scenario.change, check=True),
        step("change", scenario.change),
        look("changed"),
        step("change again", scenario.change),
    ]
    absent = [
        step("check absent", scenario.absent, check=True),
        step("absent", scenario.absent),
        look("gone"),
        step("absent again", scenario.absent),
        step("check absent again", scenario.absent, check=True),
    ]

    outcomes, printed = run(
        [
            *never,
            look("nothing"),
            step("check create", scenario.create, check=True),
            step("create", scenario.create),
            look("created"),
            step("create again", scenario.create),
            step("check create again", scenario.create, check=True),
            *(change if "change" in lives else []),
            *(absent if "absent" in lives else []),
        ],
        sandbox,
        environment,
        tmp_path,
    )

    def world(name: str) -> Any:
        return scenario.view(scenario.entries(json.loads((tmp_path / name).read_text(encoding="utf-8"))))

    def real(name: str) -> Outcome:
        outcome = outcomes[name]
        assert outcome.changed, f"{name} changed nothing"
        assert outcome.writes, f"{name} wrote nothing"
        return outcome

    # 1. Check mode.
    for name in lives:
        predicted, happened = outcomes[f"check {name}"], real(name)
        assert not predicted.writes, f"check mode wrote: {predicted.writes}"
        assert predicted.changed
        assert predicted.diff == happened.diff, f"{name} was predicted otherwise"

    # 2. and 3. Quiet.
    quiet = ["create again", "check create again", "change again", "absent again", "check absent again", "never"]
    for name in filter(outcomes.__contains__, quiet):
        assert not outcomes[name].changed, f"{name} says it changed: {outcomes[name].diff}"
        assert not outcomes[name].writes, f"{name} wrote: {outcomes[name].writes}"
        before, after = outcomes[name].diff
        assert before == after

    # 4. What the diff says is what the API says.
    if "absent" in lives:
        assert world("nothing") == world("gone") == {}
    moments = ["nothing", *({"create": "created", "change": "changed", "absent": "gone"}[name] for name in lives)]
    for name, earlier, later in zip(lives, moments, moments[1:], strict=False):
        before, after = outcomes[name].diff
        assert before != after
        assert _agrees(before, world(earlier)), f"{name}: before is {before}, the API said {world(earlier)}"
        assert _agrees(after, world(later)), f"{name}: after is {after}, the API said {world(later)}"
    assert not [secret for secret in (SECRET, *scenario.secrets) if secret in printed]
    assert sandbox.environment["METAL_AUTH_TOKEN"] not in printed


def _agrees(told: Any, true: Any) -> bool:
    """Whether everything that is told is true; what is not told may be anything."""
    if isinstance(told, dict) and isinstance(true, dict):
        return all(name in true and _agrees(value, true[name]) for name, value in told.items() if name in true or isinstance(value, dict))
    return bool(told == true)
