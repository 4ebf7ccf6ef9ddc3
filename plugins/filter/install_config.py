# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: install_config
short_description: Render install-config.yaml from settings and further fields of the user
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the fields of C(install-config.yaml) for these settings, merged recursively with further ones. Machine pools are merged by name;
    other lists are one value. The role P(equinix_metal.openshift.validate#role) checks the same fields before the first device is created.
  - Settings that are empty, V(none) or V(false) count as unset, and the installer sets their fields.
  - A field that both have with different values is an error, since the rest of the collection reads the setting alone. All such fields are
    reported together.
positional: further
options:
  _input:
    description: Settings of the role P(equinix_metal.openshift.ignition#role), by their names without C(ignition_).
    type: dict
    required: true
  further:
    description: Further fields of C(install-config.yaml).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Print the fields of install-config.yaml
  ansible.builtin.debug:
    msg: "{{ settings | equinix_metal.openshift.install_config(further) | dict2items | map(attribute='key') }}"
  vars:
    further: {networking: {ovnKubernetesConfig: {ipv4: {internalJoinSubnet: 100.70.0.0/16}}}}
    settings:
      cluster_name: demo
      base_domain: metal.test
      distribution: ocp
      architecture: x86_64
      control_plane_replicas: 3
      platform: none
      network_type: OVNKubernetes
      cluster_networks: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
      service_networks: [172.30.0.0/16]
      machine_networks: [10.0.0.0/16]
      pull_secret: {auths: {quay.io: {auth: dXNlcjp3b3Jk}}}
"""

RETURN = r"""
_value:
  description: The fields.
  type: dict
  sample: {apiVersion: v1, baseDomain: metal.test}
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils.install_config.rendering import InstallConfigError, render


def install_config(settings: Any, further: Any = None) -> dict[str, Any]:
    """Return the fields; raises AnsibleFilterError for every field that both have with different values."""
    if not isinstance(settings, Mapping):
        raise AnsibleFilterError(f"install_config: the settings have to be a mapping, not {type(settings).__name__}")
    try:
        return render(settings, further)
    except InstallConfigError as problem:
        raise AnsibleFilterError(str(problem)) from None


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"install_config": install_config}
