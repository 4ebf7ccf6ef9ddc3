"""Finds tasks that would show a secret: ``python -m tools.task_secrets [FOLDER]``.

What a task shows is not what it does: an include returns its arguments, a loop returns its items, and a callback that keeps results (json,
junit, AWX) has all of it. So, in every playbook and every file of tasks below the folder:

``apply-shows-values``
    ``apply`` of an include has no ``module_defaults``, ``environment`` or ``vars``: they are returned as ``include_args``. A block around
    the include can have them.
``loop-shows-contents``
    A task that reads contents from the items of its loop (``item.content``, ``item.data``, ``headers: "{{ item }}"`` ...), or loops over
    the values of a dictionary (``dict2items``), has ``no_log``. Better is a loop over names, with the content found by name: then
    errors stay readable.
``secret-is-shown``
    A task that is given a secret variable of its role has ``no_log``, or is one of the collection's modules, whose options hide it, or
    writes it as the content of a file with ``diff: false``. Secret are the options that the role's argument specs mark with ``no_log``,
    what the role reads of such variables of the collection, and its variables that are made of these, of files with secrets, or of
    manifests; but no hash, and nothing that went through the filter redact or the rule ignition.installer_log.
``diff-shows-file``
    A task that writes a file with secrets, by the name of the file or of its source, has ``diff: false`` or ``no_log``.
``environment-is-shown``
    No ``environment`` has a secret: ``-vvv`` shows it in the command line of a task, whatever ``no_log`` says.

A task inherits ``no_log`` from its block and its play, unless it sets its own; one that is a template does not count. Prints what it found,
one line each, and ends with 1 if there is anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.variables import COMPUTED_OPTIONS, VARIABLES

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("playbooks", "roles/*/tasks", "roles/*/handlers", "tests/molecule", "tests/integration/targets")

LISTS_OF_TASKS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")
SHOWN_BY_APPLY = ("module_defaults", "environment", "vars")
CONTENTS = (
    "content|contents|data|string_?data|text|body|definition|values?|headers|password|secret|token|bearer|url|userdata|customdata|key"
)
CONTENT_OPTIONS = ("content", "body", "headers", "stdin", "definition", "userdata", "customdata", "secret", "password", "token")
NOT_SHOWN = ("name", "when", "register", "vars", "failed_when", "changed_when", "until", "loop_control", "tags")
"""Keywords of a task that no result shows."""
SECRET_FILES = re.compile(
    r"bearer|(?:bootstrap|master|worker)(?:-pointer)?\.ign|auth/|kubeconfig|\.key\b|object-storage\.json|ansible\.builtin\.password"
)
SOURCES = re.compile(rf"lookup\(.*(?:{SECRET_FILES.pattern})|rule\('ignition\.user_manifests'", re.DOTALL)
NAMES_ALONE = re.compile(r"\w+\s*\|\s*map\(attribute='name'\)")
HARMLESS = re.compile(r"\|\s*hash\([^)]*\)\s*(?:\}\}|$)|\|\s*equinix_metal\.openshift\.(?:redact\b|rule\('ignition\.installer_log')")
PUBLIC = {
    "__ignition_other_streams": "names of streams, of an install-config that has more",
    "__state_store_problem": "says whether the password is set",
    "__validate_input": "read by the lookup preflight and the rule preflight.report, which return no secret",
}
"""Variables that are made of secrets and show none, each with the reason."""
OURS = "equinix_metal.openshift."
COPY = "ansible.builtin.copy"
WRITING = (COPY, "ansible.builtin.template", "ansible.builtin.assemble", "ansible.builtin.blockinfile", "ansible.builtin.lineinfile")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
Task = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """One task that would show something."""

    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class _Loader(yaml.SafeLoader):
    """YAML with the line of each mapping, and any tag."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        return {**super().construct_mapping(node, deep=deep), LINE: node.start_mark.line + 1}


LINE = "__line__"
_Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


def texts(value: Any) -> Iterator[str]:
    """Every text in the value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key != LINE:
                yield from texts(key)
                yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def tasks_of(entries: Any, hidden: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every task, block and play below these, and whether ``no_log`` hides it."""
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            own = _is_set(entry["no_log"]) if "no_log" in entry else hidden
            yield entry, own
            for name in LISTS_OF_TASKS:
                yield from tasks_of(entry.get(name), own)


def _is_set(no_log: Any) -> bool:
    """Whether ``no_log`` hides the task. A template may be false for the very item that matters: it does not."""
    return no_log is True or str(no_log).strip().lower() in ("true", "yes", "on", "1")


def secret_variables(role: Path) -> set[str]:
    """Return the variables of a role that hold secrets."""
    specs = role / "meta" / "argument_specs.yml"
    read = yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"] if specs.is_file() else {}
    secret = {name for variable in (*VARIABLES.values(), *COMPUTED_OPTIONS) if variable.is_secret for name in variable.options}
    secret |= {name for spec in read.values() for name, option in (spec.get("options") or {}).items() if _is_secret(option)}
    variables: dict[str, Any] = {}
    for path in sorted([*role.glob("defaults/*.yml"), *role.glob("vars/*.yml")]):
        variables |= yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    while found := {
        name
        for name, value in variables.items()
        if name not in secret and name not in PUBLIC and any(_holds(text, secret) for text in texts(value))
    }:
        secret |= found
    return secret


