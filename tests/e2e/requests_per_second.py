"""A steady loop of requests to the API of a cluster, by clients that keep their connection until it fails, as kubelets do."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

RATE = 200
"""Requests a second of all clients."""
CLIENTS = 20
TIMEOUT = 5.0
HEALTHY = b"HTTP/1.1 200"


@dataclass
class Loop:
    """``sent`` and ``failed``: when the requests began, in seconds of ``time.monotonic``, of those that are answered or given up."""

    addresses: Callable[[], list[str]]
    host: str
    trust: ssl.SSLContext
    port: int = 6443
    sent: list[float] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def running(self) -> Iterator[Loop]:
        thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()

    def failures(self, begin: float, end: float = float("inf")) -> int:
        """Return how many requests that began in this time failed."""
        return sum(begin <= when < end for when in self.failed)

    def longest_gap(self) -> float:
        """Return the longest time in seconds from one request that is answered to the next one."""
        answered = sorted(set(self.sent) - set(self.failed))
        return max((after - before for before, after in itertools.pairwise(answered)), default=float("inf"))

    async def _run(self) -> None:
        addresses = itertools.cycle(self.addresses())
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(self._client(number / RATE, addresses))

    async def _client(self, delay: float, addresses: Iterator[str]) -> None:
        """Send requests on one connection; after a failure on another one, to the next address."""
        began = time.monotonic() + delay
        writer: asyncio.StreamWriter | None = None
        for number in itertools.count():
            # A client that is late catches up: the rate is kept.
            await asyncio.sleep(max(0.0, began + number * CLIENTS / RATE - time.monotonic()))
            if self._stop.is_set():
                break
            sent = time.monotonic()
            is_answered = False
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(TIMEOUT):
                    if writer is None:
                        reader, writer = await asyncio.open_connection(
                            next(addresses), self.port, ssl=self.trust, server_hostname=self.host
                        )
                    writer.write(f"GET /readyz HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
                    is_answered = await _is_ready(reader)
            self.sent.append(sent)
            if not is_answered:
                self.failed.append(sent)
                if writer is not None:
                    writer.close()
                writer = None
        if writer is not None:
            writer.close()


async def _is_ready(reader: asyncio.StreamReader) -> bool:
    """Read an answer with its body, so that the connection can be used again."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)^content-length: (\d+)\r$", head, re.MULTILINE)
    await reader.readexactly(int(length[1]) if length else 0)
    return head.startswith(HEALTHY)
