# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: may_prompt
short_description: Whether a playbook may ask a question
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - A question in a job of AWX would wait for ever, since a job has a terminal and no user at it.
  - Without a terminal on standard input M(ansible.builtin.pause) does not wait.
positional: job
options:
  _input:
    description:
      - C(openshift_interactive).
    type: bool
    required: true
  job:
    description:
      - ID of the AWX job, empty if the run is none.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Ask for the name of the cluster
  ansible.builtin.pause:
    prompt: Type the name of the cluster
  when: openshift_interactive | default(true) | equinix_metal.openshift.may_prompt(awx_job_id | default(''))
"""

RETURN = r"""
_value:
  description: Whether it may.
  type: bool
  sample: true
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

RUNNER = "AWX_ISOLATED_DATA_DIR"
"""ansible-runner sets this variable for each run. It gives the run a terminal that nobody reads."""
FALSE = frozenset({"false", "no", "off", "0", "n", "f", "0.0"})


def is_interactive(setting: Any, job: Any, environment: Mapping[str, str]) -> bool:
    """Return whether a user can answer: ``setting`` is openshift_interactive, ``job`` the ID of an AWX job."""
    return str(setting).lower() not in FALSE and not str(job or "") and not environment.get(RUNNER)


def may_prompt(setting: Any, job: Any = "") -> bool:
    """Return whether this run may ask a question."""
    return is_interactive(setting, job, os.environ)


class FilterModule:
    """Offers may_prompt."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"may_prompt": may_prompt}
