# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OpenShift side of the sandbox: mirror, replacement of the installer, and clusters whose control plane is real."""

from __future__ import annotations

from sandbox.openshift.binaries import Binaries, BinariesError, ensure_binaries, ensure_kubelet
from sandbox.openshift.cluster import Cluster, Clusters, OneControlPlaneCluster
from sandbox.openshift.static_pod_cluster import StaticPodCluster
from sandbox.openshift.systems import system_factory

__all__ = [
    "Binaries",
    "BinariesError",
    "Cluster",
    "Clusters",
    "OneControlPlaneCluster",
    "StaticPodCluster",
    "ensure_binaries",
    "ensure_kubelet",
    "system_factory",
]
