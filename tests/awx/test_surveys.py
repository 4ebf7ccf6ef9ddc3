"""The surveys of AWX's job templates: their questions, and what becomes of answers in a play."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.testing.process import REPOSITORY
from tests.awx.jobs import Variables, unsafe
from tests.awx.objects import Item
from tools import awx_surveys

QUESTIONS: dict[str, Item] = {
    question["variable"]: question for survey in awx_surveys.surveys().values() for question in survey["survey_spec"].get("spec", [])
}
PLAY = f"""\
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.import_tasks: {REPOSITORY}/playbooks/tasks/awx_answers.yml
    - ansible.builtin.copy:
        dest: result.json
        mode: "0600"
        content: "{{{{ dict(names | zip(query('ansible.builtin.vars', *names))) | to_json }}}}"
"""


def variable_of(question: str) -> str:
    return question.removeprefix("survey_")


def set_variables(folder: Path, inventory: dict[str, Any], extra: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a play with this inventory, the extra variables of a template, and answers as AWX writes them."""
    names = sorted({*inventory, *extra})
    (folder / "play.yml").write_text(PLAY, encoding="utf-8")
    (folder / "hosts.yml").write_text(json.dumps({"all": {"vars": {**inventory, "names": names}}}), encoding="utf-8")
    (folder / "extra.yml").write_text(yaml.dump({**extra, **unsafe(answers)}, Dumper=Variables), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "hosts.yml", "play.yml", "-e", "@extra.yml"]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return found


def test_no_question_has_a_default() -> None:
    """AWX passes a default as an extra variable, in place of what the inventory sets."""
    assert {question["default"] for question in QUESTIONS.values()} == {""}


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_answers_leave_inventory_and_template_as_they_are(tmp_path: Path, blank: str | None) -> None:
    names = sorted(map(variable_of, QUESTIONS))
    inventory = {name: f"inventory's {name}" for name in names[::2]}
    extra = {name: f"template's {name}" for name in names[1::2]}
    assert set_variables(tmp_path, inventory, extra, dict.fromkeys(QUESTIONS, blank)) == {**inventory, **extra}


def test_answers_replace_what_the_inventory_sets(tmp_path: Path) -> None:
    """An answer is no template, and may be of the form of JSON or of a number."""
    texts = itertools.cycle(["worker-2, {{ lookup('pipe', 'id') }}", '{"worker": ["worker-0"]}', 3])
    answers = dict(zip(QUESTIONS, texts, strict=False))
    found = set_variables(tmp_path, dict.fromkeys(map(variable_of, QUESTIONS), "inventory"), {}, answers)
    assert found == {variable_of(name): answer for name, answer in answers.items()}
