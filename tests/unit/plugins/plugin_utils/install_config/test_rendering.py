"""Settings become an install-config, with further fields of the user's."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.install_config.rendering import InstallConfigError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.install_config.rendering import render as install_config

SETTINGS: dict[str, Any] = {
    "cluster_name": "demo",
    "base_domain": "metal.test",
    "distribution": "ocp",
    "architecture": "aarch64",
    "control_plane_replicas": 3,
    "platform": "none",
    "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
    "service_networks": ["172.30.0.0/16"],
    "machine_networks": ["10.0.0.0/16"],
    "pull_secret": "a secret\n",
    "ssh_public_key": "",
}


def test_what_is_rendered() -> None:
    assert install_config(SETTINGS) == {
        "apiVersion": "v1",
        "metadata": {"name": "demo"},
        "baseDomain": "metal.test",
        "controlPlane": {"name": "master", "architecture": "arm64", "replicas": 3, "platform": {}},
        "compute": [{"name": "worker", "architecture": "arm64", "replicas": 0, "platform": {}}],
        "networking": {
            "networkType": "OVNKubernetes",
            "clusterNetwork": SETTINGS["cluster_networks"],
            "serviceNetwork": ["172.30.0.0/16"],
            "machineNetwork": [{"cidr": "10.0.0.0/16"}],
        },
        "platform": {"none": {}},
        "pullSecret": "a secret",
    }


def test_platform_external() -> None:
    external = SETTINGS | {"platform": "external", "cloud_controller_manager": ""}
    assert install_config(external)["platform"] == {"external": {"platformName": "equinix-metal"}}
    named = {"platform": {"external": {"platformName": "rack"}}}
    with_manager = install_config(external | {"cloud_controller_manager": "External"}, named)["platform"]
    assert with_manager == {"external": {"platformName": "rack", "cloudControllerManager": "External"}}


def test_okd_needs_no_pull_secret_and_keeps_one() -> None:
    okd = SETTINGS | {"distribution": "okd"}
    assert install_config(okd)["pullSecret"] == "a secret"
    assert '"fake"' in install_config(okd | {"pull_secret": ""})["pullSecret"]
    assert "pullSecret" not in install_config(SETTINGS | {"pull_secret": ""})


def test_every_contradiction_is_told_and_no_secret() -> None:
    further = {
        "baseDomain": "other.test",
        "compute": [{"name": "worker", "replicas": 2}],
        "networking": {"serviceNetwork": ["10.9.0.0/16"]},
        "pullSecret": "other words",
        "proxy": {"httpProxy": "http://a:hidden@proxy.test"},
    }
    with pytest.raises(InstallConfigError, match="5 problems") as result:
        install_config(SETTINGS | {"proxy": {"httpProxy": "http://b:hidden@proxy.test"}}, further)
    for path in ("baseDomain", "compute.worker.replicas", "networking.serviceNetwork", "pullSecret", "proxy.httpProxy"):
        assert f") {path} " in str(result.value)
    for secret in ("a secret", "other words", "hidden"):
        assert secret not in str(result.value)
