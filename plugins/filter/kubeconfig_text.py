# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: kubeconfig_text
short_description: Convert a kubeconfig to a text without file references
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the current context of a kubeconfig as YAML, with the content of the certificates, keys and tokens that it names as files. The
    result is the same for the same credentials, so it can be compared with an earlier one.
options:
  _input:
    description: Path of a kubeconfig, or its text as AWX injects it.
    type: raw
    required: true
notes:
  - The result is a secret.
"""

EXAMPLES = r"""
- name: Write the kubeconfig
  ansible.builtin.copy:
    content: "{{ openshift_kubeconfig | equinix_metal.openshift.kubeconfig_text }}"
    dest: clusters/demo.metal.test/kubeconfig
    mode: "0600"
  diff: false
  no_log: true
"""

RETURN = r"""
_value:
  description: The kubeconfig as YAML. Empty if the input is empty or the path of a file that does not exist.
  type: str
  sample: "apiVersion: v1..."
"""

from collections.abc import Callable
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

from ..plugin_utils.cluster_folder.kubeconfig import KubeconfigError, normalized


def kubeconfig_text(value: Any) -> str:
    """Return the kubeconfig as YAML; raises AnsibleFilterError for one that cannot be used."""
    if not value:
        return ""
    try:
        config = normalized(value)
    except KubeconfigError as problem:
        raise AnsibleFilterError(f"openshift_kubeconfig cannot be used: {problem}. Give the path or the text of a kubeconfig.") from None
    return "" if config is None else str(yaml.safe_dump(config, sort_keys=True))


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"kubeconfig_text": kubeconfig_text}
