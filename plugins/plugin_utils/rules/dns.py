# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the DNS records of a cluster."""

from __future__ import annotations

from ...module_utils.cluster import dns as cluster_dns

__all__ = ["pointers", "records", "zone_lines"]

pointers = cluster_dns.pointer_records
records = cluster_dns.cluster_dns_records
zone_lines = cluster_dns.zone_lines
