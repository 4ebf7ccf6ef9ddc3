# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: failure_contents
short_description: Select what a failure bundle contains
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Selects the attributes of a failure bundle from the results of the role C(gather), by an allow list. Userdata, customdata,
    descriptions, foreign tags and output of programs are not on it.
options:
  _input:
    description:
      - The registered results, under C(devices), C(events), C(cluster), C(verdicts) and C(logs); C(failure), C(versions) and C(belongings);
        C(hostnames), the host names of the inventory; C(event_count), how many of the project's newest events to keep; C(console_host);
        C(failed), the collectors that could not be run. Each may be absent.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: List the files of the failure bundle
  ansible.builtin.debug:
    msg: "{{ ({'devices': devices} | equinix_metal.openshift.failure_contents).contents.keys() | list }}"
  vars:
    devices:
      devices: []
"""

RETURN = r"""
_value:
  description:
    - The files by name (C(contents)), the collectors without an answer (C(missing)), and the SSH addresses of the serial consoles
      (C(consoles)).
  type: dict
  sample:
    contents: {devices.json: [], nodes.json: []}
    missing: [cluster]
    consoles:
      - hostname: worker-0.demo.metal.test
        state: provisioning
        user: 7f4a9d60-4e7d-4f5c-9f0e-0d2a6a3b9d11
        host: sos.da.example.com
        port: 0
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.failure_contents import failure_contents


def select_contents(collected: Any) -> dict[str, Any]:
    """Return the contents of the failure bundle; raises AnsibleFilterError unless ``collected`` is a dictionary."""
    if not isinstance(collected, Mapping):
        raise AnsibleFilterError("failure_contents: the input has to be a dictionary of results")
    return failure_contents(collected)


class FilterModule:
    """Offers failure_contents."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"failure_contents": select_contents}
