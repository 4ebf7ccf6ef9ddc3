# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the preflight checks."""

from __future__ import annotations

from ..preflight.report import screen_lines

__all__ = ["screen_lines"]
