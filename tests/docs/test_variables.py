"""The table of variables is complete, what is generated from it is committed, and no number of seconds hides in a task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import HOST_DEVICE_OPTIONS, VARIABLES
from tests.ansible_doc import documentation_of
from tools.variables import CARRIED, ROLES, ROOT, SETTINGS, argument_specs, files, options, settings

TASKS = sorted(path for folder in ("roles/*/tasks", "playbooks") for path in ROOT.glob(f"{folder}/**/*.yml") if path.parent.name != "vars")
LIMIT = re.compile(r"(\w+_)?(timeout|retries|delay|interval|async|seconds|minutes|lifetime|sleep)")
FROM_FRAGMENTS = {
    "metal_api_timeout": ("_metal", "metal_api_timeout"),
    "metal_api_retries": ("_metal", "metal_api_retries"),
    "openshift_api_timeout": ("_cluster", "api_timeout"),
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
    written = {role: yaml.safe_load(argument_specs(role))["argument_specs"]["main"]["options"] for role in ROLES}
    assert not set(CARRIED) - {name for specs in written.values() for name in specs}
    assert SETTINGS in written["validate"]
    assert len({variable.name for variable in settings()}) == len(settings())


@pytest.mark.parametrize("variable", FROM_FRAGMENTS)
def test_a_default_is_that_of_the_modules(variable: str) -> None:
    fragment, option = FROM_FRAGMENTS[variable]
    source = (ROOT / "plugins" / "doc_fragments" / f"{fragment}.py").read_text(encoding="utf-8")
    documented = yaml.safe_load(source.partition('DOCUMENTATION = r"""')[2].partition('"""')[0])["options"][option]
    assert (VARIABLES[variable].default, VARIABLES[variable].type) == (documented["default"], documented["type"])


def limits(value: Any) -> Iterator[tuple[str, Any]]:
    """Every limit that stands in tasks, with its value."""
    if isinstance(value, list):
        for item in value:
            yield from limits(item)
    if isinstance(value, dict):
        for name, item in value.items():
            if LIMIT.fullmatch(str(name)):
                yield name, item
            yield from limits(item)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_limits_are_variables(path: Path) -> None:
    tasks = yaml.safe_load(path.read_text(encoding="utf-8"))
    # With a poll each second the number of retries is the limit, in seconds.
    found = {name: value for name, value in limits(tasks) if re.fullmatch(r"[0-9.]+", str(value)) and (name, value) != ("delay", 1)}
    assert not found, "a limit is a variable of the role, with a default"


def test_limits_are_found() -> None:
    tasks = yaml.safe_load("[{ansible.builtin.uri: {url: x, timeout: 5}, retries: '3'}, {block: [{wait_timeout: '{{ x }}'}]}]")
    assert list(limits(tasks)) == [("timeout", 5), ("retries", "3"), ("wait_timeout", "{{ x }}")]


# --- limits and choices of our own modules ------------------------------------------------------------------------------------------

PREFIX = "equinix_metal.openshift."
# awx.yml connects to AWX alone, with the modules of awx.awx.
PLAYBOOKS = sorted(set(ROOT.glob("playbooks/*.yml")) - {ROOT / "playbooks" / "awx.yml"})
RULES = "csr_approval"
"""The module all whose options are rules that users may change."""


@dataclass(frozen=True)
class Call:
    """A call of a module of this collection in a role's tasks."""

    place: str
    module: str
    given: Mapping[str, Any]
    alone: bool
    """It runs beside the play, where nothing can be shown."""


def calls(place: str, value: Any) -> Iterator[Call]:
    if isinstance(value, list):
        for item in value:
            yield from calls(place, item)
    if isinstance(value, dict):
        for name, item in value.items():
            if name.startswith(PREFIX) and isinstance(item, dict):
                yield Call(place, name.removeprefix(PREFIX), item, "async" in value)
            yield from calls(place, item)


