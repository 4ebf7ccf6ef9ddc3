# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate of the API, which is renewed while the server runs."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from metal_api.tls import CertificateAuthority, expiry, new_context

LOG = logging.getLogger(__name__)


class CertificateError(Exception):
    """The files of a certificate cannot be used. The message has the reason."""


Issued = tuple[ssl.SSLContext, datetime]
"""A context with a certificate, and the end of its validity."""


def from_files(certificate: Path, key: Path) -> Issued:
    """Return what two PEM files have, which their owner renews. Raises :class:`CertificateError`."""
    context = new_context()
    try:
        context.load_cert_chain(certificate, key)
        until = expiry(certificate)
    except (OSError, ValueError) as error:
        raise CertificateError(f"--certificate {certificate}, --key {key}: {error}") from None
    if until < datetime.now(UTC):
        raise CertificateError(f"--certificate {certificate}: it has expired at {until:%Y-%m-%d %H:%M} UTC, and clients refuse it")
    return context, until


def by_own_ca(folder: Path, address: str, *names: str) -> Issued:
    """Issue a certificate for ``address`` and DNS names by the CA in ``folder``, which is made if there is none.

    Raises :class:`CertificateError`.
    """
    try:
        return CertificateAuthority(folder, "Metal API").issued(address, *names)
    except (OSError, ValueError, TypeError) as error:
        raise CertificateError(f"the CA in {folder}: {error}") from None


class Certificate:
    """What the API shows in new connections. ``source``: called for each certificate. ``expires``: the end of its validity.

    ``context``: of the listener. Each connection gets the one that is valid then, instead of having another certificate loaded into this
    one: with a key of another type, both would be in use.
    """

    def __init__(self, source: Callable[[], Issued]) -> None:
        """Raises :class:`CertificateError`."""
        self._source = source
        self.context, self.expires = source()
        self._current = self.context
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def renew(self) -> None:
        """Use the files as they are now, or a new certificate of the CA.

        If that fails, the certificate of before stays in use, and the log has the reason.
        """
        try:
            self._current, self.expires = self._source()
        except CertificateError as error:
            LOG.error("the certificate of the API is not renewed, the one before is still in use: %s", error)  # noqa: TRY400 - its words suffice
            return
        except Exception:
            # Without the task that renews it the API would end with its certificate.
            LOG.exception("the certificate of the API is not renewed, the one before is still in use")
            return
        LOG.info("the certificate of the API is valid until %s UTC", f"{self.expires:%Y-%m-%d %H:%M}")

    async def keep_valid(self) -> None:
        """Renew it each time when half of what is left of its validity is over; a file may have been renewed without a word."""
        while True:
            left = (self.expires - datetime.now(UTC)).total_seconds()
            await asyncio.sleep(max(left / 2, 3600))
            self.renew()
