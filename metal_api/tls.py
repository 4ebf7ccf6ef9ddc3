# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate authority of a server, for clients that support no other scheme than https, such as packet-python."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from metal_api.state_folder import write_private

# The clocks of a container and its host may differ a little.
_BACKDATED = timedelta(minutes=5)
_CA_LIFETIME = timedelta(days=3650)
_SERVER_LIFETIME = timedelta(days=365)

_PEM = serialization.Encoding.PEM


class CertificateAuthority:
    """A CA whose key is stored in ``folder``, so that its certificate stays valid over restarts."""

    def __init__(self, folder: Path, common_name: str = "Metal API") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.certificate_file = folder / "ca.pem"
        key_file = folder / "ca.key"
        if not self.certificate_file.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
            builder = _builder(name, name, key.public_key(), _CA_LIFETIME)
            builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            builder = builder.add_extension(_usage(signs=True), critical=True)
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            write_private(key_file, _private(key))
            # Written last: the CA exists if this file exists.
            write_private(self.certificate_file, builder.sign(key, hashes.SHA256()).public_bytes(_PEM))
        self._certificate = x509.load_pem_x509_certificate(self.certificate_file.read_bytes())
        loaded = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{key_file} is not an elliptic curve key")
        self._key = loaded

    def server_context(self, address: str, *hosts: str) -> ssl.SSLContext:
        """Return the context of a listener at ``address``, with a new certificate for it, for localhost and for ``hosts``."""
        return self.issued(address, *hosts)[0]

    def issued(self, address: str, *hosts: str) -> tuple[ssl.SSLContext, datetime]:
        """Return the same, and the end of the certificate's validity."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)), *map(x509.DNSName, ("localhost", *hosts))])
        builder = _builder(subject, self._certificate.subject, key.public_key(), _SERVER_LIFETIME)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        context = new_context()
        # The ssl module reads from files only.
        with tempfile.TemporaryDirectory(prefix="metal-api-tls-") as folder:
            both = Path(folder) / "server.pem"
            write_private(both, _private(key) + certificate.public_bytes(_PEM))
            context.load_cert_chain(both)
        return context, certificate.not_valid_after_utc


def new_context() -> ssl.SSLContext:
    """Return the context of a server, without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def expiry(certificate: Path) -> datetime:
    """Return the end of the validity of the first certificate in a PEM file. Raises ``ValueError`` and ``OSError``."""
    return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: timedelta) -> x509.CertificateBuilder:
    now = datetime.now(UTC).replace(microsecond=0)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
