# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the collection's variables.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT, from_environment
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.removed import OPTIONS_PATTERN, REMOVED
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.settings.values import variable_errors

__all__ = ["or_environment", "problems", "with_removed_options"]


def or_environment(value: Any, option: str) -> Any:
    """Return the value, or if it is empty that of the environment variables which modules read for this option."""
    return value or from_environment(ENVIRONMENT[option]) or ""


def with_removed_options(pattern: str) -> list[str]:
    """Return the pattern of names and that of the options of roles that are gone, for the lookup ``varnames``."""
    return [str(pattern), OPTIONS_PATTERN]


def problems(given: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return which values are of another type than their variable, and which of all names are gone, each with what to do."""
    return [
        *variable_errors(given, without_preflight=True),
        *(f"{name} is gone: {REMOVED[name]}" for name in sorted(names) if name in REMOVED),
    ]
