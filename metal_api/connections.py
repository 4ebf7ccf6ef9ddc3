# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections of a server: limits for one client and for all, and the choice of the connection that ends when a limit is reached."""

from __future__ import annotations

import logging
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

LOG = logging.getLogger(__name__)

DESCRIPTORS: Final = 65536
"""File descriptors that a server requests at its start, as far as its limits allow."""
_SHARE: Final = 4
"""Of the descriptors one in so many is for connections: others are for databases, BMCs and programs."""
_REPORTED_EVERY: Final = 60.0


class Connection(Protocol):
    """A connection of a client, from the moment in which it was accepted."""

    @property
    def is_waiting(self) -> bool:
        """Whether the server waits for the client: for the TLS handshake, a request, or the end of one."""

    def abort(self) -> None:
        """End the connection at once."""


@dataclass
class Connections:
    """All connections of the listeners that share it. ``most``: of all clients; ``most_of_client``: of one address.

    When one more comes, the oldest that waits for its client ends: of the same client, or, where all are too many, of the client with most
    connections. So a client that keeps many open keeps no other out, and one that works is not interrupted.
    """

    most: int
    most_of_client: int
    _of: dict[str, dict[Connection, None]] = field(default_factory=dict)
    _number: int = 0
    _reported: float = float("-inf")

    def add(self, client: str, connection: Connection) -> bool:
        """Add a connection; False if there is no room for it."""
        own = self._of.get(client, {})
        if len(own) >= self.most_of_client:
            crowd = own
        elif self._number >= self.most:
            crowd = max(self._of.values(), key=len)
        else:
            crowd = None
        if crowd is not None:
            self._report(client)
            if (oldest := next(_waiting(crowd), None)) is None:
                return False
            oldest.abort()
            self.remove(next(address for address, connections in self._of.items() if connections is crowd), oldest)
        self._of.setdefault(client, {})[connection] = None
        self._number += 1
        return True

    def remove(self, client: str, connection: Connection) -> None:
        """Remove a connection that has ended, if it is still there."""
        own = self._of.get(client, {})
        if connection in own:
            del own[connection]
            self._number -= 1
            if not own:
                del self._of[client]

    def _report(self, client: str) -> None:
        if time.monotonic() > self._reported + _REPORTED_EVERY:
            self._reported = time.monotonic()
            LOG.warning(
                "too many connections, the oldest that wait for their clients end: %d in all, the newest of %s", self._number, client
            )


def _waiting(connections: dict[Connection, None]) -> Iterator[Connection]:
    return (connection for connection in connections if connection.is_waiting)


def raise_descriptors() -> int:
    """Raise the limit of file descriptors of this process as far as allowed, and return how many connections are allowed then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    requested = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < requested:
        resource.setrlimit(resource.RLIMIT_NOFILE, (requested, hard))
        soft = requested
    return max(16, (DESCRIPTORS if soft == resource.RLIM_INFINITY else soft) // _SHARE)
