# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rule
short_description: Rules of the roles of this collection
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Calls a function of the collection that computes what one of its roles needs.
  - For the roles and playbooks of the collection only. Rules are private, and may change with every release. For playbooks of your own
    there are the other filters of the collection, which C(docs/your-own-playbook.md) lists.
  - A rule is a function of C(plugins/plugin_utils/rules/<subject>.py), where its docstring describes it. Only the file of the subject is
    loaded. Further arguments of the filter, positional or by name, are those of the function.
positional: name
options:
  _input:
    description: The first argument of the rule.
    type: raw
    required: true
  name:
    description: The rule, C(<subject>.<function>). An unknown name fails with those that exist.
    type: str
    required: true
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.base.errors import CollectionError

PACKAGE = "ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules"
FOLDER = Path(__file__).resolve().parents[1] / "plugin_utils" / "rules"
NAME = re.compile(r"([a-z_]+)\.([a-z_]+)")


@cache
def function(name: str) -> Callable[..., Any]:
    """Return the function of a rule. Raises AnsibleFilterError for an unknown one, with those that exist."""
    parts = NAME.fullmatch(name)
    if parts is None:
        raise AnsibleFilterError(f"rule: a rule is named <subject>.<function>, not {name!r}")
    subjects = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
    if parts[1] not in subjects:
        raise AnsibleFilterError(f"rule: no subject {parts[1]}; there are {', '.join(subjects)}")
    module = import_module(f"{PACKAGE}.{parts[1]}")
    if parts[2] not in module.__all__:
        raise AnsibleFilterError(f"rule: {parts[1]} has no rule {parts[2]}; it has {', '.join(sorted(module.__all__))}")
    loaded: Callable[..., Any] = getattr(module, parts[2])
    return loaded


def rule(value: Any, name: str, /, *arguments: Any, **options: Any) -> Any:
    """Return what the rule returns. An error that it expects, and an input of another shape, become an AnsibleFilterError."""
    loaded = function(str(name))
    try:
        return loaded(value, *arguments, **options)
    except CollectionError as problem:
        raise AnsibleFilterError(str(problem)) from None  # ansible-core 2.19 appends the text of a cause
    except (LookupError, TypeError, AttributeError, ValueError) as problem:
        raise AnsibleFilterError(f"{name}: the input does not have the form that this rule reads: {problem!r}") from problem


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rule": rule}
