# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sandbox puts around the Metal API: faults, latency, settings, the journal of requests, and the spot market.

The Metal API server does not depend on it. ``world`` builds it with a policy (``policy``), filters and observers of requests, and further
resources (``resources``).
"""
