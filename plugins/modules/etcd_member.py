#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: etcd_member
short_description: Remove the etcd member of a control plane Node
version_added: 0.1.0
description:
  - Removes the etcd member of a control plane machine that no longer exists, with C(etcdctl) in the etcd pod of another machine. Fails if
    the remaining members would have no quorum.
  - Then deletes the Secrets C(etcd-peer-<node>), C(etcd-serving-<node>) and C(etcd-serving-metrics-<node>) in the namespace
    C(openshift-etcd), whose certificates are for the old address. They are kept while a Node with the name O(node) exists, since the etcd
    operator would create them again.
  - The kubeconfig requires the right to create C(pods/exec) in the namespace C(openshift-etcd).
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  node:
    description: Name of the Node.
    type: str
    required: true
  id:
    description: ID of the member, hexadecimal. A new member with the same name is not removed then. If empty, no member is removed. By
      default the member is found by O(node).
    type: str
  state:
    description: V(absent) removes the member. Only the etcd operator adds members.
    type: str
    choices: [absent]
    default: absent
seealso:
  - module: equinix_metal.openshift.etcd_info
  - module: equinix_metal.openshift.etcd_replacement
"""

EXAMPLES = r"""
- name: Remove the etcd member of a deleted machine
  equinix_metal.openshift.etcd_member:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    node: master-1.demo.metal.test
    state: absent
"""

RETURN = r"""
removed:
  description: ID of the member that was (in check mode, would be) removed, empty without one.
  returned: always
  type: str
  sample: 8e9e05c52164694d
deleted_secrets:
  description: Names of the Secrets that were (in check mode, would be) deleted.
  returned: always
  type: list
  elements: str
  sample: [etcd-peer-master-1.demo.metal.test]
"""

from ..module_utils.etcd.members import ETCD_MEMBER_OPTIONS, MemberRemoval
from ..module_utils.frame.cluster import ClusterModule


def main() -> None:
    with ClusterModule(ETCD_MEMBER_OPTIONS) as module:
        module.wait_for(MemberRemoval(module.client(), module.params, module.result).poll, "Removal of the etcd member")


if __name__ == "__main__":
    main()
