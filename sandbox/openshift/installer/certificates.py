# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key pairs of a new cluster: their signers, names and lifetimes.

Names and lifetimes are the installer's (RSA 2048, SHA-256): signers of what the cluster rotates within its first day live
24 hours, which is why Ignition files age. All keys are of the kind the real one makes.
"""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ONE_DAY: Final = timedelta(hours=24)
ONE_YEAR: Final = timedelta(days=365)
TEN_YEARS: Final = 10 * ONE_YEAR

MACHINE_CONFIG_NAMESPACE: Final = "openshift-machine-config-operator"
API_SIGNERS: Final = ("kube-apiserver-localhost-signer", "kube-apiserver-service-network-signer", "kube-apiserver-lb-signer")
"""The signers of the API's serving certificates: the CA bundle of its clients."""

BUNDLES: Final[Mapping[str, tuple[str, ...]]] = {
    "admin-kubeconfig-ca-bundle": ("admin-kubeconfig-signer",),
    "aggregator-ca-bundle": ("aggregator-signer",),
    "kube-apiserver-complete-client-ca-bundle": (
        "admin-kubeconfig-signer",
        "kubelet-signer",
        "kube-control-plane-signer",
        *API_SIGNERS[::-1],
        "kube-apiserver-to-kubelet-signer",
        "kubelet-bootstrap-kubeconfig-signer",
    ),
    "kube-apiserver-complete-server-ca-bundle": API_SIGNERS,
    "kube-apiserver-lb-ca-bundle": ("kube-apiserver-lb-signer",),
    "kube-apiserver-localhost-ca-bundle": ("kube-apiserver-localhost-signer",),
    "kube-apiserver-service-network-ca-bundle": ("kube-apiserver-service-network-signer",),
    "kube-apiserver-to-kubelet-ca-bundle": ("kube-apiserver-to-kubelet-signer",),
    "kube-control-plane-ca-bundle": ("kube-control-plane-signer", *API_SIGNERS[::-1]),
    "kubelet-bootstrap-kubeconfig-ca-bundle": ("kubelet-bootstrap-kubeconfig-signer",),
    "kubelet-client-ca-bundle": ("kubelet-signer",),
    "kubelet-serving-ca-bundle": ("kubelet-signer",),
}
"""``tls/<name>.crt`` with the certificates of several pairs."""
UNPUBLISHED: Final = frozenset(
    {"admin-kubeconfig-signer", "admin-kubeconfig-client", "kubelet-bootstrap-kubeconfig-signer"},
)
"""Pairs that are not in bootstrap.ign; of root-ca its certificate alone is."""

CLIENT: Final = (ExtendedKeyUsageOID.CLIENT_AUTH,)
SERVER: Final = (ExtendedKeyUsageOID.SERVER_AUTH,)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM, as they are written to ``<name>.crt`` and ``<name>.key``."""

    certificate: bytes
    key: bytes

    @property
    def loaded(self) -> tuple[x509.Certificate, rsa.RSAPrivateKey]:
        key = serialization.load_pem_private_key(self.key, password=None)
        if not isinstance(key, rsa.RSAPrivateKey):
            raise TypeError(f"the installer makes RSA keys only, not {type(key).__name__}")
        return x509.load_pem_x509_certificate(self.certificate), key


@dataclass(frozen=True)
class CertificateSpec:
    """The properties of a pair to generate."""

    common_name: str
    lifetime: timedelta
    organization: tuple[str, ...] = ()
    organizational_unit: str = ""
    signer: str = ""
    """Name of the signing pair; a pair without one is a self-signed CA."""
    usage: tuple[x509.ObjectIdentifier, ...] = ()
    names: tuple[str, ...] = ()
    """Subject alternative names; what reads as an IP address becomes one."""


def _ca(common_name: str, lifetime: timedelta) -> CertificateSpec:
    return CertificateSpec(common_name, lifetime, organizational_unit="openshift")


def _admin(lifetime: timedelta, signer: str) -> CertificateSpec:
    return CertificateSpec("system:admin", lifetime, ("system:masters",), signer=signer, usage=CLIENT)


def _api_server(signer: str, *names: str) -> CertificateSpec:
    return CertificateSpec("system:kube-apiserver", ONE_DAY, ("kube-master",), signer=signer, usage=SERVER, names=names)


def specs_for_manifests(cluster_domain: str) -> dict[str, CertificateSpec]:
    """Return the pairs that are part of manifests: root CA and the machine config server's certificate."""
    return {
        "root-ca": _ca("root-ca", TEN_YEARS),
        "machine-config-server": CertificateSpec(
            "system:machine-config-server", TEN_YEARS, signer="root-ca", usage=SERVER, names=(f"api-int.{cluster_domain}",)
        ),
    }


