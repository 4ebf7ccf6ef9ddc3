"""An unauthorized client on a machine of a cluster.

The machine config server returns the workers' Ignition config, and with it the bootstrap token, to every client. In a real cluster too,
only the network protects that token: the firewall of the nodes, and OpenShift, which blocks 22623 for pods. A program on a machine of the
cluster gets the token, and with it may *file* CSRs for any node name, so each CSR has to be checked before its approval. The demo and the
end-to-end tests file some to test our checks.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import ssl
import urllib.parse
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.testing.observer import REQUESTS, Endpoint, Names

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"


class UnauthorizedClient:
    """A client with the cluster's name and the pointer in ``worker.ign``, at the address of a machine of the cluster."""

    def __init__(self, cluster: str, pointer: Path, names: Names) -> None:
        self.cluster = cluster
        self._names = names
        config = json.loads(pointer.read_text(encoding="utf-8"))
        sources = config["ignition"]["security"]["tls"]["certificateAuthorities"]
        self._pem = "\n".join(data_url(source["source"]).decode() for source in sources)

    def take_bootstrap_kubeconfig(self) -> dict[str, Any]:
        """Return the kubeconfig in the workers' Ignition config of the machine config server."""
        host = f"api-int.{self.cluster}"
        trust = ssl.create_default_context(cadata=self._pem)
        source = next(iter(self._names.addresses(f"nodes.{self.cluster}")), None)
        answer = Endpoint(host, self._names.addresses(host)[0], 22623, trust, source).request("GET", "/config/worker")
        answer.raise_for_status()
        files = {file["path"]: file for file in answer.json()["storage"]["files"]}
        content = data_url(files["/etc/kubernetes/kubeconfig"]["contents"]["source"])
        kubeconfig: dict[str, Any] = yaml.safe_load(content)
        return kubeconfig

    def file(
        self, name: str, node: str, *, serving: bool = False, dns_names: tuple[str, ...] = (), addresses: tuple[str, ...] = ()
    ) -> None:
        """File a certificate signing request called ``name`` of the node ``node``.

        ``serving``: for a serving certificate with these subject alternative names, instead of a client certificate.
        """
        kubeconfig = self.take_bootstrap_kubeconfig()
        server = kubeconfig["clusters"][0]["cluster"]
        ca = base64.b64decode(server["certificate-authority-data"]).decode()
        token = kubeconfig["users"][0]["user"]["token"]
        url = urllib.parse.urlsplit(server["server"])
        host = url.hostname or f"api-int.{self.cluster}"
        endpoint = Endpoint(host, self._names.addresses(host)[0], url.port or 6443, ssl.create_default_context(cadata=ca))
        body = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "signerName": SERVING_SIGNER if serving else CLIENT_SIGNER,
                "request": base64.b64encode(signing_request(node, dns_names, addresses)).decode(),
                "usages": ["digital signature", "server auth" if serving else "client auth"],
            },
        }
        endpoint.request("POST", REQUESTS, token=token, body=body).raise_for_status()


def signing_request(node: str, dns_names: tuple[str, ...] = (), addresses: tuple[str, ...] = ()) -> bytes:
    """Return a PEM request with a new key, as a kubelet files it for ``node``."""
    subject = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"), x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}")]
    )
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    key = ec.generate_private_key(ec.SECP256R1())
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def data_url(source: str) -> bytes:
    """Return the content of a ``data:`` URL (RFC 2397)."""
    header, content = source.removeprefix("data:").split(",", 1)
    return base64.b64decode(content) if header.endswith(";base64") else urllib.parse.unquote_to_bytes(content)
