# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: file_text
short_description: Text of a variable that can be a text or the path of a file
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the text of a file on the controller when the value is a path, otherwise the value. AWX injects credentials in both ways.
  - One line that begins with C(/), C(~/), C(./) or C(../) is a path.
positional: variable, strict
options:
  _input:
    description: The text, or the path.
    type: str
    required: true
  variable:
    description: Name of the variable, for messages.
    type: str
    required: true
  strict:
    description: Whether a file that cannot be read is an error. With V(false) the path is returned.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Print the CA certificates that the nodes trust
  ansible.builtin.debug:
    msg: "{{ openshift_trust_bundle | equinix_metal.openshift.file_text('openshift_trust_bundle') }}"
"""

RETURN = r"""
_value:
  description: The text.
  type: str
  sample: -----BEGIN CERTIFICATE-----...
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.base.errors import CollectionError
from ..plugin_utils.settings.file_text import file_text as text_of


def file_text(value: Any, variable: str, strict: bool = True) -> Any:
    """Return the text. Values that are no text are returned for the checks of their types."""
    if not isinstance(value, str):
        return value
    try:
        return text_of(value, variable)
    except CollectionError as problem:
        if not strict:
            return value
        raise AnsibleFilterError(str(problem)) from None  # ansible-core 2.19 appends the text of a cause


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"file_text": file_text}
