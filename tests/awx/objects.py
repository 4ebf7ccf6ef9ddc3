"""The objects of playbooks/vars/awx.yml, and what AWX makes of credentials in a job."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2.sandbox
import yaml

from sandbox.testing.process import REPOSITORY

FILE = REPOSITORY / "playbooks" / "vars" / "awx.yml"
SURVEYS = REPOSITORY / "playbooks" / "vars" / "awx_surveys.yml"
TEXTS = ("text", "textarea", "password")

Item = dict[str, Any]


class RefusedError(Exception):
    """What AWX answers with 400."""


class _Loader(yaml.SafeLoader):
    """Reads ``!unsafe`` as text."""


_Loader.add_constructor("!unsafe", lambda _loader, node: str(node.value))


def read_objects() -> dict[str, Any]:
    """Return the variables of the file, with templates as text."""
    loader = _Loader(FILE.read_text(encoding="utf-8"))
    content: dict[str, Any] = loader.get_single_data()
    return content


def credential_type(name: str) -> Item:
    (found,) = [kind for kind in read_objects()["controller_credential_types"] if kind["name"] == name]
    return dict(found)


def survey_of(playbook: str) -> list[Item]:
    """Return the questions of the template that runs this playbook."""
    names = {
        match["survey"]
        for template in read_objects()["controller_templates"]
        for match in re.finditer(rf"'playbook': '{re.escape(playbook)}'.*\}}, (?P<survey>\w+)\)", str(template))
    }
    (name,) = names
    survey: Item = yaml.safe_load(SURVEYS.read_text(encoding="utf-8"))[name]
    return list(survey["survey_spec"].get("spec", []))


def launched(survey: list[Item], extra: Mapping[str, Any], answers: Mapping[str, Any]) -> Item:
    """Return the extra variables of a job: those of its template, the defaults of its survey, and the answers.

    As ``SurveyJobTemplateMixin`` in awx/main/models/mixins does it, also at a launch without a survey form, such as that of a schedule.
    Variables that the survey does not ask for are ignored. Raises RefusedError for an answer that AWX does not accept.
    """
    found = dict(extra)
    for question in survey:
        default = question.get("default")
        if default is not None and _accepts(question, default):
            found[question["variable"]] = default
    for question in survey:
        name = question["variable"]
        if name not in answers and question["required"]:
            raise RefusedError(f"'{name}' value missing")
        if name in answers and not _accepts(question, answers[name]):
            raise RefusedError(f"{answers[name]!r} is no answer to {name}")
    asked = {question["variable"] for question in survey}
    return found | {name: value for name, value in answers.items() if name in asked}


def _accepts(question: Item, value: Any) -> bool:
    kind = question["type"]
    if kind in TEXTS:
        return isinstance(value, str) and question["min"] <= len(value) <= question["max"]
    if kind == "multiplechoice":
        return value in question["choices"]
    return isinstance(value, int) and not isinstance(value, bool) and question["min"] <= value <= question["max"]


@dataclass(frozen=True)
class Injected:
    """What a job gets of a credential."""

    environment: dict[str, str]
    variables: dict[str, str]


class Namespace:
    """``tower`` in the templates of injectors."""

    filename: Namespace


def inject(kind: Mapping[str, Any], inputs: Mapping[str, str], folder: Path) -> Injected:
    """Return what AWX injects of a credential: ``CredentialType.inject_credential`` in awx/main/models/credential.

    Files are written to the folder. A field without a value is undefined.
    """
    fields = {field["id"] for field in kind["inputs"]["fields"]}
    assert set(kind["inputs"].get("required", [])) <= {name for name, value in inputs.items() if value} <= fields
    templates = jinja2.sandbox.ImmutableSandboxedEnvironment()
    tower, injectors = Namespace(), kind["injectors"]
    namespace: dict[str, Any] = {"tower": tower, **{name: value for name, value in inputs.items() if value}}
    for label, template in injectors.get("file", {}).items():
        handle, path = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(templates.from_string(template).render(**namespace))
        if not hasattr(tower, "filename"):
            tower.filename = Namespace()
        setattr(tower.filename, label.split(".")[1], path)
    rendered = {
        kind_of: {name: templates.from_string(template).render(**namespace) for name, template in injectors.get(kind_of, {}).items()}
        for kind_of in ("env", "extra_vars")
    }
    return Injected(rendered["env"], rendered["extra_vars"])


def container_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a container gets: ansible-runner writes it to a file, which podman reads with --env-file.

    Podman reads line by line (``ParseFile`` in pkg/env): a line without ``=`` names a variable of the host, and one that begins with ``=``
    ends the start of the container.
    """
    lines = "\n".join(f"{name}={value}" for name, value in environment.items()).splitlines()
    return dict(_parsed(lines))


def _parsed(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in (line.lstrip(" \t") for line in lines):
        name, equals, value = line.partition("=")
        if not line or line.startswith("#"):
            continue
        if not name:
            raise ValueError(f"invalid variable: {line!r}")
        if equals:
            yield name, value
