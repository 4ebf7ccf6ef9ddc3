"""Writes docs/generated/variables.md, all variables, from the roles' defaults and argument specs: ``python -m tools.variables``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, nodes

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.filter.preflight import known_variables

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "generated" / "variables.md"
JINJA = Environment()  # noqa: S701 - it reads expressions, and makes no page
NONE = object()
"""There is no default that could be told: the variable has to be given, or it is worked out when it is used."""

TABLE = ("| variable | meaning | default |", "| --- | --- | --- |")
HEAD = """\
# All variables

<!-- Made by `python -m tools.variables` from the roles' defaults and argument specs, which tests/docs/test_variables.py holds. -->

What an inventory can say. A variable is set for all hosts unless it is one of a machine: those can be set for a group or a host, too. Times
are in seconds. [install.md](../install.md) and [day2.md](../day2.md) show how they belong together; each role has the same under names of
its own, for those who use it alone (`ansible-doc -t role equinix_metal.openshift.<role>`).
"""

CLUSTER = "The cluster and its Ignition files"
MACHINES = "Machines"
BOOTING = "Publishing and booting"
WAITS = "Waits and limits"
GROUPS = {
    "Names and the balancer": ("dns", "load_balancer"),
    "Network": ("network",),
    CLUSTER: ("ignition",),
    MACHINES: ("provision",),
    BOOTING: ("boot_files",),
    "Joining": ("csr_approval",),
    "Bootstrap, day 2 and giving back": ("bootstrap_teardown", "cluster", "leave", "gather"),
    "Before anything is ordered": ("validate",),
    "Runs at the same time": ("cluster_lock",),
}
"""Title, and the roles whose variables these are: a variable of several roles is of the first that stands here."""
PREFIXES = {"metal_": MACHINES, "openshift_publish_": BOOTING, "openshift_cluster_name": CLUSTER, "openshift_directory": CLUSTER}
"""Variables that many roles have, whose place is known."""
WAITING = re.compile(r"_(timeout|interval|lifetime|window|wait|stable_for|retries|delay|max_age|min_validity|after|pending_limit)$")
OF_A_MACHINE = {
    "openshift_role": "What a machine becomes, when its groups do not say it: `bootstrap`, `control-plane`, `worker`, `load-balancer`.",
    "openshift_pool": "A worker's machine pool, when the group below `workers` that it is in does not say it.",
    "openshift_node_labels": "Labels of the nodes of a pool.",
    "openshift_node_taints": "Taints of the nodes of a pool: entries with `key`, `effect` and, if need be, `value`.",
}
"""Variables that the filter ``machines`` reads from hosts, beside those that are options of the modules for devices."""
# The machines of an inventory are ordered as a set: what that one says of an option goes first.
DEVICE_MODULES = ("metal_device_set", "metal_device")
OF_CONNECTIONS = {
    "metal_api_timeout": ("_metal", "metal_api_timeout"),
    "metal_api_retries": ("_metal", "metal_api_retries"),
    "openshift_api_timeout": ("_cluster", "api_timeout"),
}
"""Variables that playbooks give to all modules of a group, with the fragment and the option that say what they are."""


@dataclass(frozen=True)
class Option:
    """One variable of a role: its default as it is written, and what the argument spec says."""

    role: str
    name: str
    written: Any
    spec: Mapping[str, Any] | None

    @property
    def variables(self) -> list[str]:
        """The collection's variables in the default, in their order."""
        return re.findall(r"\b(?:openshift|metal)_[a-z0-9_]+\b", str(self.written))

    @property
    def default(self) -> Any:
        """The default when nobody sets anything; NONE when it is worked out or missing."""
        if not isinstance(self.written, str) or "{{" not in self.written:
            return self.written
        match JINJA.parse(self.written.strip()).body:
            case [nodes.Output(nodes=[nodes.Filter(name="default", node=nodes.Name(), args=[default, *_more])])]:
                try:
                    return default.as_const()
                except nodes.Impossible:  # names and filters are Ansible's to work out
                    return NONE
        return NONE

    @property
    def description(self) -> str:
        said = (self.spec or {}).get("description") or []
        return " ".join([said] if isinstance(said, str) else said).strip()


@cache
def options() -> list[Option]:
    """Every variable of every role."""
    found = []
    for path in sorted(ROOT.glob("roles/*/defaults/main.yml")):
        role = path.parents[1]
        entries = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"].values()
        specs = {name: said for entry in entries for name, said in (entry.get("options") or {}).items()}
        defaults = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        found += [Option(role.name, name, written, specs.get(name)) for name, written in defaults.items()]
    return found


