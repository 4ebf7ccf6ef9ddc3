# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What filters and observers get of a request. Filters may change or replace its answer, observers record it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from starlette.responses import Response


@dataclass(frozen=True)
class Requested:
    """``service``: ``metal``, ``boot`` or ``metadata``. ``caller``: the caller's name, without secrets. ``started``: of time.time().

    ``secrets``: texts that must not be recorded, such as tokens in the request's headers. ``token``: of the Metal API, empty for none.
    """

    service: str
    method: str
    path: str
    query: str
    caller: str
    started: float
    request_id: str = ""
    token: str = ""
    secrets: Collection[str] = ()

    @property
    def target(self) -> str:
        """The path with its query."""
        return f"{self.path}?{self.query}" if self.query else self.path


Answer = Callable[[], Awaitable[Response]]
"""Processes the request and returns its answer, which is not sent yet."""
Filter = Callable[[Requested, Answer], Awaitable[Response]]
"""Is called in place of the handler, after the body was read, and returns the answer to send: that of ``Answer``, or another one."""
Observer = Callable[[Requested, Response], None]
"""Is called with each answer before it is sent."""
