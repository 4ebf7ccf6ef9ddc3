"""``python port_scan.py ADDRESS [PORT ...]``: print as JSON which TCP ports are open and which drop packets; all others refuse."""

import errno
import json
import resource
import select
import socket
import sys
import time
from collections.abc import Sequence

PATIENCE = 2.5
"""Seconds: a connection is tried again after 1 s."""
AT_ONCE = 2000


def scan(address: str, ports: Sequence[int]) -> dict[str, list[int]]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (AT_ONCE + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    states: dict[int, str] = {}
    pending: dict[int, tuple[socket.socket, int, float]] = {}
    poller = select.poll()

    def collect(milliseconds: int) -> None:
        for number, _event in poller.poll(milliseconds):
            error = pending[number][0].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            # The router gives up an address where no host answers after 3 s, or sooner if others have asked before.
            finish(number, {0: "open", errno.EHOSTUNREACH: "dropped"}.get(error, ""))
        for number in [number for number, (_socket, _port, end) in pending.items() if end < time.monotonic()]:
            finish(number, "dropped")

    def finish(number: int, state: str) -> None:
        poller.unregister(number)
        connection, port, _end = pending.pop(number)
        connection.close()
        if state:
            states[port] = state

    for port in ports:
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        connection.setblocking(False)
        if connection.connect_ex((address, port)) == errno.EINPROGRESS:
            pending[connection.fileno()] = connection, port, time.monotonic() + PATIENCE
            poller.register(connection, select.POLLOUT)
        else:
            connection.close()
        if port % 256 == 0:
            collect(0)
        while len(pending) == AT_ONCE:
            collect(50)
    while pending:
        collect(50)
    return {state: sorted(port for port in states if states[port] == state) for state in ("open", "dropped")}


if __name__ == "__main__":
    print(json.dumps(scan(sys.argv[1], [int(port) for port in sys.argv[2:]] or range(1, 65536))))
