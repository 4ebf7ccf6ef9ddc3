"""The table of variables is complete, what is generated from it is committed, and no number of seconds hides in a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variable import PRIVATE
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import (
    HOST_DEVICE_OPTIONS,
    VARIABLES,
)
from tools.variables import CARRIED, EVERY_CLUSTER, ROLES, ROOT, SETTINGS, argument_specs, files, options, settings

TASKS = sorted(path for folder in ("roles/*/tasks", "playbooks") for path in ROOT.glob(f"{folder}/**/*.yml") if path.parent.name != "vars")
LIMIT = re.compile(r"(\w+_)?(timeout|retries|delay|interval|async|seconds|minutes|lifetime|sleep)")
FROM_FRAGMENTS = {
    "metal_api_timeout": ("_metal", "metal_api_timeout"),
    "metal_api_retries": ("_metal", "metal_api_retries"),
    "openshift_wait_interval": ("_wait", "wait_interval"),
    "openshift_progress_interval": ("_wait", "progress_interval"),
    "openshift_time_scale": ("_wait", "time_scale"),
}
"""Variables that playbooks give to all modules of a group, with the fragment and the option that documents them."""


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_committed_is_what_is_generated(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == files()[path], "make it anew: python -m tools.variables"


def test_every_variable_and_option_has_a_text() -> None:
    devices = {f"metal_{name}" for name in HOST_DEVICE_OPTIONS}
    assert {name for name, variable in VARIABLES.items() if not variable.text} == devices
    assert not [name for role in ROLES for name, spec in options(role).items() if not spec.get("description")]


def test_every_variable_is_read_somewhere() -> None:
    playbooks = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("playbooks/**/*.yml"))
    unused = {
        name
        for name, variable in VARIABLES.items()
        if not (variable.options or variable.in_preflight or variable.is_of_host or re.search(rf"\b{name}\b", playbooks))
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


def test_a_limit_has_a_unit() -> None:
    limited = [name for name in VARIABLES if LIMIT.fullmatch(name) and not name.endswith("retries")]
    assert not [name for name in limited if not VARIABLES[name].unit]
    # Its text reads alone, in `ansible-doc`, too.
    assert not [name for name, variable in VARIABLES.items() if variable.unit and f"in {variable.unit}" not in variable.text]


def test_options_of_roles_exist() -> None:
    written = {role: yaml.safe_load(argument_specs(role))["argument_specs"]["main"].get("options", {}) for role in ROLES}
    carried = {name for name in CARRIED if not name.startswith(PRIVATE)}
    assert not carried - {name for specs in written.values() for name in specs}
    assert SETTINGS in written["validate"]
    assert len({variable.name for variable in settings()}) == len(settings())


@pytest.mark.parametrize("variable", FROM_FRAGMENTS)
def test_a_default_is_that_of_the_modules(variable: str) -> None:
    fragment, option = FROM_FRAGMENTS[variable]
    source = (ROOT / "plugins" / "doc_fragments" / f"{fragment}.py").read_text(encoding="utf-8")
    documented = yaml.safe_load(re.split(r'(?:CONNECTION|DOCUMENTATION) = r"""', source)[1].partition('"""')[0])["options"][option]
    assert (VARIABLES[variable].default, VARIABLES[variable].type) == (documented["default"], documented["type"])


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


PREFIX = "equinix_metal.openshift."
# awx.yml connects to AWX alone, with the modules of awx.awx.
PLAYBOOKS = sorted(set(ROOT.glob("playbooks/*.yml")) - {ROOT / "playbooks" / "awx.yml"})


def defaults_of_plays() -> Mapping[str, Mapping[str, Any]]:
    """What playbooks give to all modules of a group, by group."""
    found = yaml.safe_load((ROOT / "playbooks" / "vars" / "connections.yml").read_text(encoding="utf-8"))
    return {name.removeprefix("connection_"): given for name, given in found.items() if name.startswith("connection_")}


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.name)
def test_playbooks_connect_alike(path: Path) -> None:
    (play,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert "vars/connections.yml" in play["vars_files"]
    given = {name.removeprefix(f"group/{PREFIX}"): value for name, value in play["module_defaults"].items() if name.startswith("group/")}
    assert given == {group: f"{{{{ connection_{group} }}}}" for group in defaults_of_plays()}
