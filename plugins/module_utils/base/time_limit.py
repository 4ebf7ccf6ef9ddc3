# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long one call may take from its beginning to its end, for everything that goes through pools of urllib3.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any


class TimeLimit:
    """The time one call may take, as a context: when it is over, its connection is shut down under whoever reads from it.

    Libraries limit how long a server may be silent, so one that sends a byte now and then could hold a call for ever. ``over`` says
    whether that happened: what came until then is no whole answer.
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
        """This thread's call goes through this connection."""
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
                # The plain socket's way: TLS would want to say good-bye to somebody who does not listen.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched:
    """Mixed into a connection's class: it tells which call it serves."""

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # of the connection it is mixed into
        TimeLimit.watch(self)

    def getresponse(self, *arguments: Any, **more: Any) -> Any:
        TimeLimit.watch(self)
        return super().getresponse(*arguments, **more)  # type: ignore[misc]  # the same


def watch(manager: Any) -> None:
    """Let the connections that this pool manager of urllib3 will make be known to :class:`TimeLimit`."""
    manager.pool_classes_by_scheme = {
        scheme: type(pool.__name__, (pool,), {"ConnectionCls": type(pool.ConnectionCls.__name__, (_Watched, pool.ConnectionCls), {})})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }
