# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison of current and desired attributes, and diffs without secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any


def differences(current: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    """Return the desired attributes that differ from the current ones. Attributes that are not in ``desired`` are not compared."""
    return {name: value for name, value in desired.items() if current.get(name) != value}


def digest(secret: Any) -> str:
    """Return size and SHA-256 of a secret text, enough to see that it changed; an empty text for any other value."""
    if not isinstance(secret, str) or not secret:
        return ""
    content = secret.encode("utf-8", "surrogatepass")
    return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"


def shown(before: Mapping[str, Any], after: Mapping[str, Any], header: str) -> dict[str, Any]:
    """Return the ``diff`` of a module's result. Ansible prints the mappings as YAML or JSON, as configured for its callback."""
    return {"before": dict(before), "after": dict(after), "before_header": header, "after_header": header}
