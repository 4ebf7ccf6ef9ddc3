# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit for one whole API call, for clients that use pools of urllib3."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any


class TimeLimit:
    """The time limit of one call, as a context manager. At the limit the call's connection is shut down, which ends a blocked read.

    The timeouts of libraries apply to each read, so a server that sends a byte now and then could block a call forever. ``over``: the
    limit was reached, so the answer is incomplete.
    """

    _current = threading.local()

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> TimeLimit:
        TimeLimit._current.limit = self
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        TimeLimit._current.limit = None
        self._timer.cancel()

    @classmethod
    def watch(cls, connection: Any) -> None:
        """Set the connection of this thread's call."""
        limit: TimeLimit | None = getattr(cls._current, "limit", None)
        if limit is not None:
            with limit._lock:
                limit._socket = connection.sock
                limit._shut_if_over()

    def _end(self) -> None:
        with self._lock:
            self.over = True
            self._shut_if_over()

    def _shut_if_over(self) -> None:
        if self.over and self._socket is not None:
            with suppress(OSError):  # it may be closed already, which is as good
                # Of the plain socket: a TLS shutdown would wait for the server.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched:
    """A mixin for classes of connections, which registers the connection of a call."""

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # of the connection it is mixed into
        TimeLimit.watch(self)

    def getresponse(self, *arguments: Any, **more: Any) -> Any:
        TimeLimit.watch(self)
        return super().getresponse(*arguments, **more)  # type: ignore[misc]  # the same


def watch(manager: Any) -> None:
    """Register all future connections of this pool manager of urllib3 with :class:`TimeLimit`."""
    manager.pool_classes_by_scheme = {
        scheme: type(pool.__name__, (pool,), {"ConnectionCls": type(pool.ConnectionCls.__name__, (_Watched, pool.ConnectionCls), {})})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }
