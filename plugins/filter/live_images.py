# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: live_images
short_description: Live images that devices boot
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Lists kernel, initramfs and root file system of the live system for each architecture, all of one build.
positional: architectures, mirror_url, verified
options:
  _input:
    description:
      - Stream metadata of the installer, C(openshift-install coreos print-stream-json).
    type: dict
    required: true
  architectures:
    description:
      - Architectures of the machines.
    type: list
    elements: str
    required: true
  mirror_url:
    description:
      - Mirror of the same files. Empty, the addresses of the stream metadata are used.
    type: str
    required: true
  verified:
    description:
      - How the images are verified, returned with each of them.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print the boot images of machines
  ansible.builtin.debug:
    msg: "{{ stream | equinix_metal.openshift.live_images(['x86_64'], '', 'head') }}"
"""

RETURN = r"""
_value:
  description: The images.
  type: list
  elements: dict
  sample: [{url: "http://mirror.example.com/kernel", sha256: "9f86d0...", location: "https://rhcos.example.com/kernel", verified: head}]
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.boot_files import boot_images


def live_images(stream: Mapping[str, Any], architectures: Iterable[str], mirror_url: str, verified: str) -> list[dict[str, str]]:
    """Return the live images of these architectures."""
    return boot_images(stream, architectures, mirror_url, verified)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"live_images": live_images}
