# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that use the API of the cluster.

Note that this doc fragment is private to the collection: it may change without notice.
"""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description: Path of a kubeconfig of a cluster administrator, for example C(auth/kubeconfig) of the installer.
    type: path
    required: true
  api_addresses:
    description:
      - Addresses of the API servers, each with or without a port, which are tried in turn. By default the server of O(kubeconfig).
      - The certificate of the server has to be valid for the name in O(kubeconfig), so no DNS record is required.
    type: list
    elements: str
    default: []
  api_timeout:
    description: Timeout of one API call in seconds, from the request to the last byte of the response. Must be greater than 0.
    type: float
    default: 15
  wait:
    description: Wait for an API server that does not answer. Otherwise the module fails at once.
    type: bool
    default: true
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.cluster) in C(module_defaults) to set the options of the connection once.
    support: full
    membership:
      - equinix_metal.openshift.cluster
requirements:
  - Python 3.11 or newer
  - kubernetes >= 29
  - cryptography
"""

    # For modules that use the Metal API too; before the fragments of both APIs.
    AND_METAL = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/equinix_metal.openshift.cluster) and C(group/equinix_metal.openshift.metal) in C(module_defaults) to set the
      options of the connections once.
    support: full
    membership:
      - equinix_metal.openshift.cluster
      - equinix_metal.openshift.metal
"""

    # For modules that judge CSRs.
    CSR_RULES = r"""
options:
  additional_addresses:
    description: Addresses that every machine may have in addition to its own, for example virtual addresses that move between machines.
    type: list
    elements: str
    default: []
  window:
    description: Seconds after the creation of a machine within which its first CSR is accepted. V(0) disables the limit.
    type: float
    default: 7200
  short_names:
    description: Whether a serving certificate may also contain the first label of the node name.
    type: bool
    default: false
  pending_limit:
    description:
      - Maximum number of pending kubelet CSRs of the last hour. If there are more, nothing is approved until an operator has checked them.
      - By default 10 for each machine and 100 more.
    type: int
  second_key_after:
    description: Seconds after which another key of a machine is approved, if its first CSR was approved but no Node was registered. A
      machine that was restarted files a CSR with another key.
    type: float
    default: 60
  recover_nodes:
    description:
      - Whether to approve another client certificate for machines whose Node exists, because their certificate expired while they were
        switched off. Applies only to Nodes whose condition Ready is Unknown. O(window) does not apply to them, all other rules do.
      - Applies also to machines that had joined, whose Node was deleted, and which lost their certificate.
      - A client with the bootstrap token that files a CSR while a machine is off takes the place of this machine. Set it for a single run
        only, with all machines switched on.
    type: bool
    default: false
"""
