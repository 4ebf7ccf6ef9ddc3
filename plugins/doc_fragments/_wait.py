# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that wait.

Note that this doc fragment is private to the collection: it may change without notice.
"""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  wait:
    description: Wait until the requested state is reached.
    type: bool
    default: true
  wait_timeout:
    description: Seconds after which the wait fails.
    type: float
    default: 1800
  wait_interval:
    description: Seconds between two polls.
    type: float
    default: 5
  progress_interval:
    description:
      - Seconds between two progress messages. A message is shown only if something has changed. V(0) disables them.
      - A module on another host, or with C(async), shows no progress.
    type: float
    default: 15
  time_scale:
    description: Factor for O(wait_timeout), to give all waits of a slow place more time by C(module_defaults).
    type: float
    default: 1
"""

    # For waits for nodes, which see by the Metal API that a machine will not join.
    MACHINES = r"""
options:
  ownership_tags:
    description: Tags that identify the devices of O(machines). No other device has them.
    type: list
    elements: str
    default: []
  quorum_of:
    description: Names of the Nodes that are optional as long as O(quorum) of them are Ready.
    type: list
    elements: str
    default: []
  quorum:
    description:
      - Number of O(quorum_of) that have to be Ready. Once they are, the wait skips those of the others whose machine failed or is gone (see
        O(machines)). V(0) requires all of them.
    type: int
    default: 0
  quorum_wait:
    description: Seconds to wait for the others once O(quorum) is reached.
    type: float
    default: 1200
"""
