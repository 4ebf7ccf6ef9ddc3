# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: redact
short_description: Output of a program without the secrets in it
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Replaces secrets in a string, or in the strings of lists and dictionaries, by C(<redacted>), so that the reason of a failure can be
    printed although the task has C(no_log).
  - A known secret is found everywhere, also quoted, escaped or in base64. Other secrets are found by their key (C(password),
    C(pullSecret)), or by their form (a private key, user and password in an address).
  - In a text, control characters, ANSI escape sequences and invisible formatting are escaped; line ends stay.
positional: _input
options:
  _input:
    description: Output of a program, or the result of a task.
    type: raw
    required: true
  secrets:
    description: Texts, or lists and dictionaries of texts, each of which is a secret. Those of fewer than 6 characters are ignored.
    type: list
    elements: raw
    default: []
  settings:
    description: Lists and dictionaries of settings. Secrets in them are the values of secret keys, and users and passwords in addresses.
    type: list
    elements: raw
    default: []
  limit:
    description: Number of characters to keep of a string. The end is kept, since programs print the reason of a failure last.
    type: int
    default: 4000
"""

EXAMPLES = r"""
- name: Create the manifests
  ansible.builtin.command:
    argv: [openshift-install, create, manifests, --dir=cluster]
    creates: cluster/manifests
  register: created
  failed_when: false
  no_log: true

- name: Fail if the installer refused
  ansible.builtin.assert:
    that: created.rc == 0
    fail_msg: "{{ created.stderr | equinix_metal.openshift.redact(secrets=[openshift_pull_secret], settings=[openshift_proxy]) }}"
"""

RETURN = r"""
_value:
  description: The input without secrets.
  type: raw
  sample: "proxy.httpProxy: Invalid value: \"http://<redacted>@10.128.0.5:3128\": proxy value is part of the cluster networks"
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.base.printable import printable
from ..plugin_utils.programs.redaction import Redactor, secrets_in, secrets_of_settings


def redact(value: Any, secrets: Any = (), settings: Any = (), limit: int = 4000) -> Any:
    """Return the value without its secrets; raises AnsibleFilterError when ``secrets`` or ``settings`` is no list."""
    for name, values in (("secrets", secrets), ("settings", settings)):
        if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
            raise AnsibleFilterError(f"redact: {name} has to be a list")
    redactor = Redactor(chain(secrets_in(list(secrets)), secrets_of_settings(list(settings))))
    if not isinstance(value, str):
        return redactor.data(value)
    lines = [printable(line, max(len(line) * 10, 1)) for line in redactor.text(value).splitlines()]
    text = "\n".join(lines)
    return text if len(text) <= limit else f"(cut, {len(text)} characters) ...{text[-limit:]}"


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"redact": redact}
