# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: installer_version
short_description: Version, payload and architecture of an openshift-install
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the output of C(openshift-install version). Its first line begins with the path that the installer was called by, which may have
    blanks in it.
positional: _input
options:
  _input:
    description:
      - Standard output of C(openshift-install version).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Get the version of the installer
  ansible.builtin.command:
    argv: ["/home/core/my clusters/openshift-install", version]
  register: asked
  changed_when: false

- name: Show the version of the installer
  ansible.builtin.debug:
    msg: "{{ (asked.stdout | equinix_metal.openshift.installer_version).version }}"
"""

RETURN = r"""
_value:
  description: What the installer reports of itself. A value that it does not report is empty.
  type: dict
  contains:
    version:
      description: The release.
      type: str
      sample: 4.20.33
    digest:
      description: Digest of the release payload.
      type: str
      sample: sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    architecture:
      description: Architecture of the release payload; V(unknown) where C(OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE) names another one.
      type: str
      sample: amd64
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import read_version


def installer_version(output: Any) -> dict[str, str]:
    """Return version, digest and architecture."""
    return asdict(read_version(str(output or "")))


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"installer_version": installer_version}
