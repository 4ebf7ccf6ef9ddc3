# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: is_private_file
short_description: Whether a file of the controller has a text and is accessible to its owner only
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns whether a file needs no change, before a task that writes it. Such a task starts several processes to find that out.
positional: _input, text
options:
  _input:
    description:
      - Path of the file.
    type: str
    required: true
  text:
    description:
      - Text that the file should have. Line ends at its end make no difference.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Write the kubeconfig
  ansible.builtin.template:
    src: kubeconfig.j2
    dest: clusters/demo.metal.test/kubeconfig
    mode: "0600"
  diff: false
  no_log: true
  when: not 'clusters/demo.metal.test/kubeconfig' | equinix_metal.openshift.is_private_file(text)
  vars:
    text: "{{ lookup('ansible.builtin.template', 'kubeconfig.j2') }}"
"""

RETURN = r"""
_value:
  description: Whether it is a file with this text, and its mode is V(0600). Also V(false) if it cannot be read.
  type: bool
  sample: true
"""

from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Any

MODE = 0o600


def is_private_file(path: str, text: str) -> bool:
    """Return whether the file is as a task would write it; no link, which such a task replaces."""
    file = Path(str(path))
    try:
        state = file.lstat()
        return S_ISREG(state.st_mode) and S_IMODE(state.st_mode) == MODE and file.read_text(encoding="utf-8").rstrip() == str(text).rstrip()
    except (OSError, ValueError):
        return False


class FilterModule:
    """Offers is_private_file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"is_private_file": is_private_file}