def specs_for_bootstrap(cluster_domain: str, service_address: str) -> dict[str, CertificateSpec]:
    """Return the other pairs. ``service_address`` is the first address of the service network (service ``kubernetes``)."""
    return {
        "admin-kubeconfig-signer": _ca("admin-kubeconfig-signer", TEN_YEARS),
        "admin-kubeconfig-client": _admin(TEN_YEARS, "admin-kubeconfig-signer"),
        "aggregator-ca": CertificateSpec("aggregator", ONE_DAY, organizational_unit="bootkube"),
        "apiserver-proxy": CertificateSpec("system:kube-apiserver-proxy", ONE_DAY, ("kube-master",), signer="aggregator-ca", usage=CLIENT),
        "aggregator-signer": _ca("aggregator-signer", ONE_DAY),
        "aggregator-client": CertificateSpec(
            "system:kube-apiserver-proxy", ONE_DAY, ("kube-master",), signer="aggregator-signer", usage=CLIENT
        ),
        "kube-apiserver-lb-signer": _ca("kube-apiserver-lb-signer", TEN_YEARS),
        "kube-apiserver-lb-server": _api_server("kube-apiserver-lb-signer", f"api.{cluster_domain}"),
        "kube-apiserver-internal-lb-server": _api_server("kube-apiserver-lb-signer", f"api-int.{cluster_domain}"),
        "kube-apiserver-service-network-signer": _ca("kube-apiserver-service-network-signer", TEN_YEARS),
        "kube-apiserver-service-network-server": _api_server(
            "kube-apiserver-service-network-signer",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "openshift",
            "openshift.default",
            "openshift.default.svc",
            "openshift.default.svc.cluster.local",
            service_address,
        ),
        "kube-apiserver-localhost-signer": _ca("kube-apiserver-localhost-signer", TEN_YEARS),
        "kube-apiserver-localhost-server": _api_server("kube-apiserver-localhost-signer", "localhost", "127.0.0.1"),
        "kube-control-plane-signer": _ca("kube-control-plane-signer", ONE_YEAR),
        "kube-control-plane-kube-controller-manager-client": _admin(ONE_YEAR, "kube-control-plane-signer"),
        "kube-control-plane-kube-scheduler-client": _admin(ONE_YEAR, "kube-control-plane-signer"),
        "kube-apiserver-to-kubelet-signer": _ca("kube-apiserver-to-kubelet-signer", ONE_YEAR),
        "kube-apiserver-to-kubelet-client": CertificateSpec(
            "system:kube-apiserver", ONE_YEAR, ("kube-master",), signer="kube-apiserver-to-kubelet-signer", usage=CLIENT
        ),
        "kubelet-bootstrap-kubeconfig-signer": _ca("kubelet-bootstrap-kubeconfig-signer", TEN_YEARS),
        # The credentials of kubelets before the machine config operator: its service account, as a certificate.
        "kubelet-client": CertificateSpec(
            f"system:serviceaccount:{MACHINE_CONFIG_NAMESPACE}:node-bootstrapper",
            TEN_YEARS,
            (f"system:serviceaccounts:{MACHINE_CONFIG_NAMESPACE}", "system:serviceaccounts"),
            signer="kubelet-bootstrap-kubeconfig-signer",
            usage=CLIENT,
        ),
        "kubelet-signer": _ca("kubelet-signer", ONE_DAY),
        "journal-gatewayd": CertificateSpec(
            "journal-gatewayd", TEN_YEARS, ("OpenShift Bootstrap",), signer="root-ca", usage=(*CLIENT, *SERVER)
        ),
    }


def generate(specs: Mapping[str, CertificateSpec], signers: Mapping[str, KeyPair], now: datetime | None = None) -> dict[str, KeyPair]:
    """Make the pairs in order; a signer is either made before or among ``signers``.

    Raises ``KeyError`` when a signer is in neither. Valid from ``now``, as the real ones: nodes whose clock is behind
    the installer's refuse them.
    """
    not_before = (now or datetime.now(UTC)).replace(microsecond=0)
    made: dict[str, KeyPair] = {}
    for name, spec in specs.items():
        key = rsa.generate_private_key(65537, 2048)
        signer = None if not spec.signer else (made.get(spec.signer) or signers[spec.signer]).loaded
        certificate = _certificate(spec, key, signer, not_before)
        made[name] = KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))
    return made


def private_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def service_account_keys() -> tuple[bytes, bytes]:
    """Return private and public PEM of a key that signs service account tokens."""
    key = rsa.generate_private_key(65537, 2048)
    # Not PKCS#1: kube-apiserver reads public keys as SubjectPublicKeyInfo only.
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private_pem(key), public


def ssh_keys() -> tuple[bytes, bytes]:
    """Return private (PEM) and public (one line) half of the key with which the installer logs in at the bootstrap machine."""
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private_pem(key), public + b"\n"


def bundle(pairs: Iterable[KeyPair]) -> bytes:
    return b"".join(pair.certificate for pair in pairs)


def tls_files(pairs: Mapping[str, KeyPair]) -> dict[str, bytes]:
    """Return what bootstrap.ign has of the pairs below ``/opt/openshift``, by path."""
    published = {name: pair for name, pair in pairs.items() if name not in UNPUBLISHED}
    files = {f"tls/{name}.crt": pair.certificate for name, pair in published.items()}
    files |= {f"tls/{name}.key": pair.key for name, pair in published.items() if name != "root-ca"}
    return files | {f"tls/{name}.crt": bundle(pairs[member] for member in members) for name, members in BUNDLES.items()}


def _certificate(
    spec: CertificateSpec, key: rsa.RSAPrivateKey, signer: tuple[x509.Certificate, rsa.RSAPrivateKey] | None, not_before: datetime
) -> x509.Certificate:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, value) for value in spec.organization]
    if spec.organizational_unit:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, spec.organizational_unit))
    with warnings.catch_warnings():
        # The name of a service account is longer than the 64 characters of X.520; Go accepts it.
        warnings.simplefilter("ignore", UserWarning)
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, spec.common_name, _validate=False))
    subject = x509.Name(attributes)
    issuer_certificate, issuer_key = signer or (None, key)
    issuer_public = issuer_key.public_key()
    is_ca = signer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_certificate.subject if issuer_certificate else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before)
        .not_valid_after(not_before + spec.lifetime)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=True,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=is_ca,
                crl_sign=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_public), critical=False)
    )
    if spec.usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage(spec.usage), critical=False)
    if spec.names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(name) for name in spec.names]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
