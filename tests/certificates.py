"""Certificates for servers of tests."""

from collections.abc import Iterable
from datetime import UTC, datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


def self_signed(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, until: datetime, addresses: Iterable[str] = ()) -> tuple[bytes, bytes]:
    """Return a key and a CA certificate signed by it for these addresses, both as PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "metal.test")])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1, tzinfo=UTC), until)
    names = [x509.DNSName("metal.test"), *(x509.IPAddress(ip_address(each)) for each in addresses)]
    made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, made.sign(key, hashes.SHA256()).public_bytes(pem)