def _group(variable: str, role: str) -> str:
    if WAITING.search(variable):
        return WAITS
    known = [title for prefix, title in PREFIXES.items() if variable.startswith(prefix)]
    return known[0] if known else next(title for title, roles in GROUPS.items() if role in roles)


def _using(variable: str) -> list[Option]:
    """The roles' own variables that stand for this one, the one that says best what it is first."""
    bare = variable.removeprefix("openshift_").removeprefix("metal_")
    alike = [option for option in options() if variable in option.variables and option.name.endswith(bare)]
    found = [option for option in options() if option.variables[:1] == [variable]] or alike
    order = [role for roles in GROUPS.values() for role in roles]
    return sorted(found, key=lambda option: (option.role not in variable, option not in alike, order.index(option.role)))


def _rows() -> Iterator[tuple[str, str, str, str]]:
    """Group, variable, description and default of each."""
    device = _device_options()
    for variable in sorted(known_variables()):
        if variable in OF_CONNECTIONS:
            description, default = _connection_option(*OF_CONNECTIONS[variable])
            yield _group(variable, ""), variable, description, default
            continue
        told = OF_A_MACHINE.get(variable) or device.get(variable.removeprefix("metal_"), "")
        if using := _using(variable):
            yield _group(variable, using[0].role), variable, _markdown(using[0].description), _default(using)
        elif told:
            yield MACHINES, variable, told, "none"


def _connection_option(fragment: str, name: str) -> tuple[str, str]:
    """What a fragment says of an option, and its default."""
    documented = yaml.safe_load(_documentation(ROOT / "plugins" / "doc_fragments" / f"{fragment}.py"))["options"][name]
    return _markdown(" ".join(documented["description"])), f"`{documented['default']}`"


def _documentation(path: Path) -> str:
    """The YAML of a module or a fragment."""
    return path.read_text(encoding="utf-8").partition('DOCUMENTATION = r"""')[2].partition('"""')[0]


def _device_options() -> dict[str, str]:
    """What the modules for devices say of their options."""
    found: dict[str, str] = {}
    for module in DEVICE_MODULES:
        documented = yaml.safe_load(_documentation(ROOT / "plugins" / "modules" / f"{module}.py"))["options"]
        for name, option in documented.items():
            said = option.get("description") or []
            found.setdefault(name, _markdown(" ".join([said] if isinstance(said, str) else said)))
    return found


def _markdown(text: str) -> str:
    """What ansible-doc shows of such a text; roles' own variables by the name that users give them."""
    users = {option.name: option.variables[0] for option in options() if option.variables}
    text = re.sub(r"\b([CVOE])\(([^)=]*)(=?[^)]*)\)", lambda match: f"`{users.get(match[2], match[2])}{match[3]}`", text)
    text = re.sub(r"\b(?:M|P|RV)\((?:equinix_metal\.openshift\.)?([^)#]*)(?:#\w+)?\)", r"`\1`", text)
    return text.replace("|", "\\|")


def _default(using: list[Option]) -> str:
    """What holds when the variable is not set."""
    if any(re.fullmatch(r"\{\{ \w+ \}\}", str(option.written)) for option in using):
        return "has to be given"
    default = next((option.default for option in using if option.default is not NONE), NONE)
    if default is NONE:
        return _worked_out(str(using[0].written))
    if default in ("", [], {}, None):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _worked_out(written: str) -> str:
    asked = " ".join(re.findall(r"'ansible\.builtin\.env', ('\w+'(?:,\s*'\w+')*)", written))
    environment = [name for name in re.findall(r"[A-Z_]+", asked) if name != "PWD"]
    return "from the environment: " + ", ".join(f"`{name}`" for name in environment) if environment else "worked out"


def _single_roles() -> Iterator[str]:
    """Variables that only one role has and no variable of the collection stands for, without the machines that playbooks hand in."""
    for option in options():
        if not option.variables and "#filter)" not in option.description:
            yield f"| `{option.name}` | {_markdown(option.description)} | {_default([option])} |"


def page() -> str:
    """The page. Raises ValueError naming variables that are described nowhere."""
    rows = list(_rows())
    lost = set(known_variables()) - {variable for _group, variable, description, _default in rows if description}
    if lost:
        raise ValueError(f"described nowhere: {', '.join(sorted(lost))}")
    lines = [HEAD]
    for title in dict.fromkeys((CLUSTER, MACHINES, *GROUPS, WAITS)):
        lines += [f"## {title}\n", *TABLE]
        lines += [f"| `{variable}` | {description} | {default} |" for group, variable, description, default in rows if group == title]
        lines.append("")
    lines += ["## Of one role alone\n", "These have the name of their role. They, too, can be set in the inventory or with `-e`.\n", *TABLE]
    lines += _single_roles()
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
