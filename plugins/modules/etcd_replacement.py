#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: etcd_replacement
short_description: Record the replacement of a control plane machine and switch the etcd quorum guard
version_added: 0.1.0
description:
  - Records which control plane machine is being replaced, with the IDs of its old device and its old etcd member, in the annotation
    C(equinix-metal.openshift/replacing) of the resource C(etcd/cluster). A run that continues an interrupted one reads it there. Only one
    machine can be replaced at a time.
  - During a replacement the quorum guard of the etcd operator is disabled (C(useUnsupportedUnsafeNonHANonProductionUnstableEtcd) in
    C(spec.unsupportedConfigOverrides)), since the operator adds no member while fewer than three are available.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
options:
  node:
    description: Name of the Node.
    type: str
    required: true
  device:
    description: ID of the device, empty if it does not exist any more. Recorded by the first O(state=started); a later one keeps the
      record.
    type: str
    default: ""
  state:
    description:
      - V(started) records the replacement and disables the quorum guard.
      - V(suspended) enables the quorum guard and keeps the record, for a run that fails.
      - V(finished) enables the quorum guard and deletes the record.
    type: str
    choices: [started, suspended, finished]
    default: started
seealso:
  - module: equinix_metal.openshift.etcd_info
  - module: equinix_metal.openshift.etcd_member
"""

EXAMPLES = r"""
- name: Record that master-1 is being replaced, and disable the quorum guard
  equinix_metal.openshift.etcd_replacement:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    node: master-1.demo.metal.test
    device: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11
"""

RETURN = r"""
replacing:
  description: The recorded replacement (in check mode the predicted one), V(null) without one.
  returned: success
  type: dict
  contains:
    node: {description: Name of the Node., type: str, sample: master-1.demo.metal.test}
    device: {description: "ID of the old device, empty without one.", type: str, sample: 7f4a9c8e-52a6-4f0e-9a3f-0d1f3c7a2b11}
    member: {description: "ID of the old member, empty without one.", type: str, sample: 8e9e05c52164694d}
quorum_guard:
  description: Whether the quorum guard is (in check mode, would be) enabled.
  returned: success
  type: bool
  sample: false
"""

from ..module_utils.etcd.members import ETCD_REPLACEMENT_OPTIONS, record_replacement
from ..module_utils.frame.cluster import ClusterModule


def main() -> None:
    with ClusterModule(ETCD_REPLACEMENT_OPTIONS) as module:
        client = module.client()
        module.wait_for(lambda: record_replacement(client, module.params, module.result), "Record of the replacement")


if __name__ == "__main__":
    main()
