"""A cluster whose workers are of another architecture than its control plane, each machine with its own images; and one of OKD."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
OKD = {"openshift_distribution": "okd", "openshift_version": "4.20.0-okd-scos.9", "openshift_pull_secret": ""}


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path, speed=600)


def architectures(user: User) -> dict[str, str]:
    return {node["metadata"]["name"]: node["metadata"]["labels"]["kubernetes.io/arch"] for node in user.kube("/api/v1/nodes")["items"]}


def test_workers_of_another_architecture(user: User) -> None:
    with user.at_work():
        arm = {"metal_plan": "c3.large.arm64", "openshift_root_device_hints": {"rotational": False, "minSizeGigabytes": 900}}
        # Read after the inventory that has the pool.
        (user.inventory / "03-arm.yml").write_text(yaml.safe_dump({"worker": {"vars": arm}}), encoding="utf-8")
        user.play("install.yml").ended_well()
        assert user.kube(VERSION)["status"]["desired"]["architecture"] == "Multi"
        assert architectures(user) == {f"master-{n}.{NAME}": "amd64" for n in range(3)} | {f"worker-{n}.{NAME}": "arm64" for n in range(2)}
        assert all(device["ipxe_script_url"].endswith(f"/{device['hostname']}.ipxe") for device in user.devices())
        user.play("install.yml").changed_nothing()
        user.destroy().ended_well()


def test_okd(user: User) -> None:
    with user.at_work():
        mirror = user.sandbox.environment["OPENSHIFT_MIRROR_URL"].replace("openshift-v4", "okd/releases/download")
        settings = {**OKD, "openshift_mirror_url": mirror}
        path = user.inventory / "03-okd.yml"
        path.write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")
        user.play("install.yml").ended_well()
        assert user.nodes() == ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
        version = user.kube(VERSION)["status"]["desired"]
        assert version["version"] == OKD["openshift_version"]
        assert version["image"].startswith("quay.io/okd/scos-release@sha256:")
        user.play("install.yml").changed_nothing()
        user.leaves_nothing()
