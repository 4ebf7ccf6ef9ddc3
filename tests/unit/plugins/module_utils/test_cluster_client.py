"""The client of the cluster's API, as far as no server is needed."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.cluster import ClusterClient


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


def kubeconfig(folder: Path, certificate: bytes, key: bytes) -> Path:
    def data(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {"server": "https://api.demo.metal.test:6443", "certificate-authority-data": data(certificate)},
                    }
                ],
                "users": [{"name": "admin", "user": {"client-certificate-data": data(certificate), "client-key-data": data(key)}}],
                "contexts": [{"name": "admin", "context": {"cluster": "c", "user": "admin"}}],
                "current-context": "admin",
            }
        )
    )
    return path


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
