# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ownership tags of what belongs to a cluster."""

from __future__ import annotations

from typing import Any

CLUSTER_TAG = "openshift-cluster="
"""Prefix of the tag with the cluster, ``<name>.<base domain>``, on all objects that are created for it."""

ROLE_TAG = "openshift-role="
"""Prefix of the tag with the role in the cluster: ``bootstrap``, ``control-plane``, ``worker``, ``load-balancer``, ``lock``."""

NODE_ROLES = ("bootstrap", "control-plane", "worker")
"""Roles of devices that are created from the installer's Ignition files."""

INFRA_TAG = "openshift-infra-id="
"""Prefix of the tag with the installer's infraID, on devices created from its Ignition files. It is unique for each install."""

POOL_TAG = "openshift-pool="
"""Prefix of the tag with the pool of a worker; without this tag a worker is of the pool ``worker``."""

VLAN_TAG = "openshift-vlan="
"""Prefix of the tag with the number of the VLAN that a node is in. The node reads this tag and the next two from its metadata."""

VLAN_ADDRESS_TAG = "openshift-vlan-address="
"""Prefix of the tag with a node's address in the VLAN and its prefix length, ``192.168.40.11/24``."""

VLAN_GATEWAY_TAG = "openshift-vlan-gateway="
"""Prefix of the tag with the default gateway of a node whose bond is in layer 2: the node has no other address than that in the VLAN."""


def tag_values(tags: Any, prefix: str) -> list[str]:
    """Return the values of the tags with ``prefix``. The API keeps the case of tags, so the comparison is case-sensitive."""
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return [tag.removeprefix(prefix) for tag in texts if tag.startswith(prefix) and tag != prefix]
