"""Ports that a test may listen at."""

import contextlib
import socket


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Return free TCP ports of ``address``. All are held until the last is found: asked for one by one, the same may come twice."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _number in range(count)]
        for each in probes:
            each.bind((address, 0))
        return [int(each.getsockname()[1]) for each in probes]


def free_port(address: str = "127.0.0.1") -> int:
    """Return one free TCP port of ``address``."""
    return free_ports(1, address)[0]


def may_listen(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether this user may listen at that port, whether it is free or not."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(socket.socket()).bind((address, port))
        except PermissionError:
            return False
        except OSError:
            return True
    return True
