# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS of simulated machines."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from metal_api.tls import new_context
from sandbox.openshift.pki import KeyPair


def server_context(pair: KeyPair, client_ca: bytes = b"") -> ssl.SSLContext:
    """Return a server context that shows the certificate(s) of ``pair``.

    With ``client_ca``, PEM, it accepts client certificates of these CAs, and clients without one.
    """
    context = new_context()
    # The ssl module reads keys from files only.
    with tempfile.TemporaryDirectory(prefix="sandbox-tls-") as folder:
        certificate, key = pair.write(Path(folder) / "server")
        context.load_cert_chain(certificate, key)
    if client_ca:
        context.load_verify_locations(cadata=client_ca.decode("ascii"))
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
