# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that use the API of the cluster.

Note that this doc fragment is private to the collection: it may change without notice.
"""

from __future__ import annotations


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
