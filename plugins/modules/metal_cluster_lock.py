#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: metal_cluster_lock
short_description: Take, wait for, release and break the lock of a cluster
version_added: 0.1.0
description:
  - Only one run at a time may write to a cluster. Which run that is stands at the Metal API, where all of them see it - playbooks on two
    computers, AWX jobs, and modules that outlive their playbook.
  - The lock is a virtual network with the tags C(openshift-cluster=<name>) and C(openshift-role=lock). It costs nothing and touches no
    device. Further tags say which run holds it, since when, and when it was renewed.
  - A run is an C(ansible-playbook). Its tasks are given RV(run) as O(equinix_metal.openshift.metal_device#module:cluster_lock), best with
    C(module_defaults). They take the lock before their first write, so that a playbook with nothing to do writes nothing.
  - A lock that is not renewed expires. The lock of a playbook that has ended on the same computer is taken over at once, as soon as what it
    had sent must have arrived.
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
options:
  name:
    description:
      - The cluster, C(<name>.<base domain>).
    type: str
    required: true
  state:
    description:
      - V(free) waits until no other run holds the lock, deletes the locks of runs that have ended, and takes none. It fails at once when
        another run is alive, on this computer, or elsewhere as soon as it renews its lock.
      - V(held) takes the lock, and renews it when that is due. It fails when another run holds it.
      - V(kept) is V(held) for a run that has taken the lock before. It also takes an expired lock again, but fails if another run may have
        held it meanwhile, since what this run has read may be outdated.
      - V(released) deletes the lock of this run, or with O(unlock) that of another one.
    type: str
    choices:
      - held
      - free
      - kept
      - released
    default: held
  metro:
    description:
      - Code of the metro in which the lock is created. Without it, that of a device of the cluster, or the first one of the API.
    type: str
  operation:
    description:
      - What this run does, usually the name of its playbook. Other runs show it while this one holds the lock.
    type: str
    default: ""
  job:
    description:
      - The AWX job of this run. Other runs show it while this one holds the lock.
    type: str
    default: ""
  lifetime:
    description:
      - Seconds after which the lock expires if it is not renewed. Never less than four times O(metal_api_timeout) and 20 seconds, so that
        there is time for requests between two renewals.
    type: float
    default: 300
  unlock:
    description:
      - With O(state=released), the id of the lock to break, whichever run holds it. If that run is alive it finds out before its next
        write, and may take the lock again.
      - The task ends when nothing that run had sent can arrive any more.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._attributes.metal
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._metal.project
  - equinix_metal.openshift._wait
notes:
  - Whether a run on this computer has ended is known from its process id and the start of that process, and from a file in the folder for
    temporary files (E(TMPDIR)) that each of its modules keeps locked. Use the same folder for all runs.
  - The computer of the modules and that of C(ansible-playbook) have to be the same (C(connection=local)).
"""

EXAMPLES = r"""
- name: Wait until no other run writes to the cluster
  equinix_metal.openshift.metal_cluster_lock:
    name: demo.example.com
    state: free
    operation: my-playbook.yml
  register: cluster_lock

- name: Create a VLAN of the cluster as this run
  equinix_metal.openshift.metal_vlan:
    metro: da
    tags:
      - openshift-cluster=demo.example.com
    cluster_lock: "{{ cluster_lock.run }}"

- name: Release the lock
  equinix_metal.openshift.metal_cluster_lock:
    name: demo.example.com
    state: released

- name: Break the lock of a run that has ended on a computer that is gone
  equinix_metal.openshift.metal_cluster_lock:
    name: demo.example.com
    state: released
    unlock: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
"""

RETURN = r"""
run:
  description: This run, to be given to other tasks as O(equinix_metal.openshift.metal_device#module:cluster_lock).
  returned: state is held, kept or free
  type: str
  sample: /tmp/equinix_metal.openshift-1000/1f5a2c1e-7f0a-5e0b-9a7e-1a3d4c5b6a70.json
lock:
  description: The lock of this run. Null when it has none.
  returned: always
  type: dict
  contains: &lock
    id:
      description: The lock's id, by which it can be broken.
      type: str
      sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f
    run:
      description: The run that holds it.
      type: str
      sample: 1f5a2c1e-7f0a-5e0b-9a7e-1a3d4c5b6a70
    holder:
      description: User and host of the run.
      type: str
      sample: alice@bastion
    operation:
      description: What the run does.
      type: str
      sample: install.yml
    job:
      description: The job of AWX that the run is.
      type: str
      sample: AWX job 17
    acquired_at:
      description: When the lock was taken, UTC.
      type: str
      sample: "2026-11-22T07:10:00Z"
    renewed_at:
      description: When it was renewed last, UTC.
      type: str
      sample: "2026-11-22T07:14:10Z"
    expires_at:
      description: When it expires unless it is renewed, UTC.
      type: str
      sample: "2026-11-22T07:19:10Z"
broken_lock:
  description: The lock that was broken, null if there was none.
  returned: unlock is given
  type: dict
  contains: *lock
diff:
  description: Whether this run has the lock, before and after.
  returned: always
  type: dict
  sample:
    before: {}
    after: {name: demo.example.com, run: 1f5a2c1e-7f0a-5e0b-9a7e-1a3d4c5b6a70}
    before_header: cluster lock of demo.example.com
    after_header: cluster lock of demo.example.com
failure:
  description: The error for programs. Its keys depend on the kind of error.
  returned: failed
  type: dict
  sample:
    type: LockedError
    lock: {id: 5f1d3910-2059-4737-8e7d-d4907cfbf27f, holder: alice@bastion, operation: install.yml}
"""

from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.lock import LockModule


def main() -> None:
    with LockModule() as module:
        module.keep()


if __name__ == "__main__":
    main()
