# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the certificates that servers present, without a request.

Nothing is verified and nothing is sent after the handshake: an expired certificate is what a caller wants to read, and no decision about
trust depends on it.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

AT_ONCE = 32
CONNECT_TIMEOUT = 2.0
"""Seconds for one server; a server of the cluster answers in milliseconds."""


@dataclass(frozen=True)
class Endpoint:
    """A TLS server: an address, a port, and the name that is asked for (SNI)."""

    address: str
    port: int
    name: str


@dataclass(frozen=True)
class Presented:
    """What a server presented: its certificate (DER), or why it could not be read."""

    endpoint: Endpoint
    certificate: bytes = b""
    problem: str = ""


def presented_certificates(endpoints: Sequence[Endpoint], *, seconds: float) -> list[Presented]:
    """Return what each server presents, in order. A server whose turn has not come after ``seconds`` is not connected to."""
    if not endpoints:
        return []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    end = time.monotonic() + seconds

    def read(endpoint: Endpoint) -> Presented:
        left = end - time.monotonic()
        if left <= 0:
            return Presented(endpoint, problem="its turn did not come in time")
        limit = min(CONNECT_TIMEOUT, left)
        try:
            with (
                socket.create_connection((endpoint.address, endpoint.port), timeout=limit) as connection,
                context.wrap_socket(connection, server_hostname=endpoint.name or None) as secured,
            ):
                return Presented(endpoint, secured.getpeercert(binary_form=True) or b"")
        except (OSError, ValueError) as problem:
            return Presented(endpoint, problem=str(problem) or type(problem).__name__)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(read, endpoints))
