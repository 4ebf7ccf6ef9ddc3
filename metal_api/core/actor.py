# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who causes the changes of the current task: a caller of the API, a machine, or the server itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Actor:
    """``name``: of a user, a project's key or a machine. ``address``: where the request came from. ``request``: id of the request."""

    name: str
    address: str = ""
    request: str = ""


SERVER: Final = Actor("server")
ACTOR: Final[ContextVar[Actor]] = ContextVar("actor", default=SERVER)
"""Tasks that a request starts inherit it: what they change later is still of the caller."""
