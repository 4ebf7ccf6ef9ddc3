"""Writes what follows from the table of variables, plugins/plugin_utils/settings/variables.py: ``python -m tools.variables``.

These are, for each role, its defaults, the options in its argument specs that carry a variable, and the table in its README; and the page
docs/generated/variables.md. An option that carries no variable is declared in the argument specs of its role.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.doc_fragments._device import ModuleDocFragment
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variable import PREFLIGHT, PRIVATE, Variable
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import (
    COMPUTED_OPTIONS,
    SECTIONS,
    VARIABLES,
)

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "generated" / "variables.md"
ROLES = tuple(sorted(path.parents[1].name for path in ROOT.glob("roles/*/meta/argument_specs.yml")))
SETTINGS = PREFLIGHT
CARRIED = {option: variable for variable in (*VARIABLES.values(), *COMPUTED_OPTIONS) for option in variable.options}
"""The variable whose value an option of a role carries."""
WIDTH = 140
OPTION = re.compile(r"^      (?P<name>\w+):(?P<anchor> &\w+)?$")
DEFAULTS_HEAD = """\
---
# Made by `python -m tools.variables` from plugins/plugin_utils/settings/variables.py and meta/argument_specs.yml, which has all texts.
"""
EVERY_CLUSTER = (
    "openshift_cluster_name",
    "openshift_base_domain",
    "openshift_version",
    "openshift_pull_secret",
    "openshift_ssh_public_key",
    "metal_api_url",
    "metal_api_token",
    "metal_project_id",
    "metal_metro",
    "openshift_publish_address",
)
"""What every cluster needs, unless the environment has it."""
README_TABLE = ("| variable | meaning | default |", "| --- | --- | --- |")
PAGE_TABLE = ("| variable | type | default | meaning |", "| --- | --- | --- | --- |")
PAGE_HEAD = """\
# All variables

<!-- Made by `python -m tools.variables` from plugins/plugin_utils/settings/variables.py, which tests/docs/test_variables.py holds. -->

The variables that an inventory can set, for all hosts unless the text says otherwise. [install.md](../install.md) and
[day2.md](../day2.md) show how they are used together. Roles that [a playbook of yours](../your-own-playbook.md) calls
alone have options of their own for them: `ansible-doc -t role equinix_metal.openshift.<role>` lists these.
"""


# --- roles: argument specs ----------------------------------------------------------------------------------------------------------


def role_of(option: str) -> str:
    """Return the role that an option belongs to, by its prefix."""
    return max((role for role in ROLES if option.removeprefix(PRIVATE).startswith(f"{role}_")), key=len)


def specs_path(role: str) -> Path:
    return ROOT / "roles" / role / "meta" / "argument_specs.yml"


def argument_specs(role: str) -> str:
    """Return the argument specs of a role, with each option that carries a variable made from that variable."""
    lines = specs_path(role).read_text(encoding="utf-8").splitlines()
    end = next((index for index, line in enumerate(lines) if index > 2 and re.match(r"  \w", line)), len(lines))
    kept: list[str] = []
    is_made = False
    seen: set[str] = set()
    for index, line in enumerate(lines):
        if index == end:
            kept += _new_options(role, seen)
        if match := OPTION.match(line) if index < end else None:
            is_made = match["name"] in CARRIED
            seen.add(match["name"])
            kept.append(line)
            kept += _option(CARRIED[match["name"]], role) if is_made else []
        elif not is_made or (line.strip() and not line.startswith(" " * 7)):
            is_made = False
            kept.append(line)
    if end == len(lines):
        kept += _new_options(role, seen)
    return "\n".join(kept) + "\n"


def _new_options(role: str, seen: set[str]) -> Iterator[str]:
    """The options of a role that its argument specs do not have yet."""
    for option in sorted(CARRIED):
        if role_of(option) == role and option not in seen and not option.startswith(PRIVATE):
            yield f"      {option}:"
            yield from _option(CARRIED[option], role)


def _option(variable: Variable, role: str, indent: int = 8) -> Iterator[str]:
    """The lines of an option below its name."""
    margin = " " * indent
    yield f"{margin}description:"
    yield f"{margin}  - >-"
    yield from textwrap.wrap(_text_in(role, variable.text), WIDTH, **_wrapped(f"{margin}    "))
    yield f"{margin}type: {variable.type}"
    if variable.default is not None:
        yield f"{margin}default: {_flow(variable.default)}"
    if variable.elements:
        yield f"{margin}elements: {variable.elements}"
    if variable.choices:
        yield f"{margin}choices: {_flow(list(variable.choices))}"
    if variable.no_log is not None:
        yield f"{margin}no_log: {_flow(variable.no_log)}"
    if variable.suboptions:
        yield f"{margin}options:"
    for each in variable.suboptions:
        yield f"{margin}  {each.name}:"
        yield from _option(each, role, indent + 4)


def _text_in(role: str, text: str) -> str:
    """Return a text with the role's own options in place of the variables that it names."""

    def named(match: re.Match[str]) -> str:
        options = (option for option in VARIABLES[match["name"]].options if not option.startswith(PRIVATE))
        option = next((option for option in options if role_of(option) == role), None)
        return f"O({option}{match['value']})" if option else f"C({match['name']}{match['value']})"

    return re.sub(r"\bO\((?P<name>\w+)(?P<value>=?[^)]*)\)", named, text)


