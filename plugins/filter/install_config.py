# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: install_config
short_description: The fields of an install-config, and further ones of the user's
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Merges further fields into those that variables led to, however deep they are. Machine pools are merged by their names; other lists are
    one value.
  - What is empty, V(none) or V(false) among the first counts as not given and is left out.
  - A field that both have with different values is an error, since the rest of the collection looks at the variable alone. All such fields
    are told at once.
positional: further
options:
  _input:
    description:
      - Fields that variables led to.
    type: dict
    required: true
  further:
    description:
      - Further fields of C(install-config.yaml).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show what an installer would be given
  ansible.builtin.debug:
    msg: "{{ {'baseDomain': 'metal.test', 'fips': false} | equinix_metal.openshift.install_config({'publish': 'Internal'}) }}"
"""

RETURN = r"""
_value:
  description: The merged fields.
  type: dict
  sample: {baseDomain: metal.test, publish: Internal}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils._errors import together

SECRET = ("pullSecret", "proxy")
"""Fields whose values are not shown: a proxy's address may have a password in it."""


def _pools(value: Any) -> dict[str, Any] | None:
    """Entries by name, if all of a list have one: so are machine pools."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    named = {entry["name"]: entry for entry in value if isinstance(entry, Mapping) and "name" in entry}
    return named if len(named) == len(value) else None


def _merged(ours: Any, theirs: Any, path: str, problems: list[str]) -> Any:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        both = {key: _merged(ours[key], theirs[key], f"{path}.{key}".lstrip("."), problems) for key in ours if key in theirs}
        return {**ours, **theirs, **both}
    our_pools, their_pools = _pools(ours), _pools(theirs)
    if our_pools is not None and their_pools is not None:
        return list(_merged(our_pools, their_pools, path, problems).values())
    if ours != theirs:
        shown = "another" if path.partition(".")[0] in SECRET else repr(theirs)
        value = "is given" if path.partition(".")[0] in SECRET else f"is {ours!r}"
        problems.append(f"{path} {value} by variables of the collection and {shown} among the further fields: give it in one place")
    return ours


def _given(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if value is not None and value is not False and value not in ("", [], {}):
            yield name, value


def install_config(fields: Any, further: Any = None) -> dict[str, Any]:
    """Both in one; raises AnsibleFilterError telling every field that both have differently."""
    further = {} if further is None else further
    for what, value in (("the fields", fields), ("further fields", further)):
        if not isinstance(value, Mapping):
            raise AnsibleFilterError(f"install_config: {what} have to be a mapping, not {type(value).__name__}")
    problems: list[str] = []
    merged: dict[str, Any] = _merged(dict(_given(fields)), further, "", problems)
    if problems:
        raise AnsibleFilterError(together("The install-config contradicts itself", problems))
    return merged


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"install_config": install_config}
