"""Clusters of other sizes, architectures and distributions than the example: each from install to destroy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

ARM = {"metal_plan": "c3.large.arm64", "openshift_root_device_hints": {"rotational": False, "minSizeGigabytes": 900}}
OKD = {"openshift_distribution": "okd", "openshift_version": "4.20.0-okd-scos.9", "openshift_pull_secret": ""}


def write_inventory(user: User, control_plane: int, workers: int, pool: dict[str, Any]) -> None:
    path = user.inventory / "01-cluster.yml"
    desired = yaml.safe_load(path.read_text(encoding="utf-8"))
    groups = desired["openshift"]["children"]
    groups["control_plane"]["hosts"] = {f"master-{number}": None for number in range(control_plane)}
    groups["workers"]["children"]["worker"]["hosts"] = {f"worker-{number}": None for number in range(workers)}
    path.write_text(yaml.safe_dump(desired), encoding="utf-8")
    # Read after the inventory that has the pool.
    (user.inventory / "03-pool.yml").write_text(yaml.safe_dump({"worker": {"vars": pool}}), encoding="utf-8")


@pytest.mark.parametrize(
    ("control_plane", "workers", "pool"),
    [
        pytest.param(1, 0, {}, id="one control plane machine"),
        pytest.param(3, 0, {}, id="compact"),
        pytest.param(3, 2, ARM, id="workers of another architecture"),
    ],
)
def test_topology(tmp_path: Path, control_plane: int, workers: int, pool: dict[str, Any]) -> None:
    user = User(tmp_path, speed=600)
    masters = [f"master-{number}" for number in range(control_plane)]
    with user.at_work():
        write_inventory(user, control_plane, workers, pool)
        user.play("install.yml").ended_well()
        assert user.nodes() == [*masters, *(f"worker-{number}" for number in range(workers))]
        nodes = {each["metadata"]["name"]: each for each in user.kube("/api/v1/nodes")["items"]}
        architectures = {name.partition("-")[0]: each["metadata"]["labels"]["kubernetes.io/arch"] for name, each in nodes.items()}
        assert architectures == {"master": "amd64"} | ({"worker": "arm64"} if workers else {})
        assert all(device["ipxe_script_url"].endswith(f"/{device['hostname']}.ipxe") for device in user.devices())
        for name in masters:
            node = nodes[f"{name}.{NAME}"]
            # Without workers the control plane runs workloads, and *.apps leads to it.
            assert ("node-role.kubernetes.io/worker" in node["metadata"]["labels"]) is not bool(workers)
            assert any(taint["key"] == "node-role.kubernetes.io/master" for taint in node["spec"].get("taints", [])) is bool(workers)
        targets = [device for device in user.devices() if device["hostname"].startswith("worker" if workers else "master")]
        addresses = {entry["address"] for device in targets for entry in device["ip_addresses"] if entry["public"]}
        # Those that run routers, by default two.
        routers = user.names_in_zone()[f"*.apps.{NAME}. A"]
        assert routers and set(routers) <= addresses
        etcd = user.kube("/apis/operator.openshift.io/v1/etcds/cluster")["status"]["conditions"]
        members = next(each["message"] for each in etcd if each["type"] == "EtcdMembersAvailable")
        assert f"{control_plane} members are available" in members
        user.play("install.yml").changed_nothing()
        user.leaves_nothing()


def test_okd(tmp_path: Path) -> None:
    user = User(tmp_path, speed=600)
    with user.at_work():
        mirror = user.sandbox.environment["OPENSHIFT_MIRROR_URL"].replace("openshift-v4", "okd/releases/download")
        settings = {**OKD, "openshift_mirror_url": mirror}
        (user.inventory / "03-okd.yml").write_text(yaml.safe_dump({"all": {"vars": settings}}), encoding="utf-8")
        user.play("install.yml").ended_well()
        version = user.kube("/apis/config.openshift.io/v1/clusterversions/version")["status"]["desired"]
        assert version["version"] == OKD["openshift_version"]
        assert version["image"].startswith("quay.io/okd/scos-release@sha256:")
        user.play("install.yml").changed_nothing()
        user.leaves_nothing()