def _flow(value: Any) -> str:
    """Return a value as YAML in one line."""
    written = yaml.safe_dump(value, default_flow_style=True, width=1000, sort_keys=False).removesuffix("...\n").strip()
    return json.dumps(value) if isinstance(value, str) and written.startswith("'") else written.replace("''", '""')


@cache
def options(role: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the options of a role, as they are made."""
    read = yaml.safe_load(argument_specs(role))["argument_specs"]["main"].get("options") or {}
    return dict(read)


# --- roles: defaults ----------------------------------------------------------------------------------------------------------------


def defaults(role: str) -> str:
    """Return the defaults of a role. Raises ValueError naming an option without one."""
    lines = [DEFAULTS_HEAD.rstrip()]
    for name, spec in options(role).items():
        if name in CARRIED:
            lines += _entry(name, template(CARRIED[name], role))
        elif name == SETTINGS:
            lines.append(f"{name}:")
            for variable in settings():
                lines += [f"  {line}" for line in _entry(setting(variable), template(variable, role))]
        elif "default" in spec:
            lines.append(f"{name}: {_flow(spec['default'])}")
        else:
            raise ValueError(f"{name} has no default")
    if private := _private(role):
        lines.append("# Of the variables that the role reads, no options.")
        lines += [line for name, variable in private.items() for line in _entry(name, _typed(variable) or template(variable, role))]
    return "\n".join(lines) + "\n"


def _private(role: str) -> dict[str, Variable]:
    """Return what a role reads of variables without options for them, by name."""
    return {name: variable for name, variable in CARRIED.items() if name.startswith(PRIVATE) and role_of(name) == role}


def settings() -> list[Variable]:
    """Return the variables that the role ``validate`` gets in one dictionary."""
    return [variable for variable in VARIABLES.values() if PREFLIGHT in variable.read_by]


def setting(variable: Variable) -> str:
    return variable.name.removeprefix("openshift_")


def _typed(variable: Variable) -> str:
    """Return the template of a number or a flag, which no argument spec converts; empty for other variables."""
    if variable.expression or variable.required or variable.type not in {"int", "float", "bool"}:
        return ""
    return f"{{{{ {variable.name} | default('') | equinix_metal.openshift.rule('variables.typed', '{variable.name}') }}}}"


def template(variable: Variable, role: str) -> str:
    """Return the Jinja template of a variable's value in a role's defaults."""
    text = variable.expression
    if not text:
        text = variable.name if variable.required else f"{variable.name} | default({_jinja(variable.default)})"
    if role == "validate":  # where a required variable that is not set, and a file that cannot be read, are reported by a check
        text = re.sub(r"(folders\.file_text', '\w+')\)", r"\1, strict=false)", text)
        required = "|".join(name for name, each in VARIABLES.items() if each.required)
        text = f"{text} | default('')" if variable.required else re.sub(rf"\b({required})\b(?! \| default)", r"(\1 | default(''))", text)
    return text if "{{" in text else f"{{{{ {text} }}}}"


def _jinja(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _entry(name: str, value: str) -> list[str]:
    line = f'{name}: "{value}"'
    if len(line) <= WIDTH - 2 and '"' not in value:
        return [line]
    return [f"{name}: >-", *textwrap.wrap(value, WIDTH - 2, **_wrapped("  "))]


def _wrapped(indent: str) -> dict[str, Any]:
    return {"initial_indent": indent, "subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}


# --- roles: README ------------------------------------------------------------------------------------------------------------------


def readme(role: str) -> str:
    """Return the README of a role with its table of options."""
    lines = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(README_TABLE[1]) + 1 if README_TABLE[0] in lines else 0
    end = next(index for index in range(begin, len(lines)) if not lines[index].startswith("|"))
    rows = [f"| `{name}` | {_markdown(description(spec))} | {_default_in(name, spec)} |" for name, spec in options(role).items()]
    read = {variable.name: variable for variable in _private(role).values() if variable.name in VARIABLES}
    rows += [f"| `{name}` | {_markdown(_meaning(variable))} | {_default_of(variable)} |" for name, variable in read.items()]
    return "\n".join([*lines[:begin], *rows, *lines[end:]]) + "\n"


def description(spec: Mapping[str, Any]) -> str:
    written = spec.get("description") or []
    text = " ".join([written] if isinstance(written, str) else written).strip()
    return text + _keys({name: description(option) for name, option in (spec.get("options") or {}).items()})


def _meaning(variable: Variable) -> str:
    """Return the text of a variable with those of its keys."""
    return variable.text + _keys({each.name: each.text for each in variable.suboptions})


def _keys(texts: Mapping[str, str]) -> str:
    return "".join(f" C({name}): {text}" for name, text in texts.items())


def _default_in(name: str, spec: Mapping[str, Any]) -> str:
    if name == SETTINGS:
        return "the variables by these names with `openshift_` or `metal_` before them"
    if name not in CARRIED:
        return _shown(spec.get("default"))
    variable = CARRIED[name]
    default = _default_of(variable)
    if variable in COMPUTED_OPTIONS:
        return default
    return f"`{variable.name}`" + (f", else {default}" if default not in ("", "none") else "")


def _default_of(variable: Variable) -> str:
    return "" if variable.required else variable.computed or _shown(variable.default)


def _shown(default: Any) -> str:
    if default in ("", [], {}, None) and default is not False and default != 0:
        return "none"
    return f"`{json.dumps(default) if isinstance(default, bool | list | dict) else default}`"


def _markdown(text: str) -> str:
    """Return what ansible-doc shows of a text."""
    text = re.sub(r"\b[CVOE]\(([^)]*)\)", r"`\1`", text)
    text = re.sub(r"\b(?:M|P|RV)\((?:equinix_metal\.openshift\.)?([^)#]*)(?:#\w+)?\)", r"`\1`", text)
    return text.replace("|", "\\|")


# --- the page -----------------------------------------------------------------------------------------------------------------------


def page() -> str:
    """Return the page of all variables."""
    lines = [PAGE_HEAD]
    lines += ["## What every cluster needs\n", *PAGE_TABLE, *(_row(VARIABLES[name]) for name in EVERY_CLUSTER), ""]
    for title, variables in SECTIONS.items():
        others = (variable for variable in variables if variable.name not in EVERY_CLUSTER)
        lines += [f"## {title}\n", *PAGE_TABLE, *(_row(variable) for variable in others), ""]
    lines += [
        "## Options of one role\n",
        "No variable of the collection carries these. They can be set in the inventory or with `-e`, too.\n",
    ]
    lines += [*PAGE_TABLE, *_rows_of_roles()]
    return "\n".join(lines).rstrip() + "\n"


def _row(variable: Variable) -> str:
    if variable.text:
        kind, text = _kind(variable.spec() or {"type": variable.type, "elements": variable.elements}, variable), _meaning(variable)
    else:
        option = _device_options()[variable.name.removeprefix("metal_")]
        kind, text = _kind(option, variable), description(option)
    default = "required" if variable.required else variable.computed or _shown(variable.default)
    if variable.is_of_host:
        text += " Can be set for a group or a host."
    if variable.example is not None:
        text += f" Example: C({variable.example if isinstance(variable.example, str) else json.dumps(variable.example)})."
    return f"| `{variable.name}` | {kind} | {default} | {_markdown(text)} |"


def _kind(spec: Mapping[str, Any], variable: Variable | None = None) -> str:
    """Return type, unit and choices."""
    kind: str = spec.get("type", "str") + (f" of {spec['elements']}" if spec.get("elements") else "")
    choices = variable.choices if variable and variable.choices else spec.get("choices") or ()
    if variable and variable.unit:
        kind += f", {variable.unit}"
    return kind + (": " + ", ".join(f"`{choice}`" if choice else "empty" for choice in choices) if choices else "")


@cache
def _device_options() -> Mapping[str, Mapping[str, Any]]:
    """Return the documented options of the module that creates the machines of an inventory."""
    options: Mapping[str, Mapping[str, Any]] = yaml.safe_load(ModuleDocFragment.MACHINES)["options"]
    return options


def _rows_of_roles() -> Iterator[str]:
    for role in ROLES:
        for name, spec in options(role).items():
            # Machines are handed over by playbooks.
            if name not in CARRIED and name != SETTINGS and "#filter)" not in description(spec):
                yield f"| `{name}` | {_kind(spec)} | {_shown(spec.get('default'))} | {_markdown(description(spec))} |"


# --- all files ----------------------------------------------------------------------------------------------------------------------


def files() -> dict[Path, str]:
    """Return each generated file with its text."""
    made = {PAGE: page()}
    for role in ROLES:
        folder = ROOT / "roles" / role
        made |= {
            specs_path(role): argument_specs(role),
            folder / "defaults" / "main.yml": defaults(role),
            folder / "README.md": readme(role),
        }
    return made


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
