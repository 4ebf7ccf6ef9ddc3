# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default catalogues of OperatorHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def operator_hub(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the OperatorHub that disables the default catalogues, unless the cluster has them. Settings: ``default_catalogs``."""
    if not settings.get("default_catalogs", True):
        yield {
            "apiVersion": "config.openshift.io/v1",
            "kind": "OperatorHub",
            "metadata": {"name": "cluster"},
            "spec": {"disableAllDefaultSources": True},
        }