def all_calls() -> list[Call]:
    paths = sorted(ROOT.glob("roles/*/tasks/**/*.yml"))
    return [call for path in paths for call in calls(str(path.relative_to(ROOT)), yaml.safe_load(path.read_text(encoding="utf-8")))]


def defaults_of_plays() -> Mapping[str, Mapping[str, Any]]:
    """What playbooks give to all modules of a group, by group."""
    found = yaml.safe_load((ROOT / "playbooks" / "vars" / "connections.yml").read_text(encoding="utf-8"))
    return {name.removeprefix("connection_"): given for name, given in found.items() if name.startswith("connection_")}


def bare(call: Call, documented: Mapping[str, Mapping[str, Any]], groups: Mapping[str, list[str]]) -> set[str]:
    """The options with a limit of their own that no variable reaches in this call."""
    reached = {name for group, given in defaults_of_plays().items() if call.module in groups[group] for name in given}
    reached |= {name for name, value in call.given.items() if "{{" in str(value)}
    limited = {name for name, option in documented.items() if LIMIT.fullmatch(name) and option.get("default") is not None}
    if call.given.get("wait", documented.get("wait", {}).get("default")) is False:
        limited -= {"wait_timeout", "wait_interval", "progress_interval", "watch_timeout"}
    return limited - reached - ({"progress_interval"} if call.alone else set())


@pytest.fixture(scope="module")
def documentation() -> dict[str, Any]:
    """The options of every module that roles call, fragments merged."""
    found = documentation_of(sorted({PREFIX + call.module for call in all_calls()}))
    return {name.removeprefix(PREFIX): entry["doc"]["options"] for name, entry in found.items()}


@pytest.fixture(scope="module")
def groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    return found


def test_limits_of_modules_are_reached_by_variables(documentation: dict[str, Any], groups: dict[str, list[str]]) -> None:
    found = {(call.place, call.module): missed for call in all_calls() if (missed := bare(call, documentation[call.module], groups))}
    assert not found, "a limit of a module is a variable of the role, or of the playbooks' module_defaults"


def test_rules_of_joining_are_reached_by_variables(documentation: dict[str, Any]) -> None:
    connections = {name for given in defaults_of_plays().values() for name in given}
    known = {name for name in documentation[RULES] if not name.startswith("metal_")} - connections - {"wait"}
    found = {
        call.place: missed
        for call in all_calls()
        if call.place.startswith(f"roles/{RULES}/")
        and call.module == RULES
        and (missed := known - call.given.keys() - ({"progress_interval"} if call.alone else set()))
    }
    assert not found, "a rule of the module is a variable of the role"


def test_limits_of_modules_are_found() -> None:
    documented: dict[str, dict[str, Any]] = {
        "timeout": {"default": 10},
        "wait": {"default": True},
        "wait_timeout": {"default": 5},
        "delay": {},
        "port": {"default": 53},
    }
    tasks = [
        {"block": [{f"{PREFIX}x": {"timeout": 5}}]},
        {f"{PREFIX}x": {"timeout": "{{ t }}", "wait": False}, "async": 5},
        {f"{PREFIX}y": {}},
    ]
    groups = {"metal": ["x"], "cluster": []}
    assert [bare(call, documented, groups) for call in calls("a", tasks)] == [
        {"timeout", "wait_timeout"},
        set(),
        {"timeout", "wait_timeout"},
    ]
    api = {"metal_api_retries": {"default": 8}}
    assert [bare(call, api, groups) for call in calls("a", tasks)] == [set(), set(), {"metal_api_retries"}]


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.name)
def test_playbooks_connect_alike(path: Path) -> None:
    (play,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert "vars/connections.yml" in play["vars_files"]
    given = {name.removeprefix(f"group/{PREFIX}"): value for name, value in play["module_defaults"].items() if name.startswith("group/")}
    assert given == {group: f"{{{{ connection_{group} }}}}" for group in defaults_of_plays()}
