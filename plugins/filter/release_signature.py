# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: release_signature
short_description: Whether gpgv found a good signature
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Judges the status lines of C(gpgv --status-fd 1). Its exit code is 0 also for a signature by a key that has expired or was revoked, and
    for one over SHA-1; these are not good here.
  - Of several signatures one good one is enough, unless another one is of other content.
positional: _input
options:
  _input:
    description:
      - Standard output of C(gpgv --status-fd 1).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Check the signature
  ansible.builtin.command:
    argv: [gpgv, --status-fd, "1", --keyring, /etc/keys/release.gpg, sha256sum.txt.gpg, sha256sum.txt]
  register: checked
  changed_when: false
  failed_when: not (checked.stdout | equinix_metal.openshift.release_signature).good
"""

RETURN = r"""
_value:
  description: The verdict.
  type: dict
  contains:
    good:
      description: Whether a key of the keyring that is still valid signed exactly this content.
      type: bool
      sample: false
    found:
      description: By which key and when, or why the signature is refused.
      type: str
      sample: it is by key 199E2F91FD431D51, which was revoked
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release_signature import judge


def release_signature(status: Any) -> dict[str, Any]:
    """Return whether the signature is good, and what was found."""
    verdict = asdict(judge(str(status or "")))
    return {**verdict, "found": printable(verdict["found"])}


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"release_signature": release_signature}
