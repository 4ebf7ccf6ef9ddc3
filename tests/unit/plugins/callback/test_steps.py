"""The stdout callback steps: what is said and what failed, and with -v what Ansible's default callback prints."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[4]
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "Quiet", "ansible.builtin.set_fact": {"one": 1}},
    {"name": "Skipped", "ansible.builtin.set_fact": {"one": 1}, "when": False},
    {"name": "Changed", "ansible.builtin.command": "true"},
    {"name": "A phase", "equinix_metal.openshift.phase": {"phases": ["A phase", "Another"]}},
    {"name": "Lines", "equinix_metal.openshift.print_lines": {"lines": ["first line", "second line"]}},
    {"name": "A text", "ansible.builtin.debug": {"msg": "said [1/2]"}},
    {"name": "Texts", "ansible.builtin.debug": {"msg": ["list one", "list two"]}},
    {"name": "Items", "ansible.builtin.debug": {"msg": "item {{ item }}"}, "loop": [1, 2]},
    {"name": "A variable", "ansible.builtin.debug": {"var": "one"}},
    {"name": "Included", "ansible.builtin.include_tasks": "included.yml"},
    {"name": "Ignored", "ansible.builtin.command": "false", "ignore_errors": True},
    {"name": "Ignored items", "ansible.builtin.command": "{{ item }}", "loop": ["false", "true"], "ignore_errors": True},
)
SAID = [
    "[1/2] A phase",
    "first line",
    "second line",
    "said [1/2]",
    "list one",
    "list two",
    "item 1",
    "item 2",
    "one: 1",
]


def play(folder: Path, *arguments: str, tasks: Sequence[dict[str, Any]] = TASKS) -> subprocess.CompletedProcess[str]:
    (folder / "included.yml").write_text(yaml.safe_dump([{"name": "Inner", "ansible.builtin.set_fact": {"two": 2}}]), encoding="utf-8")
    python = {"ansible_python_interpreter": sys.executable}
    written = {"name": "Try", "hosts": "localhost", "connection": "local", "gather_facts": False, "vars": python, "tasks": list(tasks)}
    (folder / "play.yml").write_text(yaml.safe_dump([written]), encoding="utf-8")
    return subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", "localhost,", folder / "play.yml", *arguments],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_STDOUT_CALLBACK": "equinix_metal.openshift.steps"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_said_is_printed_and_no_task(tmp_path: Path) -> None:
    done = play(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[: len(SAID)] == SAID
    assert re.fullmatch(r"localhost : ok=\d+ changed=3 unreachable=0 failed=0 skipped=1 rescued=0 ignored=2", lines[-1])
    assert "TASK" not in done.stdout
    assert "included" not in done.stdout
    assert "fatal" not in done.stdout + done.stderr


def test_a_failure_is_printed_in_full_with_its_task(tmp_path: Path) -> None:
    failing = {"name": "Failing", "ansible.builtin.fail": {"msg": "for a good reason"}}
    done = play(tmp_path, tasks=[*TASKS[:3], failing])
    assert done.returncode == 2
    assert re.search(r"^TASK \[Failing\] \*+$", done.stdout, re.MULTILINE)
    assert "TASK [Quiet]" not in done.stdout
    assert "fatal: [localhost]: FAILED!" in done.stdout
    assert "for a good reason" in done.stdout
    assert done.stdout.rstrip().endswith("localhost : ok=2 changed=1 unreachable=0 failed=1 skipped=1 rescued=0 ignored=0")


def test_verbose_it_prints_every_task(tmp_path: Path) -> None:
    done = play(tmp_path, "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    names = re.findall(r"^TASK \[(.*)\]", done.stdout, re.MULTILINE)
    assert {task["name"] for task in TASKS} - {"Skipped"} <= set(names)
    assert "PLAY [Try]" in done.stdout
    assert "PLAY RECAP" in done.stdout
