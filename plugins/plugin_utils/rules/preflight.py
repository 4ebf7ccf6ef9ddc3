# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the preflight checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.base.errors import CollectionError
from ..preflight.report import judge, screen_lines
from ..settings.networks import LIBRARY_ERROR
from ..settings.variables import VARIABLES
from .variables import variable_errors

__all__ = ["report", "screen_lines"]


def report(settings: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of the checks, see ``judge``. ``readings``: as the lookup ``preflight`` returns them."""
    if LIBRARY_ERROR is not None:
        raise CollectionError(f"The Python library netaddr is not installed on the controller: {LIBRARY_ERROR}")
    given_values = settings.get("variables") or {}
    variables = {
        "known_variables": VARIABLES,
        "given_variables": sorted(given_values),
        "variable_errors": variable_errors(given_values),
    }
    return judge({**settings, **variables}, readings)