def _is_secret(option: Mapping[str, Any]) -> bool:
    return bool(option.get("no_log")) or any(_is_secret(each) for each in (option.get("options") or {}).values())


def _holds(text: str, secret: set[str]) -> bool:
    if HARMLESS.search(text) or "{{" not in text:
        return False
    return bool(set(WORD.findall(text)) & secret) or bool(SOURCES.search(text))


def apply_shows_values(task: Task, _secret: set[str]) -> Iterator[str]:
    for value in task.values():
        apply = value.get("apply") if isinstance(value, Mapping) else None
        if isinstance(apply, str):
            yield "its result shows apply, which is a template"
        if shown := [each for each in SHOWN_BY_APPLY if isinstance(apply, Mapping) and each in apply]:
            yield f"its result shows {', '.join(shown)} of apply"


def environment_is_shown(task: Task, secret: set[str]) -> Iterator[str]:
    if used := _words(task.get("environment")) & secret:
        yield f"-vvv shows {', '.join(sorted(used))}"


def loop_shows_contents(task: Task, _secret: set[str]) -> Iterator[str]:
    loops = {str(key): value for key, value in task.items() if key == "loop" or str(key).startswith("with_")}
    if field := _contents_of(loops, task) if loops else "":
        yield f"each result shows the item with {field}"


def diff_shows_file(task: Task, _secret: set[str]) -> Iterator[str]:
    written = [value for key, value in task.items() if key in WRITING and isinstance(value, Mapping)]
    paths = [text for value in written for name in ("src", "dest", "path") for text in texts(value.get(name))]
    if task.get("diff") is not False:
        yield from (f"--diff shows {path}" for path in paths if SECRET_FILES.search(path))


def secret_is_shown(task: Task, secret: set[str]) -> Iterator[str]:
    given = {key: value for key, value in task.items() if key not in NOT_SHOWN and not str(key).startswith(OURS)}
    if task.get("diff") is False and isinstance(given.get(COPY), Mapping):
        given[COPY] = {name: value for name, value in given[COPY].items() if name != "content"}
    if used := _words(given) & secret:
        yield f"is given {', '.join(sorted(used))} without no_log"


ALWAYS = (apply_shows_values, environment_is_shown)
WITHOUT_NO_LOG = (loop_shows_contents, diff_shows_file, secret_is_shown)


def _words(value: Any) -> set[str]:
    """The names in all texts of the value, but those of lists of which only the names are taken."""
    return set(WORD.findall(NAMES_ALONE.sub("", " ".join(texts(value)))))


def _contents_of(loops: Mapping[str, Any], task: Task) -> str:
    """Return what the items of a loop are that is more than names, or nothing."""
    if "with_dict" in loops or any("dict2items" in text for text in texts(loops)):
        return "value"
    entries = [entry for loop in loops.values() if isinstance(loop, list) for entry in loop if isinstance(entry, Mapping)]
    if found := next((name for entry in entries for name in entry if re.fullmatch(CONTENTS, str(name))), ""):
        return str(found)
    item = rf"\b{re.escape((task.get('loop_control') or {}).get('loop_var', 'item'))}(?:\.\w+|\[[^]]*\])*?"
    field = re.compile(rf"{item}(?:\.(?P<name>{CONTENTS})\b|(?:\[|\.get\(\s*)['\"](?P<key>{CONTENTS})['\"])")
    whole = re.compile(rf"\{{\{{-?\s*{item}\s*(?:\||-?\}}\}})")
    used = {key: value for key, value in task.items() if key == "vars" or key not in NOT_SHOWN}
    for match in filter(None, (field.search(text) for text in texts(used))):
        return str(match["name"] or match["key"])
    options = [(name, text) for value in used.values() if isinstance(value, Mapping) for name, text in value.items()]
    return next((name for name, text in options if name in CONTENT_OPTIONS and isinstance(text, str) and whole.search(text)), "")


def problems_of(path: Path, secret: set[str]) -> Iterator[Problem]:
    """Every problem in one file of tasks or plays, in which these variables hold secrets."""
    for task, hidden in tasks_of(yaml.load(path.read_text(encoding="utf-8"), _Loader)):  # noqa: S506 - a safe loader
        is_list = any(key in task for key in LISTS_OF_TASKS)
        for rule in (*ALWAYS, *(() if hidden or is_list else WITHOUT_NO_LOG)):
            for text in rule(task, secret):
                yield Problem(path, task[LINE], rule.__name__.replace("_", "-"), f"{task.get('name', 'a task without a name')}: {text}")


def find(root: Path) -> list[Problem]:
    """Return every problem below the folder, by path and line."""
    found: list[Problem] = []
    for place in PLACES:
        for folder in sorted(root.glob(place)):
            role = folder.parent if place.startswith("roles/") else None
            secret = secret_variables(role) if role else set()
            for path in sorted(folder.rglob("*.yml")):
                found += [Problem(path.relative_to(root), each.line, each.rule, each.text) for each in problems_of(path, secret)]
    return found


def main(arguments: list[str]) -> int:
    problems = find(Path(arguments[0]) if arguments else ROOT)
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
