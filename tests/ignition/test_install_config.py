"""Variables become an install-config and manifests that a strict installer takes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.openshift.assets import files_of

from .conftest import Role

FIELDS: dict[str, Any] = {
    "openshift_platform": "external",
    "openshift_cloud_controller_manager": "External",
    "openshift_cluster_networks": [{"cidr": "10.132.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
    "openshift_service_networks": ["172.31.0.0/16", "fd02::/112"],
    "openshift_machine_networks": ["10.0.0.0/16", "fd03::/64"],
    "openshift_proxy": {"httpProxy": "http://proxy.test:3128", "httpsProxy": "http://proxy.test:3128", "noProxy": "metal.test"},
    "openshift_image_digest_sources": [{"source": "quay.io/openshift-release-dev/ocp-release", "mirrors": ["mirror.test:5000/ocp"]}],
    "openshift_install_config": {
        "additionalTrustBundlePolicy": "Always",
        "capabilities": {
            "baselineCapabilitySet": "None",
            "additionalEnabledCapabilities": ["Ingress", "CloudCredential", "CloudControllerManager"],
        },
        "cpuPartitioningMode": "AllNodes",
        "featureSet": "TechPreviewNoUpgrade",
        "compute": [{"name": "worker", "hyperthreading": "Disabled"}],
        "networking": {"ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}}},
    },
    "openshift_time_servers": ["ntp1.example.com"],
    "ignition_workers": [{"hostname": "worker-0"}, {"hostname": "worker-1"}],
}
LABELS = {"machineconfiguration.openshift.io/role": "worker"}
OURS = {
    "apiVersion": "machineconfiguration.openshift.io/v1",
    "kind": "MachineConfig",
    "metadata": {"name": "99-worker-ours", "labels": LABELS},
    "spec": {"config": {"ignition": {"version": "3.2.0"}}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "99-worker-ours.yml").write_text(yaml.safe_dump(OURS), encoding="utf-8")
    return path


@pytest.fixture
def strict(role: Role) -> Role:
    """With an installer that takes no field it does not know, as newer ones."""
    role.environment = role.environment | {"SANDBOX_INSTALLER_STRICT": "1"}
    return role


def test_all_fields_and_manifests_reach_the_installer(strict: Role, made: Role, folder: Path) -> None:
    bundle = json.loads((made.files / "worker.ign").read_bytes())["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"]
    ca = files_of({"storage": {"files": [{"path": "ca", "contents": {"source": bundle}}]}})["ca"].decode()

    strict.well(**FIELDS, openshift_trust_bundle=ca, openshift_manifests=[str(folder)])

    files = files_of(json.loads((strict.files / "bootstrap.ign").read_bytes()))
    config_map = yaml.safe_load(files["/opt/openshift/manifests/cluster-config.yaml"])
    config = yaml.safe_load(config_map["data"]["install-config"])
    assert config["platform"] == {"external": {"platformName": "equinix-metal", "cloudControllerManager": "External"}}
    assert config["networking"] == {
        "networkType": "OVNKubernetes",
        "clusterNetwork": FIELDS["openshift_cluster_networks"],
        "serviceNetwork": FIELDS["openshift_service_networks"],
        "machineNetwork": [{"cidr": cidr} for cidr in FIELDS["openshift_machine_networks"]],
        "ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}},
    }
    (worker,) = config["compute"]
    assert (worker["hyperthreading"], worker["replicas"], worker["architecture"]) == ("Disabled", 0, "amd64")
    assert config["additionalTrustBundle"].strip() == ca.strip()
    for field, value in {
        "proxy": FIELDS["openshift_proxy"],
        "imageDigestSources": FIELDS["openshift_image_digest_sources"],
        **{name: value for name, value in FIELDS["openshift_install_config"].items() if name not in ("compute", "networking")},
    }.items():
        assert config[field] == value, field
    assert yaml.safe_load(files["/opt/openshift/openshift/99-worker-ours.yml"]) == OURS
    scheduler = yaml.safe_load(files["/opt/openshift/manifests/cluster-scheduler-02-config.yml"])
    assert scheduler["spec"]["mastersSchedulable"] is False
    assert files["/etc/chrony.conf"].startswith(b"server ntp1.example.com iburst\n"), "the bootstrap device has the time servers"


@pytest.mark.parametrize(
    "chosen",
    [
        {"openshift_install_config": {"osImageStream": "rhel-10"}},
        {"openshift_install_config": {"compute": [{"name": "worker", "osImageStream": "rhel-10"}], "osImageStream": "rhel-9"}},
    ],
    ids=["of the cluster", "of a pool"],
)
def test_boot_images_of_another_stream_are_refused(role: Role, chosen: dict[str, Any]) -> None:
    before = (role.files / "bootstrap.ign").read_bytes()
    result = role.refused(**chosen)
    assert "osImageStream in the install-config is rhel-10 (openshift_install_config), but the boot images" in result
    assert (role.files / "bootstrap.ign").read_bytes() == before
