#!/usr/bin/python
# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: etcd_backup
short_description: Back up etcd on a control plane machine
version_added: 0.1.0
description:
  - Runs C(/usr/local/bin/cluster-backup.sh) in a privileged pod in the namespace C(openshift-etcd), on a control plane machine with a
    healthy etcd member, and waits until it ends. The pod uses the image of the etcd pod, which the machine has pulled already.
  - The kubeconfig requires the right to create privileged pods and C(pods/exec) in this namespace, as C(cluster-admin) has.
  - The backup stays in O(directory) on the machine. It contains secrets of the cluster. Copy it to another computer.
extends_documentation_fragment:
  - equinix_metal.openshift._attributes.changing
  - equinix_metal.openshift._cluster
  - equinix_metal.openshift._wait
attributes:
  idempotent:
    description: Every run creates another backup.
    support: none
options:
  directory:
    description: Absolute path of the folder on the machine.
    type: str
    default: /home/core/assets/backup
  not_on:
    description: Names of Nodes on which no backup is created, such as one that is to be replaced.
    type: list
    elements: str
    default: []
  force:
    description: Create the backup even if kube-apiserver, kube-controller-manager, kube-scheduler or etcd is progressing, as after the
      failure of a control plane machine. Otherwise the script refuses it, since a backup during a rollout may not match the static pods.
    type: bool
    default: false
  wait:
    description: Wait until the backup is complete. Otherwise the module only starts it, and does not delete the pod.
    type: bool
    default: true
seealso:
  - module: equinix_metal.openshift.etcd_info
"""

EXAMPLES = r"""
- name: Back up etcd before master-1 is replaced
  equinix_metal.openshift.etcd_backup:
    kubeconfig: clusters/demo.metal.test/kubeconfig
    not_on: [master-1.demo.metal.test]
    wait_timeout: 600
"""

RETURN = r"""
node:
  description: Name of the Node with the backup.
  returned: success
  type: str
  sample: master-0.demo.metal.test
directory:
  description: Path of the backup on the machine.
  returned: success
  type: str
  sample: /home/core/assets/backup
"""

from ..module_utils.etcd.backup import ETCD_BACKUP_OPTIONS, Backup
from ..module_utils.frame.cluster import ClusterModule


def main() -> None:
    with ClusterModule(ETCD_BACKUP_OPTIONS) as module:
        module.wait_for(Backup(module.client(), module.params, module.result).poll, "Backup of etcd")


if __name__ == "__main__":
    main()
