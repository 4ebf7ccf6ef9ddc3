#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: etcd_info
short_description: List the etcd members of a cluster
version_added: 0.1.0
description:
  - Lists the etcd members with their health, with C(etcdctl) in an etcd pod. The kubeconfig requires the right to create C(pods/exec) in
    the namespace C(openshift-etcd).
  - With O(removal_of), returns why the machine of a control plane Node cannot be replaced now.
  - With O(members), waits until these Nodes have healthy members, and no other member is unhealthy.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.info_module
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  members:
    description: Names of all Nodes that should have a healthy member. If empty, the module does not wait for members.
    type: list
    elements: str
    default: []
  removal_of:
    description: Name of a control plane Node whose machine is to be replaced, see RV(blockers).
    type: str
  wait:
    description: Wait for O(members), and for an API server that does not answer. Otherwise the module fails at once if the API server does
      not answer.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.etcd_member
  - module: equinix_metal.openshift.etcd_replacement
"""

EXAMPLES = r"""
- name: Check whether master-1 can be replaced
  equinix_metal.openshift.etcd_info:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    removal_of: master-1.demo.metal.test
"""

RETURN = r"""
members:
  description: The members by name.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: "ID of the member, hexadecimal.", type: str, sample: 8e9e05c52164694d}
    name: {description: "Name of the Node, empty for a member that has not started yet.", type: str, sample: master-0.demo.metal.test}
    learner: {description: "Whether the member is a learner, which does not vote yet.", type: bool, sample: false}
    healthy: {description: Whether the member votes and answers., type: bool, sample: true}
quorum_guard:
  description: Whether the etcd operator changes members only while three are available.
  returned: success
  type: bool
  sample: true
replacing:
  description: The replacement of a control plane machine that is not complete, see M(equinix_metal.openshift.etcd_replacement). With the
    fields of RV(equinix_metal.openshift.etcd_replacement#module:replacing).
  returned: success
  type: dict
problem:
  description: What the etcd operator reports about unavailable members. Empty when all are available.
  returned: success
  type: str
  sample: 2 of 3 members are available, master-1.demo.metal.test is unhealthy
blockers:
  description: Why the machine of O(removal_of) cannot be replaced now, a sentence with the next step for each reason.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ..module_utils.etcd.members import ETCD_INFO_OPTIONS, poll_members
from ..module_utils.frame.cluster import ClusterModule


def main() -> None:
    with ClusterModule(ETCD_INFO_OPTIONS) as module:
        client = module.client()
        module.wait_for(lambda: poll_members(client, module.params, module.result), "Reading of the etcd members")


if __name__ == "__main__":
    main()
