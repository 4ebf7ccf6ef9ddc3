"""Writes the surveys of AWX's job templates from the table of variables: ``python -m tools.awx_surveys``.

The table has type, choices and text of each variable; this file has which ones a template asks for.

No question has a default, which AWX would pass as an extra variable, in place of what the inventory sets. Nor has a question the name of
its variable, which an empty answer would override: playbooks/tasks/awx_answers.yml sets the variables of the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variable import Variable
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES

FILE = Path(__file__).resolve().parents[1] / "playbooks" / "vars" / "awx_surveys.yml"
HEAD = """\
---
# Made by `python -m tools.awx_surveys` from plugins/plugin_utils/settings/variables.py.
"""
_SIZES = ("openshift_pool_sizes",)
_REMOVAL = ("openshift_least_workers", "openshift_drain_timeout", "openshift_leave_undrained")
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "validate": (*_SIZES, "openshift_remove", "openshift_remove_at_most"),
    "install": (*_SIZES, "openshift_worker_quorum", "openshift_replace_failed"),
    "scale": (
        *_SIZES,
        "openshift_remove",
        "openshift_remove_at_most",
        *_REMOVAL,
        "openshift_worker_quorum",
        "openshift_replace_failed",
    ),
    "approve": ("openshift_recover_nodes", "openshift_join_window"),
    "replace": (
        "openshift_replace",
        "openshift_replace_pool",
        "openshift_replace_older_than",
        "openshift_replace_at_most",
        *_REMOVAL,
        "openshift_replace_failed",
        "openshift_etcd_backup",
    ),
    "status": (),
    "stop": ("openshift_stop_min_age",),
    "start": ("openshift_recover_nodes",),
    "adopt": (),
    "unlock": ("openshift_unlock",),
    "destroy": ("openshift_destroy_confirm", "openshift_destroy_without_state", "openshift_destroy_foreign_names"),
    "orphans": ("openshift_orphans_expected", "openshift_orphans_delete", "openshift_orphans_confirm"),
}
"""The variables that each template asks for: those that the messages of its playbook name with ``-e``, and what a launch decides."""

PREFIX = "survey_"
"""Before the name of a variable in its question."""

REQUIRED = frozenset({"openshift_destroy_confirm", "openshift_unlock"})
MOST_CHARACTERS = 4096
MOST = 2**31 - 1


def question(variable: Variable) -> dict[str, Any]:
    """Return the question of a survey for a variable, with the fields that AWX has."""
    text = re.sub(r"[A-Z]\((?P<value>[^)]*)\)", r"\g<value>", variable.text)
    is_required = variable.name in REQUIRED
    found: dict[str, Any] = {
        "question_name": _title(variable),
        "question_description": f"{text} Sets {variable.name}.",
        "variable": PREFIX + variable.name,
        "required": is_required,
        "type": "text",
        "default": "",
        "choices": "",
        # AWX accepts an empty answer to a required question otherwise.
        "min": 1 if is_required else 0,
        "max": MOST_CHARACTERS,
    }
    if variable.no_log:
        return {**found, "type": "password"}
    if variable.type == "bool" or variable.choices:
        choices = [str(choice) for choice in variable.choices] or ["false", "true"]
        return {**found, "type": "multiplechoice", "choices": choices, "min": None, "max": None}
    if variable.type == "int":
        return {**found, "type": "integer", "max": MOST}
    return found


def _title(variable: Variable) -> str:
    """Return the variable's name as words."""
    return variable.name.removeprefix("openshift_").replace("_", " ").capitalize()


def surveys() -> dict[str, dict[str, Any]]:
    """Return, for each template, the fields that a job template or workflow has of its survey."""
    found: dict[str, dict[str, Any]] = {}
    for name, variables in QUESTIONS.items():
        questions = [question(VARIABLES[variable]) for variable in variables]
        spec = {"name": "", "description": "", "spec": questions} if questions else {}
        found[f"awx_survey_{name}"] = {"survey_enabled": bool(questions), "survey_spec": spec}
    return found


class _Writer(yaml.SafeDumper):
    """Indents lists and repeats what an anchor would shorten."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def page() -> str:
    """Return the file."""
    return HEAD + yaml.dump(surveys(), Dumper=_Writer, sort_keys=False, width=130, allow_unicode=True)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    print(FILE)
