# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of Ignition configs: files and units, for live configs, pointers and MachineConfigs."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

IGNITION_VERSION = "3.2.0"
"""Understood by every CoreOS and machine config operator since OpenShift 4.7."""


def data_url(text: str) -> str:
    """Return a text as a data URL (RFC 2397)."""
    return f"data:text/plain;charset=utf-8;base64,{b64encode(text.encode()).decode()}"


def ignition_file(path: str, content: str, mode: int = 0o644) -> dict[str, Any]:
    """Return a file of an Ignition config, which replaces one of the image."""
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": data_url(content)}}


def unit(name: str, contents: str) -> dict[str, Any]:
    """Return a systemd unit of an Ignition config that is enabled."""
    return {"name": name, "enabled": True, "contents": contents}
