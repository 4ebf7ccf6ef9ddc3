# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the networks of a cluster."""

from __future__ import annotations

from ...module_utils.machines.placement import metros_of as metros
from ..settings.networks import ip_families, url_of, with_network
from ..settings.vlan import cluster_vlan

__all__ = ["cluster_vlan", "ip_families", "metros", "url_of", "with_network"]
