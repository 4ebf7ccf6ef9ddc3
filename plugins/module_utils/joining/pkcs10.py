# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict parser of certificate signing requests (PKCS#10), which accepts only requests that every parser reads in the same way.

The signer of a Kubernetes cluster is written in Go (`encoding/pem`, `crypto/x509`), this in Python. The two differ for data around a PEM
block and for unusual attributes, so this parser could read one name and the signer another. So only one form is accepted: exactly one
canonical PEM block, DER without a spare byte, at most one attribute (extensionRequest of PKCS#9) with at most one extension
(subjectAltName) with only DNS names and addresses. Requests of kubelets have this form; any other is refused with its reason.

Note that this module util is PRIVATE to the collection.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import re
import traceback
from dataclasses import dataclass
from typing import TypeAlias

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    CRYPTOGRAPHY_IMPORT_ERROR: str | None = None
except ImportError:
    CRYPTOGRAPHY_IMPORT_ERROR = traceback.format_exc()

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

# A kubelet's request is below 1 KiB, with an RSA key below 2 KiB; the API server accepts up to 3 MiB.
LARGEST_REQUEST = 16 * 1024
RSA_BITS = range(2048, 8193)

OID_COMMON_NAME = bytes.fromhex("550403")
OID_ORGANIZATION = bytes.fromhex("55040a")
OID_EXTENSION_REQUEST = bytes.fromhex("2a864886f70d01090e")
OID_SUBJECT_ALT_NAME = bytes.fromhex("551d11")

_INTEGER, _BIT_STRING, _OCTET_STRING, _OID, _BOOLEAN = 0x02, 0x03, 0x04, 0x06, 0x01
_UTF8, _PRINTABLE = 0x0C, 0x13
_SEQUENCE, _SET = 0x30, 0x31
_ATTRIBUTES = 0xA0
_SAN_DNS, _SAN_ADDRESS = 0x82, 0x87
_SAN_OTHER = {
    0xA0: "another name",
    0x81: "an e-mail address",
    0xA3: "an X.400 address",
    0xA4: "a directory name",
    0xA5: "an EDI party name",
    0x86: "a URI",
    0x88: "a registered id",
}

_PEM = re.compile(rb"-----BEGIN CERTIFICATE REQUEST-----\n([A-Za-z0-9+/=\n]+)\n-----END CERTIFICATE REQUEST-----\n?")
_PRINTABLE_STRING = re.compile(r"[A-Za-z0-9 '()+,\-./:=?]*")


class MalformedRequest(Exception):  # noqa: N818 - a result about untrusted input, not an error of this program
    """The request is not one that a kubelet sends. The text is the reason for the operator."""


@dataclass(frozen=True)
class Content:
    """The content of one certificate request.

    `organizations` and `common_names` are the subject in the order it has them, `key` is the SHA-256 of the public key
    (SubjectPublicKeyInfo) in hex: two requests of one kubelet start have the same, after a restart it is another.
    """

    organizations: tuple[str, ...]
    common_names: tuple[str, ...]
    dns_names: tuple[str, ...]
    addresses: tuple[Address, ...]
    key: str


def shown(text: object, limit: int = 100) -> str:
    """Return untrusted text for a message: quoted, shortened, without control characters."""
    quoted = ascii(str(text))
    return quoted if len(quoted) <= limit else quoted[:limit] + "...'"


class _Der:
    """A parser of DER (X.690): definite, shortest lengths, one-byte tags, no trailing data."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def more(self) -> bool:
        return self._at < len(self._data)

    def tag(self) -> int:
        if not self.more():
            raise MalformedRequest(f"{self._what} ends too early")
        return self._data[self._at]

    def take(self, expected: int) -> bytes:
        """Return the content of the next element, which must have this tag."""
        return self.take_whole(expected)[1]

    def take_whole(self, expected: int) -> tuple[bytes, bytes]:
        """Return the next element with its header, and its content."""
        if self.tag() != expected:
            raise MalformedRequest(f"{self._what} has an element with tag 0x{self.tag():02x} where 0x{expected:02x} belongs")
        start, self._at = self._at, self._at + 1
        length = self._length()
        content = self._data[self._at : self._at + length]
        if len(content) != length:
            raise MalformedRequest(f"{self._what} is cut off")
        self._at += length
        return self._data[start : self._at], content

    def _length(self) -> int:
        first = self.tag()
        self._at += 1
        if first < 0x80:
            return first
        count = first & 0x7F
        octets = self._data[self._at : self._at + count]
        self._at += count
        length = int.from_bytes(octets, "big")
        if not 1 <= count <= 3 or len(octets) != count or octets[0] == 0 or length < 0x80:
            raise MalformedRequest(f"{self._what} has a length that is not in the form of DER")
        return length

    def end(self) -> None:
        if self.more():
            raise MalformedRequest(f"{self._what} has {len(self._data) - self._at} bytes too many at its end")


def der_of(pem: bytes) -> bytes:
    """Return the DER of exactly one canonical PEM block with no other data."""
    if len(pem) > LARGEST_REQUEST:
        raise MalformedRequest(f"it has {len(pem)} bytes, a kubelet's has less than {LARGEST_REQUEST}")
    match = _PEM.fullmatch(pem)
    if not match:
        count = pem.count(b"-----BEGIN ")
        if count > 1:
            raise MalformedRequest(f"it holds {count} PEM blocks; only a single clean one is judged")
        raise MalformedRequest("it is not one clean PEM block of type CERTIFICATE REQUEST and nothing else")
    try:
        der = base64.b64decode(match[1].replace(b"\n", b""), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise MalformedRequest(f"its base64 cannot be read ({problem})") from problem
    text = base64.b64encode(der)
    lines = b"\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    if lines != match[1]:
        raise MalformedRequest("its PEM is not in canonical form (lines of 64 characters, no spare bits)")
    return der


def read(pem: bytes) -> Content:
    """Return the content of one request. Raises MalformedRequest with the reason if it is not in the form of a kubelet's.

    This parser and the X.509 library must return the same names, and the signature must prove that the client has the key.
    """
    der = der_of(pem)
    content = _read_strictly(der)
    _agree_with_library(der, content)
    return content


def _read_strictly(der: bytes) -> Content:
    outer = _Der(der, "the request")
    body = _Der(outer.take(_SEQUENCE), "the request")
    outer.end()
    info = _Der(body.take(_SEQUENCE), "the request's body")
    body.take(_SEQUENCE)
    body.take(_BIT_STRING)
    body.end()
    if info.take(_INTEGER) != b"\x00":
        raise MalformedRequest("its PKCS#10 version is not 1")
    organizations, common_names = _subject(info.take(_SEQUENCE))
    key, _inner = info.take_whole(_SEQUENCE)
    dns_names, addresses = _attributes(info.take(_ATTRIBUTES))
    info.end()
    return Content(organizations, common_names, dns_names, addresses, hashlib.sha256(key).hexdigest())


def _subject(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    values: dict[bytes, list[str]] = {OID_ORGANIZATION: [], OID_COMMON_NAME: []}
    names = _Der(data, "the subject")
    while names.more():
        one = _Der(names.take(_SET), "the subject")
        pair = _Der(one.take(_SEQUENCE), "the subject")
        one.end()
        oid = pair.take(_OID)
        if oid not in values:
            raise MalformedRequest("its subject has more than organization and common name")
        kind = pair.tag()
        if kind not in (_UTF8, _PRINTABLE):
            raise MalformedRequest(f"its subject uses the string type 0x{kind:02x}; kubelets use PrintableString or UTF8String")
        try:
            text = pair.take(kind).decode("utf-8")
        except UnicodeDecodeError as problem:
            raise MalformedRequest("its subject is not valid UTF-8") from problem
        if kind == _PRINTABLE and not _PRINTABLE_STRING.fullmatch(text):
            raise MalformedRequest(f"its subject has characters a PrintableString may not have: {shown(text)}")
        pair.end()
        values[oid].append(text)
    return tuple(values[OID_ORGANIZATION]), tuple(values[OID_COMMON_NAME])


def _attributes(data: bytes) -> tuple[tuple[str, ...], tuple[Address, ...]]:
    attributes = _Der(data, "the list of attributes")
    if not attributes.more():
        return (), ()
    attribute = _Der(attributes.take(_SEQUENCE), "the attribute")
    if attributes.more():
        raise MalformedRequest("it has more than one attribute")
    if attribute.take(_OID) != OID_EXTENSION_REQUEST:
        raise MalformedRequest("it has an attribute that is not the standard extensionRequest")
    values = _Der(attribute.take(_SET), "the extensionRequest")
    attribute.end()
    extensions = _Der(values.take(_SEQUENCE), "the extensionRequest")
    values.end()
    extension = _Der(extensions.take(_SEQUENCE), "the extension")
    if extensions.more():
        raise MalformedRequest("it asks for more than one extension")
    if extension.take(_OID) != OID_SUBJECT_ALT_NAME:
        raise MalformedRequest("it asks for an extension other than subjectAltName")
    if extension.more() and extension.tag() == _BOOLEAN and extension.take(_BOOLEAN) != b"\xff":
        raise MalformedRequest("its extension writes out a default, which DER forbids")
    alternatives = _Der(extension.take(_OCTET_STRING), "the subjectAltName")
    extension.end()
    general = _Der(alternatives.take(_SEQUENCE), "the subjectAltName")
    alternatives.end()
    if not general.more():
        raise MalformedRequest("its subjectAltName is empty")
    dns_names: list[str] = []
    addresses: list[Address] = []
    while general.more():
        tag = general.tag()
        if tag == _SAN_DNS:
            dns_names.append(_dns_name(general.take(tag)))
        elif tag == _SAN_ADDRESS:
            addresses.append(_address(general.take(tag)))
        else:
            other = _SAN_OTHER.get(tag, f"an element of tag 0x{tag:02x}")
            raise MalformedRequest(f"its subjectAltName holds {other}; only DNS names and addresses belong there")
    if len(set(dns_names)) != len(dns_names) or len(set(addresses)) != len(addresses):
        raise MalformedRequest("its subjectAltName names something twice")
    return tuple(dns_names), tuple(addresses)


def _dns_name(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as problem:
        raise MalformedRequest("its subjectAltName has a DNS name that is not ASCII") from problem


def _address(data: bytes) -> Address:
    if len(data) == 4:
        return ipaddress.IPv4Address(data)
    if len(data) != 16:
        raise MalformedRequest(f"its subjectAltName has an address of {len(data)} bytes")
    address = ipaddress.IPv6Address(data)
    if address.ipv4_mapped:
        # The signer would write such an address as plain IPv4, which differs from the request.
        raise MalformedRequest(f"its subjectAltName writes the IPv4 address {address.ipv4_mapped} as an IPv6 one")
    return address


def _agree_with_library(der: bytes, content: Content) -> None:
    """Check key and signature, and that the library returns the same names."""
    try:
        request = x509.load_der_x509_csr(der)
        key = request.public_key()
        proven = request.is_signature_valid
        subject = [(attribute.oid.dotted_string, str(attribute.value)) for attribute in request.subject]
        extensions = list(request.extensions)
        dns_names: tuple[str, ...] = ()
        addresses: tuple[object, ...] = ()
        if extensions:
            alternatives = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            dns_names = tuple(alternatives.get_values_for_type(x509.DNSName))
            addresses = tuple(alternatives.get_values_for_type(x509.IPAddress))
    except Exception as problem:
        # The library has no common base for what it raises here: ValueError, UnsupportedAlgorithm, InvalidVersion, DuplicateExtension,
        # UnsupportedGeneralNameType and others are direct children of Exception, and each release may add one. The request is untrusted
        # input, only library calls are inside the try, and every outcome is the same: this request stays pending.
        raise MalformedRequest(f"it cannot be read by the X.509 library ({type(problem).__name__}: {shown(problem)})") from problem
    if isinstance(key, ec.EllipticCurvePublicKey):
        if not isinstance(key.curve, ec.SECP256R1):
            raise MalformedRequest(f"its key is on the curve {key.curve.name}; ECDSA P-256 or RSA from 2048 bits is required")
    elif isinstance(key, rsa.RSAPublicKey):
        if key.key_size not in RSA_BITS:
            raise MalformedRequest(f"its RSA key has {key.key_size} bits; {RSA_BITS.start} to {RSA_BITS.stop - 1} are accepted")
    else:
        raise MalformedRequest("its key is neither ECDSA P-256 nor RSA")
    if not proven:
        raise MalformedRequest("its signature is not valid: the asker does not hold the key, or signed with an outdated algorithm")
    mine = sorted([("2.5.4.10", value) for value in content.organizations] + [("2.5.4.3", value) for value in content.common_names])
    if sorted(subject) != mine or dns_names != content.dns_names or addresses != content.addresses:
        raise MalformedRequest("two readers do not find the same names in it")
