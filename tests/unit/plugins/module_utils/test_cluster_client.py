"""The client of the cluster's API, as far as no server is needed."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient
from tests.kubeconfigs import write_kubeconfig


def credentials() -> tuple[bytes, bytes]:
    """Return a certificate that signs itself, and its key, both PEM."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "system:admin")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
    plain = serialization.NoEncryption()
    return (
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain),
    )


def kubeconfig(folder: Path, certificate: bytes, key: bytes, server: str = "https://api.demo.metal.test:6443") -> Path:
    encoded, encoded_key = (base64.b64encode(pem).decode() for pem in (certificate, key))
    user = {"client-certificate-data": encoded, "client-key-data": encoded_key}
    return write_kubeconfig(folder / "kubeconfig", {"server": server, "certificate-authority-data": encoded}, user)


def test_keys_are_not_on_the_disk_while_a_module_waits(tmp_path: Path) -> None:
    """A process that is killed deletes nothing: the administrator's key stayed in Ansible's temporary folder. Twice, as in a fork."""
    certificate, key = credentials()
    path, folder = kubeconfig(tmp_path, certificate, key), tmp_path / "temporary"
    folder.mkdir()
    for _client in range(2):
        client = ClusterClient(str(path), directory=str(folder))
        assert list(folder.iterdir()) == []
        assert client.client_certificate() == certificate


def test_a_key_that_is_not_of_the_certificate_is_an_error_of_the_kubeconfig(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    with pytest.raises(CollectionError, match=r"(?i)Cannot use the kubeconfig .*key.values.mismatch"):
        ClusterClient(str(kubeconfig(tmp_path, credentials()[0], credentials()[1])), directory=str(folder))
    assert list(folder.iterdir()) == []


@contextmanager
def listing(number: int) -> Iterator[tuple[str, list[int]]]:
    """A server that lists this many objects, as many in a page as it is asked for, which it notes; with its URL."""
    pages: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            first, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
            pages.append(limit)
            onward = str(first + limit) if first + limit < number else ""
            items = [{"metadata": {"name": str(name)}} for name in range(first, min(first + limit, number))]
            answer = json.dumps({"metadata": {"resourceVersion": "7", "continue": onward}, "items": items}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", pages
        server.shutdown()


def test_certificate_requests_are_read_in_small_pages(tmp_path: Path) -> None:
    """Anybody who may file them may file hundreds, of a megabyte each."""
    with listing(120) as (url, pages):
        client = ClusterClient(str(kubeconfig(tmp_path, *credentials(), server=url)))
        found = [len(items) for items, _version in client.certificate_requests()]
        assert (found, pages) == ([50, 50, 20], [50, 50, 50])
        pages.clear()
        assert len(list(client.nodes())) == 120
        assert pages == [500]
