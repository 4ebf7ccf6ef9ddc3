# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: installer_log
short_description: Errors and warnings of openshift-install without secrets
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads what C(openshift-install) writes to stderr. The installer repeats a value that it refuses, also the pull secret and the password
    of a proxy; in what this filter returns they are C(<redacted>), and control characters are escaped.
  - A field that the installer does not know is only a warning. The field has no effect then.
positional: _input, install_config
options:
  _input:
    description:
      - Standard error of C(openshift-install).
    type: str
    required: true
  install_config:
    description:
      - The install-config that the installer read. Its secrets are redacted.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Create the manifests
  ansible.builtin.command:
    argv: [openshift-install, create, manifests, --dir=cluster]
    creates: cluster/manifests
  register: created
  failed_when: false
  no_log: true

- name: Fail if the installer refused the install-config
  ansible.builtin.assert:
    that: created.rc == 0
    fail_msg: "{{ (created.stderr | equinix_metal.openshift.installer_log(install_config)).errors }}"
"""

RETURN = r"""
_value:
  description: Errors and warnings.
  type: dict
  contains:
    errors:
      description: Why the installer failed, in one line; empty if it reported no error.
      type: str
      sample: 'invalid "install-config.yaml" file: publish: Invalid value: "Internal": not supported on "none" platform'
    warnings:
      description: Each warning once, without those that the role C(ignition) causes itself.
      type: list
      elements: str
      sample: ["imageContentSources is deprecated, please use ImageDigestSources"]
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.installer_log import read


def installer_log(stderr: Any, install_config: Any) -> dict[str, Any]:
    """Return errors and warnings; raises AnsibleFilterError when the install-config is no dictionary."""
    if not isinstance(install_config, Mapping):
        raise AnsibleFilterError("installer_log: install_config has to be a dictionary")
    return asdict(read(str(stderr or ""), install_config))


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"installer_log": installer_log}
