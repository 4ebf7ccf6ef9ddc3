# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read whether the metadata service answers at the vendor's name, which Ignition's platform packet asks.

Nothing is sent after the TLS handshake: the service identifies a device by its address, and the controller is none.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from typing import Any

from ..boot.files import METADATA_HOST, PACKET
from .names import nodes_resolver

HTTPS = 443


def collect(settings: Mapping[str, Any], port: int = HTTPS) -> dict[str, Any]:
    """Return the reading ``metadata``, on the platform packet only.

    ``addresses`` of the name by the nodes' resolver, else by the controller's; ``resolver``, the nodes' resolver if it was asked;
    ``problems``, why the handshake failed, by address.
    """
    if settings["ignition_platform"] != PACKET:
        return {}
    resolver = nodes_resolver(settings)
    addresses = resolver.addresses([METADATA_HOST])[METADATA_HOST] if resolver else _resolved()
    timeout = float(settings["timeout"])
    problems = {address: _problem(address, port, timeout) for address in addresses}
    return {
        "metadata": {
            "addresses": addresses,
            "resolver": resolver.name if resolver else "",
            "problems": {address: problem for address, problem in problems.items() if problem},
        }
    }


def _resolved() -> list[str]:
    try:
        addresses = socket.getaddrinfo(METADATA_HOST, HTTPS, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return sorted({str(entry[4][0]) for entry in addresses})


def _problem(address: str, port: int, timeout: float) -> str:
    """Return why a machine would not get its userdata there; empty if the certificate is one of a public CA, for the name."""
    try:
        with (
            socket.create_connection((address, port), timeout=timeout) as connection,
            ssl.create_default_context().wrap_socket(connection, server_hostname=METADATA_HOST),
        ):
            return ""
    except ssl.SSLCertVerificationError as problem:
        return f"its certificate is refused: {problem.verify_message}"
    except OSError as problem:
        return str(problem) or type(problem).__name__
