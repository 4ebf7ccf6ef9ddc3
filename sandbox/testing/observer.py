"""Reads a cluster from outside: DNS records, and the API with a kubeconfig."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rdatatype
import httpx
import yaml

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@dataclass(frozen=True)
class Names:
    """A client of the sandbox's DNS server."""

    server: str
    port: int

    def addresses(self, name: str) -> list[str]:
        """Return the IPv4 addresses of ``name``, none if it does not exist."""
        answer = dns.query.udp(dns.message.make_query(name, "A"), self.server, port=self.port, timeout=5)
        return [record.address for rrset in answer.answer if rrset.rdtype == dns.rdatatype.A for record in rrset]


@dataclass(frozen=True)
class Endpoint:
    """An HTTPS service of the cluster: connects to ``address``, expects the certificate of ``host``.

    ``source``: address to connect from, that of the computer without it.
    """

    host: str
    address: str
    port: int
    trust: ssl.SSLContext
    source: str | None = None

    def request(self, method: str, path: str, *, token: str | None = None, body: Any = None) -> httpx.Response:
        headers = {"Host": f"{self.host}:{self.port}"} | ({"Authorization": f"Bearer {token}"} if token else {})
        url = f"https://{self.address}:{self.port}{path}"
        transport = httpx.HTTPTransport(verify=self.trust, trust_env=False, local_address=self.source)
        with httpx.Client(transport=transport, timeout=20, trust_env=False) as client:
            try:
                return client.request(method, url, headers=headers, json=body, extensions={"sni_hostname": self.host})
            except httpx.TransportError as error:
                raise type(error)(f"{method} {url} (as {self.host}): {error}") from error

    def lines(self, path: str) -> Iterator[str]:
        """Yield the lines of an answer as they arrive."""
        url, headers = f"https://{self.address}:{self.port}{path}", {"Host": f"{self.host}:{self.port}"}
        with (
            httpx.Client(verify=self.trust, timeout=httpx.Timeout(20, read=None), trust_env=False) as client,
            client.stream("GET", url, headers=headers, extensions={"sni_hostname": self.host}) as answer,
        ):
            answer.raise_for_status()
            yield from answer.iter_lines()


def cluster_api(kubeconfig: Path, path: str, method: str = "GET", body: Any = None) -> Any:
    """Call the cluster's API as the user of ``kubeconfig`` (client certificate) and return the decoded answer."""
    return cluster_response(kubeconfig, path, method, body).raise_for_status().json()


def cluster_response(kubeconfig: Path, path: str, method: str = "GET", body: Any = None) -> httpx.Response:
    """Call the cluster's API as the user of ``kubeconfig`` and return the answer, whatever its status."""
    return _endpoint(kubeconfig).request(method, path, body=body)


def cluster_watch(kubeconfig: Path, path: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, then each new and changed one, until the server ends the watch (after an hour at most)."""
    endpoint = _endpoint(kubeconfig)
    listed = endpoint.request("GET", path).raise_for_status().json()
    yield from listed["items"]
    query = urllib.parse.urlencode({"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": 3600})
    for line in endpoint.lines(f"{path}?{query}"):
        yield json.loads(line)["object"]


def _endpoint(kubeconfig: Path) -> Endpoint:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    server, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    trust = ssl.create_default_context(cadata=base64.b64decode(server["certificate-authority-data"]).decode())
    # ssl reads a client certificate from files only.
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(base64.b64decode(user["client-certificate-data"]) + b"\n" + base64.b64decode(user["client-key-data"]))
        pem.flush()
        trust.load_cert_chain(pem.name)
    url = urllib.parse.urlsplit(server["server"])
    host = server.get("tls-server-name") or str(url.hostname)
    return Endpoint(host, str(url.hostname), url.port or 6443, trust)
