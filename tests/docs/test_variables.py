"""The table of variables is complete, what is generated from it is committed."""

import re
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import VARIABLES
from tools.variables import EVERY_CLUSTER, ROLES, ROOT, argument_specs, files


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_committed_is_what_is_generated(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == files()[path], "make it anew: python -m tools.variables"


def test_every_variable_is_read_somewhere() -> None:
    playbooks = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("playbooks/**/*.yml"))
    unused = {
        name
        for name, variable in VARIABLES.items()
        if not (variable.read_by or variable.is_of_host or re.search(rf"\b{name}\b", playbooks))
    }
    assert not unused


def test_every_variable_that_is_read_is_declared() -> None:
    pattern = re.compile(r"(?<![\w.'\"-])(?:openshift|metal)_[a-z0-9_]+(?!\s*:)\b")
    sources = [*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/defaults/main.yml")]
    expressions = [text for path in sources for text in re.findall(r"\{\{(.*?)\}\}", path.read_text(encoding="utf-8"), re.DOTALL)]
    assert not {name for text in expressions for name in pattern.findall(text)} - set(VARIABLES)
    filters = (ROOT / "plugins" / "filter" / "machines.py").read_text(encoding="utf-8")
    assert not set(re.findall(r'"((?:openshift|metal)_[a-z_]+)"', filters)) - set(VARIABLES)


def test_pages_name_variables_that_exist() -> None:
    # docs/coming-from.md names those that are gone, which tests/unit/plugins/plugin_utils/settings/test_removed.py checks.
    pages = [ROOT / "README.md", *(set(ROOT.glob("docs/*.md")) - {ROOT / "docs" / "coming-from.md"})]
    named = {name for page in pages for name in re.findall(r"`(openshift_[a-z0-9_]+)`", page.read_text(encoding="utf-8"))}
    modules = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    # A page may name a prefix of several.
    assert {name for name in named - modules if not any(variable.startswith(name) for variable in VARIABLES)} == set()


def test_a_default_is_a_constant_of_its_type_or_computed() -> None:
    for name, variable in VARIABLES.items():
        assert not (variable.required and (variable.default is not None or variable.expression)), name
        assert bool(variable.computed) == (bool(variable.expression) and variable.default is None), name
        if variable.default not in (None, ""):
            result = ArgumentSpecValidator({name: {**variable.spec(), "choices": list(variable.choices) or None}}).validate(
                {name: variable.default}
            )
            assert not result.error_messages, result.error_messages


def test_the_surface_is_small() -> None:
    assert len(EVERY_CLUSTER) == 10
    assert len(VARIABLES) <= 200
    assert sum(len(specs) for specs in map(options_of_all_entries, ROLES)) <= 250


def options_of_all_entries(role: str) -> set[str]:
    entries = yaml.safe_load(argument_specs(role))["argument_specs"].values()
    return {name for entry in entries for name in entry.get("options") or {}}


def test_few_variables_are_times() -> None:
    """The others are the defaults of modules and constants of roles, which ``openshift_time_scale`` stretches."""
    assert len([name for name, variable in VARIABLES.items() if variable.unit]) <= 12
