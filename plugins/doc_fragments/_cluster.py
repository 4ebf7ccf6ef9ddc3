# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of every module that speaks to the cluster."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig with the rights of a cluster administrator, for example the one the installer writes to C(auth/kubeconfig).
    type: path
    required: true
  api_addresses:
    description:
      - Addresses at which the cluster's API is to be reached, tried in turn, each with or without a port.
      - The server's certificate is still checked against the name in O(kubeconfig), so that neither a DNS record nor an entry in
        C(/etc/hosts) is needed and nobody else can answer in the cluster's place.
      - Without addresses the server of the kubeconfig is asked.
    type: list
    elements: str
    default: []
  api_timeout:
    description:
      - How long one call to the cluster's API may take until the last byte of its answer, in seconds; more than 0.
    type: float
    default: 15
requirements:
  - Python 3.11 or newer
  - kubernetes >= 29
  - cryptography
"""
