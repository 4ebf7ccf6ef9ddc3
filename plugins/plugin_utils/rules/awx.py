# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the playbook awx.yml and of the surveys of its job templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from ...module_utils.base.errors import CollectionError

__all__ = ["survey_answers", "templates"]

PREFIX = "survey_"

Item = Mapping[str, Any]


def survey_answers(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a survey that are not empty, by variable.

    A question has the name of its variable with ``survey_`` before it: AWX passes an answer as an extra variable, which would override the
    variable in the inventory also when the answer is empty. AWX passes an empty answer as an empty text, which Ansible reads as null.
    ``variables``: those of the play by name; those without the prefix are ignored.
    """
    return {
        str(name).removeprefix(PREFIX): value
        for name, value in variables.items()
        if str(name).startswith(PREFIX) and value is not None and str(value).strip()
    }


def templates(desired: Iterable[Item], current: Mapping[str, Item], credentials: Iterable[Item]) -> dict[str, dict[str, Any]]:
    """Return the options of ``awx.awx.job_template`` for each template, by name.

    The module replaces credentials, extra variables and notifications by those of its options: they are added to the existing ones here,
    and options that change nothing are left out. A credential replaces an existing one of the same type, since AWX accepts one of each
    type, except for vault passwords.

    ``current``: the existing templates by name, with the text of their ``extra_vars``, and ``credentials`` and
    ``notification_templates_error``. ``credentials``: all that AWX has.
    """
    known = list(credentials)
    return {str(template["name"]): _options(template, current.get(template["name"]) or {}, known) for template in desired}


def _options(template: Item, current: Item, credentials: Iterable[Item]) -> dict[str, Any]:
    options = {name: value for name, value in template.items() if name not in ("credentials", "extra_vars", "notification_templates_error")}
    added = {
        "credentials": _credentials(template.get("credentials") or [], current.get("credentials") or [], credentials),
        "notification_templates_error": _both(
            template.get("notification_templates_error") or [], current.get("notification_templates_error") or []
        ),
        "extra_vars": _variables(template.get("extra_vars") or {}, current.get("extra_vars"), str(template["name"])),
    }
    return options | {name: value for name, value in added.items() if value is not None}


def _credentials(desired: Iterable[Any], current: Iterable[Item], known: Iterable[Item]) -> list[str] | None:
    names = {str(name) for name in desired}
    replaced = {
        credential["credential_type"]
        for credential in known
        if names & {str(credential["name"]), str(credential["id"])} and credential.get("kind") != "vault"
    }
    return _both(sorted(names), [credential for credential in current if credential.get("credential_type") not in replaced])


def _both(desired: Iterable[Any], current: Iterable[Item]) -> list[str] | None:
    kept = list(current)
    names = [str(name) for name in desired]
    present = {str(credential[field]) for credential in kept for field in ("id", "name")}
    return [*(str(credential["id"]) for credential in kept), *(name for name in names if name not in present)] if names else None


def _variables(desired: Item, text: Any, name: str) -> dict[str, Any] | None:
    try:
        existing = yaml.safe_load(text or "") or {}
    except yaml.YAMLError as problem:
        raise CollectionError(f"The extra variables of the job template {name} are not YAML: {problem}") from problem
    merged = {**existing, **desired}
    return merged if merged != existing else None
