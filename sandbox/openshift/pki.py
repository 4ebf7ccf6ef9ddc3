# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Key pairs that a running cluster creates: those of its components, and successors of signers that will expire."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from metal_api.tls import new_context

# Clocks of the machines that check may be a little behind.
_BACKDATED = timedelta(minutes=5)


@dataclass(frozen=True)
class KeyPair:
    """Certificate and private key, PEM."""

    certificate: bytes
    key: bytes

    @property
    def remaining(self) -> timedelta:
        """Time until the certificate ends; negative afterwards."""
        return validity(self.certificate)[1] - datetime.now(UTC)

    def server_context(self, client_ca: bytes = b"") -> ssl.SSLContext:
        """Return the context of a server that shows the certificate.

        With ``client_ca``, PEM, it accepts client certificates of these CAs, and clients without one.
        """
        context = new_context()
        # The ssl module reads keys from files only.
        with tempfile.TemporaryDirectory(prefix="sandbox-tls-") as folder:
            context.load_cert_chain(*self.write(Path(folder) / "server"))
        if client_ca:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    @staticmethod
    def paths(base: Path) -> tuple[Path, Path]:
        """``<base>.crt`` and ``<base>.key``."""
        return base.with_name(base.name + ".crt"), base.with_name(base.name + ".key")

    def write(self, base: Path) -> tuple[Path, Path]:
        """Write ``<base>.crt`` and ``<base>.key`` (0600), each in one step, and return both paths."""
        certificate, key = self.paths(base)
        write_file(key, self.key)
        write_file(certificate, self.certificate)
        return certificate, key

    @classmethod
    def read(cls, base: Path) -> KeyPair | None:
        """Return what :meth:`write` wrote, or None when it did not (or not to the end)."""
        certificate, key = cls.paths(base)
        try:
            return cls(certificate.read_bytes(), key.read_bytes())
        except FileNotFoundError:
            return None


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step, readable by its owner only: a crash leaves the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    temporary.replace(path)


def validity(certificate: bytes) -> tuple[datetime, datetime]:
    """Return from when to when the first certificate of a PEM text is valid."""
    loaded = x509.load_pem_x509_certificate(certificate)
    return loaded.not_valid_before_utc, loaded.not_valid_after_utc


def self_signed_ca(common_name: str, lifetime: timedelta) -> KeyPair:
    """Create a self-signed CA (unit ``openshift``, as the installer's)."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "openshift"), x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    )
    builder = _builder(subject, subject, key.public_key(), key.public_key(), lifetime, is_ca=True)
    return _pair(builder.sign(key, hashes.SHA256()), key)


def client(signer: KeyPair, common_name: str, organizations: Iterable[str], lifetime: timedelta) -> KeyPair:
    """Make a client certificate: user ``common_name``, groups ``organizations``."""
    return _issued(signer, _subject(common_name, organizations), lifetime, [ExtendedKeyUsageOID.CLIENT_AUTH])


def server(signer: KeyPair, common_name: str, names: Iterable[str], lifetime: timedelta) -> KeyPair:
    """Make a certificate for a server that is a client of its peers too, with DNS names and IP addresses."""
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return _issued(signer, _subject(common_name), lifetime, usages, x509.SubjectAlternativeName(map(_general_name, names)))


def addresses_of(certificate: bytes) -> set[str]:
    """Return the IP addresses among the names of a PEM certificate."""
    names = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(address) for address in names.get_values_for_type(x509.IPAddress)}


def successor(signer: KeyPair, old: bytes, lifetime: timedelta) -> KeyPair:
    """Make a serving certificate with the subject and names of the PEM ``old``, signed anew."""
    before = x509.load_pem_x509_certificate(old)
    names = before.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return _issued(signer, before.subject, lifetime, [ExtendedKeyUsageOID.SERVER_AUTH], names)


def _issued(
    signer: KeyPair,
    subject: x509.Name,
    lifetime: timedelta,
    usages: Iterable[x509.ObjectIdentifier],
    names: x509.SubjectAlternativeName | None = None,
) -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate, signer_key = _loaded(signer)
    builder = _builder(subject, certificate.subject, key.public_key(), certificate.public_key(), lifetime, is_ca=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return _pair(builder.sign(signer_key, hashes.SHA256()), key)


def is_signed_by(certificate: bytes, ca_bundle: bytes) -> bool:
    """Return whether a CA of the PEM bundle has signed a PEM certificate."""
    child = x509.load_pem_x509_certificate(certificate)
    for parent in x509.load_pem_x509_certificates(ca_bundle):
        try:
            child.verify_directly_issued_by(parent)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


def aged(signer: KeyPair, certificate: bytes, time: timedelta) -> bytes:
    """Return a PEM certificate with all of its content, signed again with dates earlier by ``time``."""
    before = x509.load_pem_x509_certificate(certificate)
    ca_certificate, signer_key = _loaded(signer)
    builder = (
        x509.CertificateBuilder()
        .subject_name(before.subject)
        .issuer_name(ca_certificate.subject)
        .public_key(before.public_key())
        .serial_number(before.serial_number)
        .not_valid_before(before.not_valid_before_utc - time)
        .not_valid_after(before.not_valid_after_utc - time)
    )
    for extension in before.extensions:
        builder = builder.add_extension(extension.value, critical=extension.critical)
    return builder.sign(signer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def request(common_name: str, organizations: Iterable[str], names: Iterable[str] = ()) -> tuple[bytes, bytes]:
    """Make an ECDSA P-256 key and a PKCS#10 request for it, as a kubelet does.

    ``names``: subject alternative names, DNS or IP. Returns PEM of the request and of the key.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(_subject(common_name, organizations))
    general = [_general_name(name) for name in names]
    if general:
        builder = builder.add_extension(x509.SubjectAlternativeName(general), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), private_pem(key)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """PEM (SEC1, as kubelets write it) without a passphrase."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def _builder(  # noqa: PLR0913 - the parts every certificate has
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer_key: object,
    lifetime: timedelta,
    *,
    is_ca: bool,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC).replace(microsecond=0)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=is_ca,
                crl_sign=is_ca,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)  # type: ignore[arg-type]  # any signer's key
    )


def _loaded(pair: KeyPair) -> tuple[x509.Certificate, CertificateIssuerPrivateKeyTypes]:
    key = serialization.load_pem_private_key(pair.key, password=None)
    return x509.load_pem_x509_certificate(pair.certificate), key  # type: ignore[return-value]  # RSA or EC: signers are nothing else


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))


def _subject(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
