#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: metal_cluster_lock
short_description: Acquire, release and break the lock of a cluster
version_added: 0.1.0
description:
  - Only one run at a time may write to a cluster. The Metal API stores which run holds the lock, so that it holds for playbooks on several
    computers, AWX jobs, and modules that outlive their playbook.
  - The lock is a virtual network with the tags C(openshift-cluster=<name>) and C(openshift-role=lock). It is free of charge and no device
    is attached to it. Further tags store the run, when it acquired the lock, and when it renewed it.
  - A run is a process of C(ansible-playbook). Pass RV(run) to its tasks as O(equinix_metal.openshift.metal_device#module:cluster_lock),
    best with C(module_defaults). Modules acquire the lock before their first write, so a playbook without changes writes nothing.
  - A lock that is not renewed expires. A lock of a playbook that has ended on the same computer is replaced as soon as none of its requests
    can still arrive.
options:
  name:
    description: Name of the cluster, C(<name>.<base domain>).
    type: str
    required: true
  state:
    description: The requested state of the lock.
    type: str
    choices:
      held: Acquire the lock, or renew it when that is due. Fail if another run holds it.
      free: Wait until no other run holds the lock, and delete locks of runs that have ended. Acquire no lock. Fail at once if the other run
        is alive on this computer, or renews its lock.
      kept: As V(held), for a run that has acquired the lock before. Acquire an expired lock again, unless another run may have held it
        meanwhile, since what this run has read may be outdated.
      released: Delete the lock of this run, or with O(unlock) that of another run.
    default: held
  metro:
    description: Code of the metro in which the lock is created. By default that of a device of the cluster, or the first metro of the API.
    type: str
  operation:
    description: What this run does, usually the name of its playbook. Other runs print it while they wait for the lock.
    type: str
    default: ""
  job:
    description: The AWX job of this run. Other runs print it while they wait for the lock.
    type: str
    default: ""
  lifetime:
    description: Seconds after which the lock expires if it is not renewed. At least four times O(metal_api_timeout) and 20 seconds, so that
      requests complete between two renewals.
    type: float
    default: 300
  unlock:
    description:
      - With O(state=released), ID of the lock to break, whichever run holds it. A run that is alive notices it before its next write, and
        may acquire the lock again.
      - The task ends when no request of that run can arrive any more.
    type: str
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._metal
  - equinix_metal.openshift._wait
notes:
  - A run on this computer has ended if its process (by ID and start time) does not exist, and no module locks its file in the folder for
    temporary files. Use the same folder (E(TMPDIR)) for all runs.
  - Requires C(connection=local).
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
    tags: [openshift-cluster=demo.example.com]
    cluster_lock: "{{ cluster_lock.run }}"

- name: Release the lock
  equinix_metal.openshift.metal_cluster_lock:
    name: demo.example.com
    state: released
"""

RETURN = r"""
run:
  description: This run. Pass it to other tasks as O(equinix_metal.openshift.metal_device#module:cluster_lock).
  returned: state is held, kept or free
  type: str
  sample: /tmp/equinix_metal.openshift-1000/1f5a2c1e-7f0a-5e0b-9a7e-1a3d4c5b6a70.json
lock:
  description: The lock of this run, V(null) if it holds none.
  returned: always
  type: dict
  contains:
    id: {description: "ID of the lock, for O(unlock).", type: str, sample: 5f1d3910-2059-4737-8e7d-d4907cfbf27f}
    run: {description: ID of the run., type: str, sample: 1f5a2c1e-7f0a-5e0b-9a7e-1a3d4c5b6a70}
    holder: {description: User and host of the run., type: str, sample: alice@bastion}
    operation: {description: Operation of the run., type: str, sample: install.yml}
    job: {description: AWX job of the run., type: str, sample: AWX job 17}
    acquired_at: {description: "Time of acquisition, UTC.", type: str, sample: "2026-11-22T07:10:00Z"}
    renewed_at: {description: "Time of the last renewal, UTC.", type: str, sample: "2026-11-22T07:14:10Z"}
    expires_at: {description: "Time of expiry without a renewal, UTC.", type: str, sample: "2026-11-22T07:19:10Z"}
broken_lock:
  description: The broken lock, with the keys of RV(lock). V(null) without one.
  returned: unlock is given
  type: dict
"""

from ..module_utils.frame.lock import LockModule


def main() -> None:
    with LockModule() as module:
        module.keep()


if __name__ == "__main__":
    main()
