# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: awx_templates
short_description: Job templates of AWX that keep what was attached to them
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - C(awx.awx.job_template) replaces credentials, extra variables and notifications by those of its options. Returns the templates with
    these added to the existing ones, and without those options that change nothing.
  - A credential replaces an existing one of the same type, since AWX accepts one of each type, except for vault passwords.
positional: current, credentials
options:
  _input:
    description:
      - The templates, each with the options of the module.
    type: list
    elements: dict
    required: true
  current:
    description:
      - The existing templates by name, each with C(extra_vars), its text, and C(credentials) and C(notification_templates_error), lists
        of objects.
    type: dict
    required: true
  credentials:
    description:
      - All credentials, each with C(id), C(name) and C(credential_type).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the templates with the credential Metal API and the existing ones
  ansible.builtin.debug:
    msg: "{{ [{'name': 'status', 'credentials': ['Metal API']}] | equinix_metal.openshift.awx_templates(current, credentials) }}"
"""

RETURN = r"""
_value:
  description: The templates by name. Existing credentials and notifications are IDs.
  type: dict
  sample:
    status:
      name: status
      credentials: ["7", Metal API]
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

Item = Mapping[str, Any]


def awx_templates(templates: Any, current: Any, credentials: Any) -> dict[str, dict[str, Any]]:
    """Return the options of each template, by name."""
    if not isinstance(templates, list) or not isinstance(current, Mapping):
        raise AnsibleFilterError("awx_templates: the input has to be a list of templates, and the existing ones a dictionary by name")
    return {str(template["name"]): _options(template, current.get(template["name"]) or {}, credentials) for template in templates}


def _options(template: Item, current: Item, credentials: Iterable[Item]) -> dict[str, Any]:
    found = {name: value for name, value in template.items() if name not in ("credentials", "extra_vars", "notification_templates_error")}
    added = {
        "credentials": _credentials(template.get("credentials") or [], current.get("credentials") or [], credentials),
        "notification_templates_error": _both(
            template.get("notification_templates_error") or [], current.get("notification_templates_error") or []
        ),
        "extra_vars": _variables(template.get("extra_vars") or {}, current.get("extra_vars"), str(template["name"])),
    }
    return found | {name: value for name, value in added.items() if value is not None}


def _credentials(desired: Iterable[Any], current: Iterable[Item], known: Iterable[Item]) -> list[str] | None:
    names = {str(name) for name in desired}
    replaced = {each["credential_type"] for each in known if names & {str(each["name"]), str(each["id"])} and each.get("kind") != "vault"}
    return _both(sorted(names), [each for each in current if each.get("credential_type") not in replaced])


def _both(desired: Iterable[Any], current: Iterable[Item]) -> list[str] | None:
    """Return the existing objects as IDs and the desired ones by name; None if nothing is desired."""
    kept = list(current)
    names = [str(name) for name in desired]
    present = {str(each[field]) for each in kept for field in ("id", "name")}
    return [*(str(each["id"]) for each in kept), *(name for name in names if name not in present)] if names else None


def _variables(desired: Item, text: Any, name: str) -> dict[str, Any] | None:
    """Return the variables of the template; None if the existing ones have the desired values."""
    try:
        existing = yaml.safe_load(text or "") or {}
    except yaml.YAMLError as problem:
        raise AnsibleFilterError(f"The extra variables of the job template {name} are not YAML: {problem}") from problem
    merged = {**existing, **desired}
    return merged if merged != existing else None


class FilterModule:
    """Offers awx_templates."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"awx_templates": awx_templates}
