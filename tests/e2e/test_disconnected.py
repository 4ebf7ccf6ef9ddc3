"""Installs without the internet: through a proxy, and with a mirror registry alone, which lacks an image at first."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.openshift.installer import catalogue
from sandbox.openshift.registry import CATALOG_REPOSITORY
from tests.e2e.harness import NAME, Run, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

QUAY = "quay.io/openshift-release-dev"


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path, speed=600)


def configure(user: User, settings: Mapping[str, Any]) -> None:
    (user.inventory / "03-network.yml").write_text(yaml.safe_dump({"all": {"vars": dict(settings)}}), encoding="utf-8")


def requests(user: User, service: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = user.sandbox.call("GET", "journal", params={"service": service})["journal"]
    return found


def check_mirrors(user: User, *arguments: str) -> Run:
    """Run the check of the mirrors, which has to end well."""
    run = user.play("playbooks/mirror.yml", *arguments).ended_well()
    # Ansible wraps the line.
    assert "container images are there" in run.flat
    return run


def test_an_install_with_no_way_out_but_a_proxy(user: User) -> None:
    with user.at_work():
        user.sandbox.call("PATCH", "settings", json={"outside": {"open": False, "proxy_login": True}})
        url = user.sandbox.environment["OPENSHIFT_PROXY_URL"]
        ca = Path(user.sandbox.environment["SANDBOX_PUBLIC_CA_FILE"])
        # The controller of this test has no public CA of the sandbox, as little as one whose proxy decrypts.
        proxy = {"httpProxy": url, "httpsProxy": url, "noProxy": ".metal.test"}
        configure(user, {"openshift_proxy": proxy, "openshift_trust_bundle": str(ca)})
        check_mirrors(user)
        again = check_mirrors(user, "--check")
        assert (again.changed, again.writes) == (0, [])
        run = user.play("install.yml").ended_well()
        assert url.partition("@")[0] not in run.output
        passed = requests(user, "proxy")
        assert {(each["method"], each["path"], each["status"]) for each in passed} == {("CONNECT", "quay.io:443", 200)}
        # The controller, the bootstrap machine, three control plane machines and two workers.
        assert len({each["who"] for each in passed}) == 7
        status = user.kube("/apis/config.openshift.io/v1/proxies/cluster")["status"]
        assert {".metal.test", f"api-int.{NAME}", "172.30.0.0/16"} <= set(status["noProxy"].split(","))
        user.destroy().ended_well()


CATALOG = "cs-redhat-operator-index-v4-20"


def catalog_source(mirror: str, tag: str) -> str:
    """Return a CatalogSource as ``oc mirror`` writes it."""
    return json.dumps(
        {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "CatalogSource",
            "metadata": {"name": CATALOG, "namespace": "openshift-marketplace"},
            "spec": {"image": f"{mirror}/{CATALOG_REPOSITORY}:{tag}", "sourceType": "grpc"},
        }
    )


def test_an_install_from_a_mirror_alone(user: User) -> None:
    with user.at_work():
        user.sandbox.call("PATCH", "settings", json={"outside": {"open": False}})
        mirror = user.sandbox.environment["OPENSHIFT_MIRROR_REGISTRY"]
        settings = {
            "openshift_image_digest_sources": [
                {"source": f"{QUAY}/ocp-release", "mirrors": [f"{mirror}/openshift/release-images"]},
                {"source": f"{QUAY}/ocp-v4.0-art-dev", "mirrors": [f"{mirror}/openshift/release"]},
            ],
            "openshift_trust_bundle": user.sandbox.environment["METAL_API_CA_FILE"],
            "openshift_default_catalogs": False,
        }
        configure(user, {**settings, "openshift_manifests": [catalog_source(mirror, "v3.11")]})
        version = catalogue.newest("4.20")
        user.sandbox.call("POST", "mirror-registry/remove", json={"version": version, "component": "rhel-coreos"})
        lacking = user.play("playbooks/mirror.yml")
        assert lacking.code != 0
        assert f"{mirror}/openshift/release does not serve rhel-coreos: manifest unknown" in lacking.output
        assert f"-a PULL_SECRET_FILE {catalogue.release(version, 'x86_64').os_image}" in lacking.output
        catalog = f"{mirror}/{CATALOG_REPOSITORY} does not serve catalogue {CATALOG}: manifest unknown"
        assert catalog in lacking.output
        refused = user.play("install.yml")
        assert refused.code != 0
        assert catalog in refused.flat
        assert refused.changes == []
        configure(user, {**settings, "openshift_manifests": [catalog_source(mirror, "v4.20")]})
        # Without that check the install waits for the image, and the report names the check.
        failed = user.play("install.yml", "-e", "cluster_bootstrap_timeout=10", "-e", "openshift_gather_logs=false")
        assert failed.code != 0
        assert "playbooks/mirror.yml" in failed.output, failed.tail
        # Machines try again, so the next run goes on when the image is there.
        user.sandbox.call("POST", "mirror-registry/restore")
        check_mirrors(user)
        user.play("install.yml").ended_well()
        assert user.kube("/apis/config.openshift.io/v1/operatorhubs/cluster")["spec"] == {"disableAllDefaultSources": True}
        catalogs = user.kube("/apis/operators.coreos.com/v1alpha1/namespaces/openshift-marketplace/catalogsources")["items"]
        assert [each["metadata"]["name"] for each in catalogs] == [CATALOG]
        assert {each["status"] for each in requests(user, "mirror-registry")} >= {200, 401, 404}
        assert requests(user, "outside") == []
        user.destroy().ended_well()
