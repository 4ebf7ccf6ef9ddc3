# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: operator_subscription
short_description: Objects that install the operator of a service
version_added: 0.1.0
author:
  - equinix_metal.openshift contributors (!UNKNOWN)
description:
  - Returns the Namespace, OperatorGroup and Subscription with which OLM installs the operator of a service.
  - A Subscription that exists keeps its namespace, and a namespace its OperatorGroup.
positional: current, version, catalog, channel
options:
  _input:
    description:
      - The service.
    type: str
    choices: [metallb, lvms]
    required: true
  current:
    description:
      - Subscriptions and OperatorGroups of all namespaces.
    type: list
    elements: dict
    required: true
  version:
    description:
      - Version of the cluster.
    type: str
    required: true
  catalog:
    description:
      - Name of the CatalogSource in C(openshift-marketplace).
    type: str
    required: true
  channel:
    description:
      - Channel of the package. Empty is the pinned one.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Install the operator
  kubernetes.core.k8s:
    definition: "{{ ('lvms' | equinix_metal.openshift.operator_subscription(found.resources, '4.20.3', 'redhat-operators')).objects }}"
"""

RETURN = r"""
_value:
  description: What to create.
  type: dict
  contains:
    package:
      description: The package.
      type: str
      sample: lvms-operator
    namespace:
      description: The operator's namespace.
      type: str
      sample: openshift-lvm-storage
    subscription:
      description: Name of the Subscription.
      type: str
      sample: lvms-operator
    objects:
      description: The objects, the Namespace first.
      type: list
      elements: dict
      sample: [{kind: Namespace, metadata: {name: openshift-lvm-storage}}]
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.cluster_services.olm import operator_subscription


class FilterModule:
    """Filters of this collection."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"operator_subscription": operator_subscription}
