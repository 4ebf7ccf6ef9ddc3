"""What preflight reads of the mirrors of container images: whether they have the release image that release.txt names."""

import base64
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import images
from sandbox.openshift import registry
from sandbox.openshift.installer import catalogue
from tests.registries import Registries, served

RELEASE = catalogue.release("4.20.33", "x86_64")


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[Registries]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[str]:
    """Serve release.txt as the mirror of the clients does; return its URL."""
    folder = tmp_path / "clients" / "x86_64" / "clients" / "ocp" / RELEASE.version
    folder.mkdir(parents=True)
    (folder / "release.txt").write_text(f"Name:           {RELEASE.version}\n\nPull From: {RELEASE.image}\n", encoding="ascii")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "clients"))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def collect(registries: Registries, clients: str, **settings: Any) -> dict[str, Any]:
    auth = base64.b64encode(":".join(registry.MIRROR_LOGIN).encode()).decode()
    desired = {
        "machines": {"control_plane": [{"role": "control-plane", "architecture": "x86_64"}], "workers": []},
        "bootstrap_over": False,
        "cluster_name": "demo",
        "base_domain": "metal.test",
        "platform": "none",
        "distribution": "ocp",
        "version": RELEASE.version,
        "mirror_url": clients,
        "image_digest_sources": [
            {"source": "quay.io/openshift-release-dev/ocp-release", "mirrors": [f"{registries.mirror}/{registry.RELEASE_REPOSITORY}"]}
        ],
        "pull_secret": json.dumps({"auths": {registries.mirror: {"auth": auth}}}),
        "trust_bundle": registries.private.certificate_file.read_text(encoding="ascii"),
        "timeout": 10,
    }
    return images.collect({**desired, **settings})


def test_catalogues(registries: Registries, clients: str) -> None:
    def catalog(tag: str) -> str:
        spec = {"image": f"{registries.mirror}/{registry.CATALOG_REPOSITORY}:{tag}", "sourceType": "grpc"}
        return json.dumps(
            {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "cs-a"}, "spec": spec}
        )

    assert collect(registries, clients, pull_secret="no json")["catalogs"] == {"names": [], "messages": []}
    assert collect(registries, clients, manifests=[catalog("v4.20")])["catalogs"] == {"names": ["cs-a"], "messages": []}
    (message,) = collect(registries, clients, manifests=[catalog("v3.11")])["catalogs"]["messages"]
    assert message.endswith("does not serve catalogue cs-a: manifest unknown")
    assert "Cannot read the image" in collect(registries, clients, manifests=[catalog("no tag")])["catalogs"]["msg"]
    # The check of the manifests reports these.
    assert "catalogs" not in collect(registries, clients, manifests=["/nonexistent.yml"])


def test_a_mirror_with_and_without_the_release_image(registries: Registries, clients: str) -> None:
    assert collect(registries, clients)["release_image"] == {"image": RELEASE.image, "messages": []}
    registries.removed.set([RELEASE.digest])
    (message,) = collect(registries, clients)["release_image"]["messages"]
    assert message == f"{registries.mirror}/{registry.RELEASE_REPOSITORY} does not serve release image: manifest unknown"


@pytest.mark.parametrize(
    "settings",
    [
        {"image_digest_sources": []},
        {"installer": "/opt/openshift-install"},
        {"bootstrap_over": True},
    ],
)
def test_nothing_is_read_without_need(registries: Registries, clients: str, settings: dict[str, Any]) -> None:
    assert collect(registries, clients, **settings) in ({}, {"catalogs": {"names": [], "messages": []}})
    assert registries.requests == []
