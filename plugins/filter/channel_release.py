# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: channel_release
short_description: The release that a channel of the mirror shows
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Reads C(release.txt) of a channel such as C(stable-4.20). That file is not signed, so a release of another minor version is a problem,
    and so is one that is not finished in C(stable) or C(fast).
positional: _input, channel
options:
  _input:
    description:
      - Content of C(release.txt).
    type: str
    required: true
  channel:
    description:
      - Name of the channel.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Get the release that the channel shows
  ansible.builtin.uri:
    url: https://mirror.openshift.com/pub/openshift-v4/x86_64/clients/ocp/stable-4.20/release.txt
    return_content: true
  register: shown

- name: Show the release
  ansible.builtin.debug:
    msg: "{{ (shown.content | equinix_metal.openshift.channel_release('stable-4.20')).version }}"
"""

RETURN = r"""
_value:
  description: The release.
  type: dict
  contains:
    version:
      description: The release; empty if the file names none.
      type: str
      sample: 4.20.33
    digest:
      description: Digest of its payload; empty if the file names none.
      type: str
      sample: sha256:6bc5c21f5f5a1b1e4bd8a2a0e8b0a5c4f4b9f0d16bc5c21f5f5a1b1e4bd8a2a0
    problem:
      description: Why this cannot be a release of that channel, or an empty text.
      type: str
      sample: stable-4.20 shows 4.19.42, which is no release of 4.20
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import read_channel


def channel_release(content: Any, channel: Any) -> dict[str, str]:
    """Return version, digest and problem."""
    shown = read_channel(str(content or ""), str(channel))
    return {"version": shown.version, "digest": shown.digest, "problem": printable(shown.problem)}


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"channel_release": channel_release}
