# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing what is with what is wanted, and showing the difference without showing a secret.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any


def differences(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The wanted attributes that are not so now. Only what is wanted is looked at: an option not given leaves its attribute alone."""
    return {name: value for name, value in wanted.items() if current.get(name) != value}


def digest(secret: Any) -> str:
    """What may be shown of a secret text: size and SHA-256, enough to see that it changed. Nothing (``""``) of what is no text."""
    if not isinstance(secret, str) or not secret:
        return ""
    content = secret.encode("utf-8", "surrogatepass")
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"


def shown(before: Mapping[str, Any], after: Mapping[str, Any], header: str) -> dict[str, Any]:
    """The ``diff`` of a module's result. Ansible writes the mappings as YAML or JSON, as its callback is set."""
    return {"before": dict(before), "after": dict(after), "before_header": header, "after_header": header}
