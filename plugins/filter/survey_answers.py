# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: survey_answers
short_description: Variables that the survey of an AWX job sets
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - A question of a survey has the name of its variable with C(survey_) before it. AWX passes an answer as an extra variable, which would
    override the variable in the inventory also when the answer is empty.
  - Returns the variables whose answer is not empty. AWX passes an empty answer as an empty text, which Ansible reads as null.
options:
  _input:
    description:
      - The variables of the play by name; those without C(survey_) before their name are ignored.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Print the answers
  ansible.builtin.debug:
    msg: "{{ {'survey_openshift_remove': 'worker-2', 'survey_openshift_least_workers': none} | equinix_metal.openshift.survey_answers }}"
    # {"openshift_remove": "worker-2"}
"""

RETURN = r"""
_value:
  description: The answers by the name of the variable.
  type: dict
  sample:
    openshift_remove: worker-2
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

PREFIX = "survey_"


def survey_answers(variables: Any) -> dict[str, Any]:
    """Return the answers that are not empty, by variable."""
    if not isinstance(variables, Mapping):
        raise AnsibleFilterError(f"survey_answers: the input has to be the variables by name, not {type(variables).__name__}")
    return {
        str(name).removeprefix(PREFIX): value
        for name, value in variables.items()
        if str(name).startswith(PREFIX) and value is not None and str(value).strip()
    }


class FilterModule:
    """Offers survey_answers."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"survey_answers": survey_answers}
