"""The check of a release's images against registries with TLS, logins, bearer tokens and a proxy."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame import release_images
from sandbox.openshift import registry
from sandbox.openshift.installer import catalogue
from tests.registries import Registries, served

RELEASE = catalogue.release("4.20.33", "x86_64")
QUAY = "quay.io/openshift-release-dev"


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[Registries]:
    with served(tmp_path) as made:
        yield made


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def settings(registries: Registries, release: catalogue.Release = RELEASE, **others: Any) -> dict[str, Any]:
    """Return the settings of an install from the mirror registry."""
    return {
        "image": release.image,
        "sources": [
            {"source": f"{QUAY}/ocp-release", "mirrors": [f"{registries.mirror}/{registry.RELEASE_REPOSITORY}"]},
            {"source": f"{QUAY}/ocp-v4.0-art-dev", "mirrors": [f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"]},
        ],
        "pull_secret": json.dumps({"auths": {registries.mirror: auth(*registry.MIRROR_LOGIN)}}),
        "trust_bundle": registries.private.certificate_file.read_text(encoding="ascii"),
        "proxy": {},
        "timeout": 10,
        "retries": 0,
        "delay": 0,
    } | others


def from_quay(registries: Registries, **others: Any) -> dict[str, Any]:
    """Return the settings of an install through the proxy."""
    registries.is_open = False
    proxy = {"httpsProxy": f"http://127.0.0.1:{registries.proxy.port}"}
    bundle = registries.public.certificate_file.read_text(encoding="ascii")
    secret = json.dumps({"auths": {"quay.io": auth("ada", "word")}})
    return settings(registries, sources=[], proxy=proxy, trust_bundle=bundle, pull_secret=secret) | others


@pytest.mark.parametrize("architecture", ["x86_64", "multi"])
def test_all_images_are_there(registries: Registries, architecture: str) -> None:
    release = catalogue.release("4.20.33", architecture)
    found = release_images.check(settings(registries, release), with_components=True)
    assert found == {"images": 1 + len(release.payload.components), "missing": [], "messages": [], "commands": []}


def test_a_missing_component_and_a_missing_release_image_are_named(registries: Registries) -> None:
    registries.removed.set([RELEASE.payload.components["etcd"]])
    found = release_images.check(settings(registries), with_components=True)
    place = f"{registries.mirror}/{registry.COMPONENT_REPOSITORY}"
    assert found["messages"] == [f"{place} does not serve etcd: manifest unknown"]
    assert found["commands"] == [
        "oc image mirror --keep-manifest-list=true -a PULL_SECRET_FILE "
        f"{QUAY}/ocp-v4.0-art-dev@{RELEASE.payload.components['etcd']} {place}"
    ]
    registries.removed.set([RELEASE.digest])
    found = release_images.check(settings(registries), with_components=True)
    assert found["images"] == 1
    assert found["messages"] == [f"{registries.mirror}/{registry.RELEASE_REPOSITORY} does not serve release image: manifest unknown"]
    assert found["commands"][0].startswith(f"oc adm release mirror --from={RELEASE.image} ")


def test_only_the_release_image_costs_one_request_and_its_challenge(registries: Registries) -> None:
    assert release_images.check(settings(registries), with_components=False)["images"] == 1
    assert [status for _server, _path, status in registries.requests] == [401, 200]


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"trust_bundle": ""}, "CERTIFICATE_VERIFY_FAILED"),
        ({"trust_bundle": "no certificate"}, "the trust bundle has no certificates in PEM format"),
        ({"pull_secret": ""}, "HTTP 401, no login: the pull secret has no entry for 127.0.0.1"),
        ({"pull_secret": None}, "HTTP 401, the login of the pull secret"),
    ],
)
def test_why_a_mirror_cannot_be_asked(registries: Registries, others: dict[str, Any], problem: str) -> None:
    if others == {"pull_secret": None}:
        others = {"pull_secret": json.dumps({"auths": {registries.mirror: auth("mirror", "wrong")}})}
    found = release_images.check(settings(registries, **others), with_components=True)
    assert problem in found["messages"][0]
    assert len(found["messages"]) == 1


def test_through_a_proxy_with_bearer_tokens(registries: Registries, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the controller's environment has is not what the nodes have.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "quay.io")
    found = release_images.check(from_quay(registries), with_components=True)
    assert (found["images"], found["missing"]) == (1 + len(RELEASE.payload.components), [])
    assert ("proxy", "CONNECT quay.io:443", 200) in registries.requests


def test_a_proxy_with_login(registries: Registries) -> None:
    registries.wants_login = True
    (message,) = release_images.check(from_quay(registries), with_components=False)["messages"]
    assert "407 Proxy Authentication Required" in message
    proxy = {"httpsProxy": f"http://sandbox:proxy@127.0.0.1:{registries.proxy.port}"}
    assert release_images.check(from_quay(registries, proxy=proxy), with_components=False)["missing"] == []


def test_components_need_a_login_at_quay(registries: Registries) -> None:
    found = release_images.check(from_quay(registries, pull_secret=""), with_components=True)
    (message,) = found["messages"]
    assert message.startswith(f"{QUAY}/ocp-v4.0-art-dev does not serve ")
    assert message.endswith("HTTP 401, no login: the pull secret has no entry for quay.io")
    assert found["commands"] == []


def test_catalogues_by_tag(registries: Registries) -> None:
    direct = f"{registries.mirror}/{registry.CATALOG_REPOSITORY}"
    mirrors = [{"source": "registry.redhat.io/redhat", "mirrors": [f"{registries.mirror}/redhat"]}]
    asked = {"catalogue a": f"{direct}:v4.20", "catalogue b": "registry.redhat.io/redhat/redhat-operator-index:v4.20"}
    found = release_images.check(settings(registries, additional_images=asked, tag_sources=mirrors), with_components=False)
    assert (found["images"], found["messages"]) == (3, [])
    outside = "registry.redhat.io/redhat/redhat-operator-index:v3.11"
    asked = {"catalogue a": f"{direct}:v3.11", "catalogue b": outside}
    found = release_images.check(settings(registries, additional_images=asked, tag_sources=mirrors), with_components=False)
    assert found["messages"] == [f"{direct} does not serve catalogue a, catalogue b: manifest unknown"]
    assert [each["is_additional"] for each in found["missing"]] == [True, True]
    assert found["commands"] == [f"oc image mirror --keep-manifest-list=true -a PULL_SECRET_FILE {outside} {direct}:v3.11"]


def test_mirrors_of_digests_are_none_of_tags(registries: Registries) -> None:
    repository = registry.mirrored()[registry.CATALOG_REPOSITORY]
    asked = {"catalogue a": f"127.0.0.1:1/redhat/redhat-operator-index@{repository.tags['v4.20']}"}
    mirrors = [{"source": "127.0.0.1:1/redhat", "mirrors": [f"{registries.mirror}/redhat"]}]
    assert release_images.missing_images(settings(registries, additional_images=asked, additional_sources=mirrors)) == []
    (message,) = release_images.missing_images(settings(registries, additional_images=asked, tag_sources=mirrors))
    assert message.startswith("127.0.0.1:1/redhat/redhat-operator-index does not serve catalogue a: ")


def test_content_with_another_digest_is_refused(registries: Registries, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = registry.mirrored()[registry.RELEASE_REPOSITORY]
    monkeypatch.setitem(repository.manifests, RELEASE.digest, repository.manifests[RELEASE.digest] + b" ")
    with pytest.raises(CollectionError, match="its content has another digest"):
        release_images.check(settings(registries), with_components=True)
