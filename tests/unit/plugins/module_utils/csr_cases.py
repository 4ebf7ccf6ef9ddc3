"""Certificate requests for tests: what a kubelet sends, and everything malformed or hostile that could be sent instead.

Well-formed ones are made with the `cryptography` library; what no library writes is put together from DER by hand and then signed, so that
the signature is never what gives a hostile request away.
"""

import base64
import functools
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
GROUPS = ["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts", "system:authenticated"]
NODE_GROUPS = ["system:nodes", "system:authenticated"]
CLIENT_USAGES = ["digital signature", "client auth"]
SERVING_USAGES = ["digital signature", "server auth"]

WORKER, OTHER, MASTER = "worker-0.demo.metal.test", "worker-1.demo.metal.test", "control-plane-0.demo.metal.test"
JOINED_MASTER = "control-plane-1.demo.metal.test"
ADDRESS, PRIVATE, OTHER_ADDRESS, VIRTUAL, SIX = "127.64.0.9", "10.66.0.9", "127.64.0.10", "127.64.0.200", "2604:1380::9"
UNDECLARED, MASTER_ADDRESS = "127.64.0.201", "127.64.0.5"
CREATED, FILED = "2026-03-01T12:00:00Z", "2026-03-01T12:25:00Z"
JOINED = "2026-03-01T12:20:00Z"
"""When those had joined whose Nodes were deleted."""

MACHINES = {WORKER: [ADDRESS, PRIVATE, SIX], OTHER: [OTHER_ADDRESS], JOINED_MASTER: [MASTER_ADDRESS]}
"""The machines that are expected, with their addresses."""

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


@functools.cache
def key(name: str = "worker-0", kind: str = "P-256") -> Key:
    """A key by name, made once; of two names two keys."""
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    if kind.startswith("RSA"):
        return rsa.generate_private_key(65537, int(kind[3:]))
    return ec.generate_private_key({"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "K-256": ec.SECP256K1()}[kind])


def made(
    common_name: str | None = f"system:node:{WORKER}",
    organizations: Iterable[str] = ("system:nodes",),
    names: Iterable[x509.GeneralName] = (),
    *,
    signed_with: Key | None = None,
    further: Iterable[x509.NameAttribute[str]] = (),
    extensions: Iterable[x509.ExtensionType] = (),
    attributes: Iterable[tuple[str, bytes]] = (),
) -> bytes:
    """A request the library can write, as PEM."""
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    if common_name is not None:
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([*subject, *further]))
    names = list(names)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    for oid, value in attributes:
        builder = builder.add_attribute(ObjectIdentifier(oid), value)
    signer = signed_with or key()
    return builder.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )


def dns(*names: str) -> list[x509.GeneralName]:
    return [x509.DNSName(name) for name in names]


def ips(*addresses: str) -> list[x509.GeneralName]:
    return [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]


# --- DER by hand ---------------------------------------------------------------------------------------------------------------

EXTENSIONS, ORG, CN = "1.2.840.113549.1.9.14", "2.5.4.10", "2.5.4.3"
NODE, NODES = f"system:node:{WORKER}".encode(), b"system:nodes"


