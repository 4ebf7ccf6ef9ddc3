# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: boot_images
short_description: Boot images of an openshift-install
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads the output of C(openshift-install coreos print-stream-json). The name of its stream does not have the operating system
    (C(rhcos-4.19), before that C(4.18-9.4)); the builds of its images have it (C(9.6.20251023-0), before that C(418.94.202501221327-0)).
positional: _input
options:
  _input:
    description:
      - Standard output of C(openshift-install coreos print-stream-json).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Get the boot images
  ansible.builtin.command:
    argv: [openshift-install, coreos, print-stream-json]
  register: printed
  changed_when: false

- name: Assert that Arm machines can be booted
  ansible.builtin.assert:
    that: "'aarch64' in (printed.stdout | equinix_metal.openshift.boot_images).architectures"
"""

RETURN = r"""
_value:
  description: The boot images.
  type: dict
  contains:
    stream:
      description: Name of the stream.
      type: str
      sample: rhcos-4.20
    architectures:
      description: Architectures that can be booted over the network.
      type: list
      elements: str
      sample: [aarch64, x86_64]
    builds:
      description: Builds of these images.
      type: list
      elements: str
      sample: [9.6.20260312-0]
    os_image_streams:
      description: The values of C(osImageStream) in install-config.yaml for these builds.
      type: list
      elements: str
      sample: [rhel-9]
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import read_stream


def boot_images(output: Any) -> dict[str, Any]:
    """Return the images for booting over the network; raises AnsibleFilterError for malformed stream metadata."""
    try:
        return asdict(read_stream(output))
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise AnsibleFilterError(f"boot_images: malformed stream metadata: {type(problem).__name__}: {problem}") from problem


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"boot_images": boot_images}
