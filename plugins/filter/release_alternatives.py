# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: release_alternatives
short_description: Releases or channels that a mirror has
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Names the newest releases of a minor version, or the channels, when the one that is wanted is not there. Read from a web server's
    listing of the folder that releases are in.
positional: _input, wanted
options:
  _input:
    description:
      - The listing, as HTML.
    type: str
    required: true
  wanted:
    description:
      - The release or the channel that is not there.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Get the listing of the mirror
  ansible.builtin.uri:
    url: https://mirror.openshift.com/pub/openshift-v4/x86_64/clients/ocp/
    return_content: true
  register: listing

- name: Show what there is instead of a release that was never made
  ansible.builtin.debug:
    msg: "{{ listing.content | equinix_metal.openshift.release_alternatives('4.20.99') }}"
"""

RETURN = r"""
_value:
  description: What the mirror has, in words.
  type: str
  sample: the newest of 4.20 there are 4.20.33, 4.20.32, 4.20.31
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable
from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.release import NOT_LISTED, alternatives


def release_alternatives(listing: Any, wanted: Any) -> str:
    """Return what the mirror has, or that it does not list its releases."""
    return printable(alternatives(str(wanted), str(listing or "")) or NOT_LISTED)


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"release_alternatives": release_alternatives}
