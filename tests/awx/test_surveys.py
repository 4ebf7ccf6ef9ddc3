"""The surveys of AWX's job templates: their questions, and what becomes of answers in a play."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.filter.rule import rule
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.awx import survey_answers
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from sandbox.testing.process import REPOSITORY
from tests.awx.jobs import Variables, unsafe
from tests.awx.objects import Item, inject, read_objects, survey_of
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


NOT_ASKED: Mapping[str, str] = {
    "openshift_cluster_name": "of the inventory: orphans.yml names it for another cluster",
    "openshift_base_domain": "as openshift_cluster_name",
    "openshift_kubeconfig": "a secret of several lines: openshift_awx_extra_vars or a credential",
    "openshift_awx_project": "of awx.yml, which is run outside of AWX",
}
"""Variables in messages that no survey asks for, each with the reason."""


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


def test_no_question_has_the_name_of_its_variable() -> None:
    """Nor is it a variable of hosts: an answer is a fact of the play's host alone."""
    assert {variable_of(name) for name in QUESTIONS} <= set(VARIABLES)
    assert all(name.startswith("survey_openshift_") for name in QUESTIONS)
    assert [name for name in QUESTIONS if VARIABLES[variable_of(name)].is_of_host] == []


def test_which_answers_are_set() -> None:
    blank = {"survey_openshift_a": None, "survey_openshift_b": "", "survey_openshift_c": " \n"}
    answers = {"survey_openshift_d": 0, "survey_openshift_e": False, "survey_openshift_f": "x"}
    assert survey_answers({**blank, **answers, "openshift_g": 1}) == {"openshift_d": 0, "openshift_e": False, "openshift_f": "x"}
    with pytest.raises(AnsibleFilterError, match=r"awx\.survey_answers"):
        rule("x", "awx.survey_answers")


def test_a_survey_asks_for_what_messages_tell_to_set() -> None:
    """A message that says -e openshift_... is of no use in AWX otherwise, where a job has no command line."""
    files = [
        path
        for folder in ("plugins", "roles", "playbooks")
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in (".py", ".yml") and "modules" not in path.relative_to(REPOSITORY).parts
    ]
    text = " ".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"""-e\s+(?:'\{")?(openshift_\w+)""", text))
    assert {"openshift_remove", "openshift_unlock", "openshift_orphans_delete", *NOT_ASKED} <= named
    assert named - set(NOT_ASKED) <= set(map(variable_of, QUESTIONS))
    for playbook, variable in (
        ("replace.yml", "openshift_least_workers"),
        ("replace.yml", "openshift_leave_undrained"),
        ("scale.yml", "openshift_remove_at_most"),
        ("scale.yml", "openshift_worker_quorum"),
        ("install.yml", "openshift_replace_failed"),
        ("playbooks/start.yml", "openshift_recover_nodes"),
    ):
        assert f"survey_{variable}" in {question["variable"] for question in survey_of(playbook)}, (playbook, variable)


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_answers_leave_inventory_and_template_as_they_are(tmp_path: Path, blank: str | None) -> None:
    names = sorted(map(variable_of, QUESTIONS))
    inventory = {name: f"inventory's {name}" for name in names[::2]}
    extra = {name: f"template's {name}" for name in names[1::2]}
    assert set_variables(tmp_path, inventory, extra, dict.fromkeys(QUESTIONS, blank)) == {**inventory, **extra}


@pytest.mark.parametrize("kind", [kind for kind in read_objects()["controller_credential_types"] if "extra_vars" in kind["injectors"]])
def test_blank_fields_of_a_credential_leave_the_inventory_as_it_is(tmp_path: Path, kind: Item) -> None:
    """AWX injects extra variables of blank fields, too."""
    fields = {field["id"]: f"value of {field['id']}" for field in kind["inputs"]["fields"]}
    required = {name: value for name, value in fields.items() if name in kind["inputs"]["required"]}
    names = [variable_of(name) for name in kind["injectors"]["extra_vars"]]
    assert set(names) <= set(VARIABLES)
    inventory = {name: f"inventory's {name}" for name in names}
    for given in (required, fields):
        injected = inject(kind, given, tmp_path).variables
        answered = {variable_of(name): value for name, value in injected.items() if value}
        assert set_variables(tmp_path, inventory, {}, injected) == {**inventory, **answered}


def test_answers_replace_what_the_inventory_sets(tmp_path: Path) -> None:
    """An answer is no template, and may be of the form of JSON or of a number."""
    texts = itertools.cycle(["worker-2, {{ lookup('pipe', 'id') }}", '{"worker": ["worker-0"]}', 3])
    answers = dict(zip(QUESTIONS, texts, strict=False))
    found = set_variables(tmp_path, dict.fromkeys(map(variable_of, QUESTIONS), "inventory"), {}, answers)
    assert found == {variable_of(name): answer for name, answer in answers.items()}


def test_an_answer_that_an_extra_variable_overrides_is_refused(tmp_path: Path) -> None:
    same = {"survey_openshift_least_workers": 3}
    assert set_variables(tmp_path, {}, {"openshift_least_workers": 3}, same) == {"openshift_least_workers": 3}
    with pytest.raises(AssertionError) as refusal:
        set_variables(tmp_path, {}, {"openshift_least_workers": 4}, same)
    text = " ".join(str(refusal.value).replace("\\n", " ").split())
    assert "The survey or a credential sets openshift_least_workers to 3, but an extra variable sets it to 4, which has precedence" in text
