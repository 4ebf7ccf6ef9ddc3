# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU's machine protocol (QMP): commands with their answers, and events, over a socket that is QEMU's already when it starts."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

ANSWER_WITHIN: Final = 20.0
"""Seconds for the answer to a command: QEMU answers in milliseconds unless the computer is overloaded."""


class QmpError(Exception):
    """QEMU refused a command, ended, or did not answer in time."""


class Qmp:
    """The connection to one QEMU. ``on_event``: called in a thread of this object with name and data of each event.

    ``on_end``: called there once QEMU has closed the connection, which it does when it ends.
    """

    def __init__(self, connection: socket.socket, on_event: Callable[[str, Mapping[str, Any]], None], on_end: Callable[[], None]) -> None:
        self._connection = connection
        self._on_event, self._on_end = on_event, on_end
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._one_at_a_time = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        # Events get a thread of their own: what they lead to may need an answer, which the other thread reads.
        threading.Thread(target=self._report, daemon=True).start()
        self.command("qmp_capabilities")

    def command(self, name: str, /, **arguments: Any) -> Any:
        """Return what QEMU answers to a command. Raises :class:`QmpError`."""
        request = {"execute": name, "arguments": arguments}
        with self._one_at_a_time:
            try:
                self._connection.sendall(json.dumps(request).encode() + b"\n")
                answer = self._answers.get(timeout=ANSWER_WITHIN)
            except (OSError, queue.Empty) as error:
                raise QmpError(f"QEMU does not answer {name}: {error or 'timeout'}") from None
        if "return" not in answer:
            raise QmpError(f"QEMU refuses {name}: {answer.get('error', {}).get('desc', 'it ended')}")
        return answer["return"]

    def close(self) -> None:
        """Close the connection. The callback for the end is called."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        with self._connection, self._connection.makefile("rb") as lines, contextlib.suppress(OSError):
            for line in lines:
                message = json.loads(line)
                if "event" in message:
                    self._events.put(message)
                elif "QMP" not in message:
                    self._answers.put(message)
        self._events.put(None)
        # For a command that waits, or comes too late.
        self._answers.put({})

    def _report(self) -> None:
        while (event := self._events.get()) is not None:
            self._on_event(event["event"], event.get("data", {}))
        self._on_end()
