"""An unauthorized client on a machine of a cluster.

The machine config server returns the workers' Ignition config, and with it the bootstrap token, to every client. In a real cluster too,
only the network protects that token: the firewall of the nodes, and OpenShift, which blocks 22623 for pods. A program on a machine of the
cluster gets the token, and with it may *file* CSRs for any node name, so each CSR has to be checked before its approval. The demo and the
end-to-end tests file some to test our checks.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.parse
from pathlib import Path
from typing import Any

import yaml

from sandbox.machines.ignition import decode_data_url
from sandbox.openshift import pki
from sandbox.openshift.kubelet import CLIENT_SIGNER, SERVING_SIGNER
from sandbox.testing.observer import REQUESTS, Endpoint, Names


class UnauthorizedClient:
    """A client with the cluster's name and the pointer in ``worker.ign``, at the address of a machine of the cluster."""

    def __init__(self, cluster: str, pointer: Path, names: Names) -> None:
        self.cluster = cluster
        self._names = names
        config = json.loads(pointer.read_text(encoding="utf-8"))
        sources = config["ignition"]["security"]["tls"]["certificateAuthorities"]
        self._pem = "\n".join(decode_data_url(source["source"]).decode() for source in sources)

    def take_bootstrap_kubeconfig(self) -> dict[str, Any]:
        """Return the kubeconfig in the workers' Ignition config of the machine config server."""
        host = f"api-int.{self.cluster}"
        trust = ssl.create_default_context(cadata=self._pem)
        source = next(iter(self._names.addresses(f"nodes.{self.cluster}")), None)
        answer = Endpoint(host, self._names.addresses(host)[0], 22623, trust, source).request("GET", "/config/worker")
        answer.raise_for_status()
        files = {file["path"]: file for file in answer.json()["storage"]["files"]}
        content = decode_data_url(files["/etc/kubernetes/kubeconfig"]["contents"]["source"])
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
        request, _key = pki.request(f"system:node:{node}", ["system:nodes"], (*dns_names, *addresses))
        endpoint = Endpoint(host, self._names.addresses(host)[0], url.port or 6443, ssl.create_default_context(cadata=ca))
        body = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "signerName": SERVING_SIGNER if serving else CLIENT_SIGNER,
                "request": base64.b64encode(request).decode(),
                "usages": ["digital signature", "server auth" if serving else "client auth"],
            },
        }
        endpoint.request("POST", REQUESTS, token=token, body=body).raise_for_status()
