# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of every module that waits."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  wait:
    description:
      - Whether to wait until what was asked for is so.
    type: bool
    default: true
  wait_timeout:
    description:
      - How long to wait, in seconds.
    type: float
    default: 1800
  wait_interval:
    description:
      - Interval between two polls, in seconds.
    type: float
    default: 5
  progress_interval:
    description:
      - While the module waits, show what is pending every this many seconds, if it has changed. V(0) is off.
      - Nothing is shown for a module that runs on another host, and with C(async).
    type: float
    default: 15
  time_scale:
    description:
      - Factor for O(wait_timeout), to give all waits of a slow place more time by C(module_defaults).
    type: float
    default: 1
"""

    # For waits for nodes, which see by the Metal API that a machine will not join.
    MACHINES = r"""
options:
  ownership_tags:
    description:
      - Tags of the devices of O(machines), of which others have none.
    type: list
    elements: str
    default: []
  quorum_of:
    description:
      - Names of Nodes that can be done without, as long as O(quorum) of them are Ready.
    type: list
    elements: str
    default: []
  quorum:
    description:
      - So many of O(quorum_of) are enough. As soon as so many are Ready, those of the others that will not get further (see O(machines))
        are not waited for any longer. V(0) is all of them.
    type: int
    default: 0
  quorum_wait:
    description:
      - How long the others are still waited for once so many are Ready, in seconds.
    type: float
    default: 1200
"""