def tlv(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def oid(dotted: str) -> bytes:
    first, second, *rest = (int(part) for part in dotted.split("."))
    out = bytes([first * 40 + second])
    for part in rest:
        groups = [part & 0x7F]
        while part := part >> 7:
            groups.append(part & 0x7F | 0x80)
        out += bytes(reversed(groups))
    return tlv(0x06, out)


def name_part(dotted: str, text: bytes, kind: int = 0x0C) -> bytes:
    return tlv(0x31, attribute(dotted, text, kind))


def attribute(dotted: str, text: bytes, kind: int = 0x0C) -> bytes:
    return tlv(0x30, oid(dotted), tlv(kind, text))


def subject(common_name: str = f"system:node:{WORKER}", organization: str = "system:nodes") -> bytes:
    return tlv(0x30, name_part(ORG, organization.encode()), name_part(CN, common_name.encode()))


def alternative_names(*names: bytes) -> bytes:
    """One subjectAltName extension."""
    return tlv(0x30, oid("2.5.29.17"), tlv(0x04, tlv(0x30, *names)))


def extension_request(*extensions: bytes, dotted: str = EXTENSIONS) -> bytes:
    return tlv(0x30, oid(dotted), tlv(0x31, tlv(0x30, *extensions)))


def by_hand(
    *attributes: bytes,
    named: bytes | None = None,
    version: bytes = b"\x00",
    after: bytes = b"",
    before_signing: bytes = b"",
    valid: bool = True,
) -> bytes:
    """DER of a request with these attributes, signed with the worker's key."""
    private = key()
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    public = private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    info = tlv(0x30, tlv(0x02, version), named or subject(), public, tlv(0xA0, *attributes), before_signing)
    signature = private.sign(info if valid else info + b"x", ec.ECDSA(hashes.SHA256()))
    return tlv(0x30, info, tlv(0x30, oid("1.2.840.10045.4.3.2")), tlv(0x03, b"\x00", signature)) + after


def pem(der: bytes, *, label: str = "CERTIFICATE REQUEST", width: int = 64, newline: str = "\n") -> bytes:
    text = base64.b64encode(der).decode()
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    return newline.join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode()


def der_of(text: bytes) -> bytes:
    return x509.load_pem_x509_csr(text).public_bytes(serialization.Encoding.DER)


# --- objects as the API server gives them ---------------------------------------------------------------------------------------


def client(content: bytes | None = None, /, **changes: Any) -> dict[str, Any]:
    """A client request as the API server lists it; `changes` replace fields of its spec, `name` and `filed` of its metadata."""
    return _object(content if content is not None else made(), (CLIENT, BOOTSTRAPPER, GROUPS, CLIENT_USAGES), changes)


def serving(content: bytes | None = None, /, **changes: Any) -> dict[str, Any]:
    """A serving request as the API server lists it."""
    given = content if content is not None else made(names=dns(WORKER) + ips(ADDRESS))
    return _object(given, (SERVING, f"system:node:{WORKER}", NODE_GROUPS, SERVING_USAGES), changes)


def _object(request: bytes, by: tuple[str, str, list[str], list[str]], changes: dict[str, Any]) -> dict[str, Any]:
    signer, username, groups, usages = by
    name = changes.pop("name", "csr-abcde")
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": changes.pop("version", "100"),
        "creationTimestamp": changes.pop("filed", FILED),
    }
    status = changes.pop("status", {})
    spec = {"request": base64.b64encode(request).decode(), "signerName": signer, "username": username, "groups": groups, "usages": usages}
    return {"metadata": metadata, "spec": {**spec, **changes}, "status": status}


def answered(obj: dict[str, Any], *, at: str = FILED, issued: bool = True) -> dict[str, Any]:
    """The same request, approved."""
    status: dict[str, Any] = {"conditions": [{"type": "Approved", "status": "True", "reason": "x", "lastUpdateTime": at}]}
    if issued:
        status["certificate"] = "bm8="
    return {**obj, "status": status}


