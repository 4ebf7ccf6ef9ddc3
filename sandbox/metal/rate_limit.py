# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rate limit per token and time window, with the headers that clients such as packngo read (X-RateLimit-*)."""

from __future__ import annotations

import time

from metal_api.core.errors import ApiError
from sandbox.metal.settings import Settings


class RateLimit:
    """Counts requests. A window begins with the first request after the last window ended."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._windows: dict[str, tuple[float, int]] = {}

    def count(self, token: str) -> dict[str, str]:
        """Count a request and return the headers for its answer, none without a limit. Raises 429 (text ours)."""
        limit = self._settings["rate_limit"]
        if limit["requests"] is None:
            return {}
        now = time.time()
        start, used = self._windows.get(token, (now, 0))
        if now >= start + limit["seconds"]:
            start, used = now, 0
        used += 1
        self._windows[token] = (start, used)
        ends = start + limit["seconds"]
        headers = {
            "X-RateLimit-Limit": str(limit["requests"]),
            "X-RateLimit-Remaining": str(max(0, limit["requests"] - used)),
            "X-RateLimit-Reset": str(int(ends + self._settings["clock"]["ahead"]) + 1),
        }
        if used > limit["requests"]:
            if limit["retry_after"]:
                headers["Retry-After"] = str(max(1, int(ends - now) + 1))
            raise ApiError(429, "Too many requests", headers=headers)
        return headers
