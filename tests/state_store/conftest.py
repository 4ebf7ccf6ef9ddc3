"""Fixtures: a real API server, as in tests/cluster."""

from __future__ import annotations

from tests.cluster.conftest import cluster, started

__all__ = ["cluster", "started"]