@dataclass(frozen=True)
class Case:
    """One malformed or hostile CSR and a word its reason has to have. `nodes`: which Nodes exist. `joined`: machines that had joined, whose
    Nodes were deleted.

    `server`: the API server itself takes no such request.
    """

    title: str
    obj: Callable[[], Any]
    word: str
    nodes: tuple[str, ...] = ()
    server: bool = False
    joined: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether the request could be there: who logged in with groups is always in system:authenticated, the server writes the time."""
        obj = self.obj()
        if not isinstance(obj, dict) or not isinstance(obj["spec"], dict) or not isinstance(obj["metadata"], dict):
            return False
        groups = obj["spec"]["groups"]
        result = isinstance(groups, list) and all(isinstance(group, str) for group in groups) and "system:authenticated" in groups
        return result and obj["metadata"]["creationTimestamp"] is not None


def _old_digest() -> bytes:
    """A request with a good signature over an outdated digest."""
    private = key("rsa", "RSA2048")
    assert isinstance(private, rsa.RSAPrivateKey)
    public = private.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    info = tlv(0x30, tlv(0x02, b"\x00"), subject(), public, tlv(0xA0))
    signature = private.sign(info, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303 - it is what has to be refused
    return tlv(0x30, info, tlv(0x30, oid("1.2.840.113549.1.1.5"), tlv(0x05)), tlv(0x03, b"\x00", signature))


def _swapped() -> dict[str, Any]:
    return serving(made(f"system:node:{OTHER}", names=dns(OTHER) + ips(ADDRESS)), username=f"system:node:{OTHER}")


SAN_WORKER = tlv(0x82, WORKER.encode())
SAN_OTHER = tlv(0x82, OTHER.encode())
LONG_LENGTH = b"\x30\x84\x00\x00"


def _spare_bits() -> bytes:
    """Base64 whose last character has bits that mean nothing: two texts for one DER."""
    text = b""
    # A signature's length varies by a byte or two, so it takes a few until one ends with padding.
    while b"=\n" not in text:
        text = pem(by_hand(extension_request(alternative_names(SAN_WORKER))))
    position = text.index(b"=") - 1
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:position] + bytes([alphabet[alphabet.index(text[position]) | 1]]) + text[position + 1 :]


def named(*names: bytes) -> dict[str, Any]:
    """A serving request with these alternative names, written by hand."""
    return by_attributes(extension_request(alternative_names(*names)))


def by_attributes(*attributes: bytes) -> dict[str, Any]:
    return serving(pem(by_hand(*attributes)))


def subject_of(*parts: bytes) -> dict[str, Any]:
    """A client request with these parts of its subject."""
    return client(pem(by_hand(named=tlv(0x30, *parts))))


CASES = [
    # Who asks, through which signer, for what use.
    Case("an administrator files a node's client request", lambda: client(username="system:admin"), "filed by"),
    Case("another service account", lambda: client(username="system:serviceaccount:default:default"), "filed by"),
    Case("a requestor that only begins alike", lambda: client(username=BOOTSTRAPPER + "x"), "filed by"),
    Case("one group more", lambda: client(groups=[*GROUPS, "system:cluster-admins"]), "groups"),
    Case("one group less", lambda: client(groups=[GROUPS[0], GROUPS[2]]), "groups"),
    Case("a group twice", lambda: client(groups=[*GROUPS, GROUPS[0]]), "groups"),
    Case("no groups", lambda: client(groups=None), "groups"),
    Case("usage server auth in a client request", lambda: client(usages=SERVING_USAGES), "usages"),
    Case("one usage more", lambda: client(usages=[*CLIENT_USAGES, "cert sign"]), "usages"),
    Case("a usage twice", lambda: client(usages=[*CLIENT_USAGES, "client auth"]), "usages", server=True),
    Case("usages that are no list", lambda: client(usages="client auth"), "usages", server=True),
    Case("both uses in a serving request", lambda: serving(usages=[*SERVING_USAGES, "client auth"]), "usages", (WORKER,)),
    # Whose name.
    Case("a made-up node", lambda: client(made("system:node:stranger.demo.metal.test")), "no expected machine"),
    Case("a control plane's name that nobody expects", lambda: client(made(f"system:node:{MASTER}")), "no expected machine"),
    Case("a name in other case", lambda: client(made("system:node:Worker-0.demo.metal.test")), "not written as"),
    Case("a name with a final dot", lambda: client(made(f"system:node:{WORKER}.")), "not written as"),
    Case("a name with a space", lambda: client(made(f"system:node:{WORKER} ")), "not written as"),
    Case("the short name", lambda: client(made("system:node:worker-0")), "short name"),
    Case("a letter from another alphabet", lambda: client(made("system:node:wоrker-0.demo.metal.test")), "no expected machine"),  # noqa: RUF001
    Case("a terminal's control sequence as a name", lambda: client(made("system:node:\x1b[2Kworker-0")), r"\\x1b"),
    Case("another machine's name with a tail", lambda: client(made(f"system:node:{WORKER}.evil.test")), "no expected machine"),
    Case("a machine's name with a digit more", lambda: client(made("system:node:worker-00.demo.metal.test")), "no expected machine"),
    Case("the name of the same machine in another cluster", lambda: client(made("system:node:worker-0.demo2.metal.test")), "no expected"),
    Case("the prefix twice", lambda: client(made(f"system:node:system:node:{WORKER}")), "no expected machine"),
    Case("the prefix in other case", lambda: client(made(f"System:Node:{WORKER}")), "common name"),
    Case("a name with a line end", lambda: client(made(f"system:node:{WORKER}\n")), "not written as"),
    Case("the name and a group in one common name", lambda: client(made(f"system:node:{WORKER},O=system:masters")), "no expected machine"),
    Case("an address as the node's name", lambda: client(made(f"system:node:{ADDRESS}")), "no expected machine"),
    Case("the bootstrapper's own name", lambda: client(pem(by_hand(named=subject(BOOTSTRAPPER)))), "common name"),
    Case("organization in other case", lambda: client(made(organizations=["System:Nodes"])), "organization"),
    Case("organization twice", lambda: client(made(organizations=["system:nodes", "system:nodes"])), "organization"),
    Case("a control plane's name again", lambda: client(made(f"system:node:{JOINED_MASTER}")), "has joined already", (JOINED_MASTER,)),
    Case("a joined machine asks with another key", lambda: client(made(signed_with=key("other"))), "has joined already", (WORKER,)),
    Case("an empty node name", lambda: client(made("system:node:")), "no expected machine"),
    Case("no common name", lambda: client(made(None)), "common name"),
    Case(
        "two common names", lambda: client(made(further=[x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{MASTER}")])), "common name"
    ),
    Case("an administrator's common name", lambda: client(made("system:admin")), "common name"),
    Case("organization system:masters", lambda: client(made(organizations=["system:masters"])), "organization"),
    Case("a second organization", lambda: client(made(organizations=["system:nodes", "system:masters"])), "organization"),
    Case("no organization", lambda: client(made(organizations=[])), "organization"),
    Case("an organizational unit", lambda: client(made(further=[x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "x")])), "more than"),
    Case("the node exists", client, "has joined already", (WORKER,)),
    # cluster-machine-approver's own case: a Machine with a nodeRef whose Node is gone.
    Case("a machine that had joined and has no Node any more", client, "its Node was deleted", joined=(WORKER,)),
    Case("another key for it", lambda: client(made(signed_with=key("other"))), "its Node was deleted", joined=(WORKER,)),
    Case(
        "a control plane machine that had joined and has no Node any more",
        lambda: client(made(f"system:node:{JOINED_MASTER}")),
        "its Node was deleted",
        joined=(JOINED_MASTER,),
    ),
    Case("filed before the machine was made", lambda: client(filed="2026-03-01T11:00:00Z"), "before the machine"),
    Case("filed after the window", lambda: client(filed="2026-03-01T15:00:00Z"), "window"),
    Case("no time of filing", lambda: client(filed=None), "when it was filed"),
    # Alternative names.
    Case("a client certificate with a name", lambda: client(made(names=dns(WORKER))), "no alternative names"),
    Case("a client certificate with an address", lambda: client(made(names=ips(ADDRESS))), "no alternative names"),
    Case("serving without a name", lambda: serving(made()), "at least one", (WORKER,)),
    Case(
        "serving for the address of another machine",
        lambda: serving(made(names=dns(WORKER) + ips(OTHER_ADDRESS))),
        OTHER_ADDRESS,
        (WORKER,),
    ),
    Case(
        "serving for a foreign address among good ones",
        lambda: serving(made(names=ips(ADDRESS, "198.51.100.1"))),
        "198.51.100.1",
        (WORKER,),
    ),
    Case("serving for loopback", lambda: serving(made(names=ips("127.0.0.1"))), "127.0.0.1", (WORKER,)),
    Case("serving for the name of another machine", lambda: serving(made(names=dns(WORKER, OTHER))), OTHER, (WORKER,)),
    Case("serving for the API's name", lambda: serving(made(names=dns("api-int.demo.metal.test"))), "api-int", (WORKER,)),
    Case("serving for a wildcard", lambda: serving(made(names=dns("*.demo.metal.test"))), "\\*.demo", (WORKER,)),
    Case("serving for the name in other case", lambda: serving(made(names=dns(WORKER.upper()))), "WORKER", (WORKER,)),
    Case("serving for the short name", lambda: serving(made(names=dns("worker-0"))), "worker-0", (WORKER,)),
    Case(
        "serving for a virtual address that is not declared",
        lambda: serving(made(names=dns(WORKER) + ips(ADDRESS, UNDECLARED))),
        UNDECLARED,
        (WORKER,),
    ),
    Case("serving for all addresses", lambda: serving(made(names=ips("0.0.0.0"))), "0.0.0.0", (WORKER,)),  # noqa: S104 - refused
    Case("serving for the link-local metadata address", lambda: serving(made(names=ips("169.254.169.254"))), "169.254", (WORKER,)),
    Case("serving for the neighbouring IPv6 address", lambda: serving(made(names=ips(ADDRESS, "2604:1380::a"))), "2604:1380::a", (WORKER,)),
    Case("serving for an IPv4-compatible IPv6 address", lambda: serving(made(names=ips(f"::{ADDRESS}"))), "::7f40:9", (WORKER,)),
    Case("serving for a translated IPv6 address", lambda: serving(made(names=ips(f"64:ff9b::{ADDRESS}"))), "64:ff9b", (WORKER,)),
    Case("serving for an IPv4 address as a name", lambda: serving(made(names=dns(ADDRESS))), ADDRESS, (WORKER,)),
    Case("serving for an IPv6 address as a name", lambda: serving(made(names=dns(SIX))), SIX, (WORKER,)),
    Case("serving for an IPv6 address as a name, spelt out", lambda: serving(made(names=dns("2604:1380:0:0:0:0:0:9"))), ":0:0:", (WORKER,)),
    Case("serving for an address as a reverse name", lambda: serving(made(names=dns("9.0.64.127.in-addr.arpa"))), "in-addr", (WORKER,)),
    Case("serving for the name with a final dot", lambda: serving(made(names=dns(f"{WORKER}."))), "is not", (WORKER,)),
    Case("serving for localhost", lambda: serving(made(names=dns(WORKER, "localhost"))), "localhost", (WORKER,)),
    Case("serving for the API's service", lambda: serving(made(names=dns("kubernetes.default.svc"))), "kubernetes", (WORKER,)),
    Case("serving for a control plane's name", lambda: serving(made(names=dns(JOINED_MASTER))), JOINED_MASTER, (WORKER, JOINED_MASTER)),
    Case(
        "serving with another organization",
        lambda: serving(made(organizations=["system:masters"], names=dns(WORKER))),
        "organization",
        (WORKER,),
    ),
    Case("serving with client usages", lambda: serving(usages=CLIENT_USAGES), "usages", (WORKER,)),
    Case("serving with a short RSA key", lambda: serving(made(names=dns(WORKER), signed_with=key("short", "RSA1024"))), "1024", (WORKER,)),
    Case("the other of two machines that swap names", _swapped, ADDRESS, (WORKER, OTHER)),
    Case("serving with an e-mail address", lambda: serving(made(names=[*dns(WORKER), x509.RFC822Name("a@b.test")])), "e-mail", (WORKER,)),
    Case(
        "serving with a URI", lambda: serving(made(names=[*dns(WORKER), x509.UniformResourceIdentifier("spiffe://x/y")])), "URI", (WORKER,)
    ),
    Case(
        "serving with a directory name",
        lambda: serving(made(names=[x509.DirectoryName(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")]))])),
        "directory",
        (WORKER,),
    ),
    Case("serving filed by another node", lambda: serving(username=f"system:node:{OTHER}"), "was filed by", (WORKER, OTHER), server=True),
    Case("two machines swap names", lambda: serving(made(names=dns(WORKER) + ips(OTHER_ADDRESS))), "none of", (WORKER, OTHER)),
    Case("serving filed by the bootstrapper", lambda: serving(username=BOOTSTRAPPER, groups=GROUPS), "filed by", (WORKER,)),
    Case("serving without the nodes' group", lambda: serving(groups=["system:authenticated"]), "groups", (WORKER,)),
    Case(
        "serving for a node nobody expects",
        lambda: serving(made(f"system:node:{MASTER}", names=dns(MASTER)), username=f"system:node:{MASTER}"),
        "no expected",
        (MASTER,),
    ),
    Case(
        "an IPv4 address in IPv6 spelling",
        lambda: named(tlv(0x87, b"\x00" * 10 + b"\xff\xff" + bytes([127, 64, 0, 9]))),
        "as an IPv6 one",
        (WORKER,),
    ),
    Case("an address of five bytes", lambda: named(tlv(0x87, b"\x7f\x40\x00\x09\x00")), "5 bytes", (WORKER,), server=True),
    Case("an address with a mask", lambda: named(tlv(0x87, bytes(8))), "8 bytes", (WORKER,), server=True),
    Case("a name that is not ASCII", lambda: named(tlv(0x82, b"w\xf6rker")), "ASCII", (WORKER,), server=True),
    Case("a name twice", lambda: named(SAN_WORKER, SAN_WORKER), "twice", (WORKER,)),
    Case("an empty list of names", named, "empty", (WORKER,)),
    # What is judged must be what is signed: attributes and extensions.
    Case(
        "two subjectAltName extensions",
        lambda: by_attributes(extension_request(alternative_names(SAN_WORKER), alternative_names(SAN_OTHER))),
        "more than one extension",
        (WORKER,),
        server=True,
    ),
    Case(
        "two extension requests",
        lambda: by_attributes(*(extension_request(alternative_names(name)) for name in (SAN_WORKER, SAN_OTHER))),
        "more than one attribute",
        (WORKER,),
        server=True,
    ),
    Case(
        "names hidden in Microsoft's extension request",
        lambda: client(pem(by_hand(extension_request(alternative_names(SAN_OTHER), dotted="1.3.6.1.4.1.311.2.1.14")))),
        "not the standard",
    ),
    Case(
        "a second value in the extension request",
        lambda: by_attributes(
            tlv(0x30, oid(EXTENSIONS), tlv(0x31, *(tlv(0x30, alternative_names(name)) for name in (SAN_WORKER, SAN_OTHER))))
        ),
        "too many",
        (WORKER,),
    ),
    Case("a challenge password", lambda: client(made(attributes=[("1.2.840.113549.1.9.7", b"secret")])), "not the standard"),
    Case("asks to be an authority", lambda: client(made(extensions=[x509.BasicConstraints(ca=True, path_length=None)])), "other than"),
    Case(
        "asks for a use of the key",
        lambda: serving(made(names=dns(WORKER), extensions=[x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])])),
        "more than one extension",
        (WORKER,),
    ),
    Case("an empty extension request", lambda: client(pem(by_hand(extension_request()))), "too early"),
    # PEM.
    Case("no request", lambda: client(request=""), "holds no request", server=True),
    Case("a request that is no text", lambda: client(request=7), "holds no request", server=True),
    Case("no base64", lambda: client(request="%%%"), "not base64", server=True),
    Case("a PEM with two requests", lambda: client(made() + made(f"system:node:{MASTER}")), "2 PEM blocks"),
    Case("a request behind a certificate block", lambda: client(pem(b"x", label="CERTIFICATE") + made()), "2 PEM blocks", server=True),
    Case("words before the block", lambda: client(b"hello\n" + made()), "one clean PEM"),
    Case("words behind the block", lambda: client(made() + b"hello\n"), "one clean PEM"),
    Case(
        "a header inside the block",
        lambda: client(made().replace(b"REQUEST-----\n", b"REQUEST-----\nProc-Type: 4\n\n", 1)),
        "one clean PEM",
    ),
    Case("the old label", lambda: client(pem(der_of(made()), label="NEW CERTIFICATE REQUEST")), "one clean PEM", server=True),
    Case("lines of another width", lambda: client(pem(der_of(made()), width=60)), "canonical"),
    Case("other line ends", lambda: client(pem(der_of(made()), newline="\r\n")), "one clean PEM"),
    Case("spare bits in the base64", lambda: serving(_spare_bits()), "canonical", (WORKER,)),
    Case("a null byte behind", lambda: client(made() + b"\x00"), "one clean PEM"),
    Case("a huge request", lambda: client(made().ljust(20000, b"\n")), "bytes, a kubelet"),
    # DER.
    Case("bytes behind the DER", lambda: client(pem(by_hand(after=b"\x00\x00"))), "too many", server=True),
    Case("bytes behind the attributes", lambda: client(pem(by_hand(before_signing=tlv(0x05)))), "too many"),
    Case("cut off in the middle", lambda: client(pem(der_of(made())[:-20])), "cut off", server=True),
    Case(
        "a length in long form",
        lambda: client(pem(LONG_LENGTH + len(by_hand()[3:]).to_bytes(2, "big") + by_hand()[3:])),
        "not in the form of DER",
        server=True,
    ),
    Case("version 2", lambda: client(pem(by_hand(version=b"\x01"))), "version"),
    Case("version 4 billion", lambda: client(pem(by_hand(version=b"\x00\xff\xff\xff\xff"))), "version"),
    Case("no DER at all", lambda: client(pem(b"hello world")), "tag", server=True),
    Case("nothing in the block", lambda: client(pem(b"")), "one clean PEM", server=True),
    Case("organization and name in one set", lambda: subject_of(tlv(0x31, attribute(ORG, NODES), attribute(CN, NODE))), "too many"),
    Case(
        "a name in a wide string",
        lambda: subject_of(name_part(ORG, NODES), name_part(CN, NODE.decode().encode("utf-16-be"), 0x1E)),
        "string type",
    ),
    Case("a name in an old string", lambda: subject_of(name_part(ORG, NODES), name_part(CN, NODE, 0x14)), "string type"),
    Case(
        "a null byte in the name",
        lambda: client(pem(by_hand(named=subject(f"system:node:{WORKER}\x00.evil.test")))),
        "no expected machine|cannot be read",
    ),
    Case(
        "a printable string that is not",
        lambda: subject_of(name_part(ORG, NODES, 0x13), name_part(CN, NODE + b"*", 0x13)),
        "PrintableString",
    ),
    # Keys and signatures.
    Case("RSA with 1024 bits", lambda: client(made(signed_with=key("short", "RSA1024"))), "1024 bits"),
    Case("P-384", lambda: client(made(signed_with=key("a", "P-384"))), "secp384r1"),
    Case("secp256k1", lambda: client(made(signed_with=key("a", "K-256"))), "secp256k1", server=True),
    Case("Ed25519", lambda: client(made(signed_with=key("a", "ed25519"))), "neither"),
    Case("signed by somebody else", lambda: client(pem(by_hand(valid=False))), "signature", server=True),
    Case("RSA with SHA-1", lambda: client(pem(_old_digest())), "signature"),
    # Objects no API server would send.
    Case("no object", lambda: None, "ignored: signer"),
    Case("a list", list, "ignored: signer"),
    Case("metadata is null", lambda: {**client(), "metadata": None}, "when it was filed"),
    Case("spec is a list", lambda: {**client(), "spec": []}, "ignored: signer"),
    Case("groups with a number", lambda: client(groups=[*GROUPS[:2], 7]), "groups"),
    Case("usages with an object", lambda: client(usages=["digital signature", {"a": "b"}]), "usages", server=True),
]
