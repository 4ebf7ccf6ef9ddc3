"""Devices whose host names were changed at the Metal API.

Host names are labels: the id of a device is its identity. No run orders another device for a renamed one, or deletes it. All cases of the
rule are in tests/unit/plugins/module_utils/test_node_identity.py, what is written on Nodes in test_node_ownership.py there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE, PROVIDER
from tests.e2e.harness import NAME, User

pytestmark = [pytest.mark.e2e, pytest.mark.long]

NODES = ["master-0", "worker-0", "worker-1"]
# The sandbox is fast: most of the time would be spent between two polls.
CHOICES = "all: {vars: {openshift_wait_interval: 1, cluster_stable_for: 5, openshift_progress_interval: 2}}\n"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("device-names"), speed=600)
    with user.at_work():
        (user.inventory / "03-choices.yml").write_text(CHOICES, encoding="utf-8")
        user.edit_workers(1)
        desired = user.inventory / "01-cluster.yml"
        desired.write_text(desired.read_text(encoding="utf-8").replace("master-[0:2]", "master-0"), encoding="utf-8")
        user.play("install.yml", timeout=1800).ended_well()
        yield user


def recorded(user: User, name: str) -> tuple[str, str]:
    """The device in the annotation of a Node, and in its providerID."""
    found = user.kube(f"/api/v1/nodes/{name}.{NAME}")
    return found["metadata"].get("annotations", {}).get(DEVICE, ""), found["spec"].get("providerID", "").removeprefix(PROVIDER)


def ids(user: User) -> dict[str, str]:
    """Ids of the devices by short name."""
    return {device["hostname"].removesuffix(f".{NAME}"): str(device["id"]) for device in user.devices()}


def rename(user: User, device: str, name: str) -> None:
    user.ask("PUT", f"devices/{device}", json={"hostname": f"{name}.{NAME}"})


def test_each_node_names_its_device(user: User) -> None:
    existing = ids(user)
    assert {name: recorded(user, name) for name in NODES} == {name: (existing[name], existing[name]) for name in NODES}


@pytest.mark.parametrize("playbook", ["scale.yml", "install.yml", "replace.yml"])
def test_a_renamed_device_is_refused_before_anything_is_ordered(user: User, playbook: str) -> None:
    device = ids(user)["worker-1"]
    rename(user, device, "gpu-box-7")
    try:
        chosen = ["-e", "openshift_replace=worker-0"] if playbook == "replace.yml" else ["-e", "openshift_least_workers=1"]
        run = user.play(playbook, *chosen, timeout=1200)
        assert run.code not in {0, -9}, run.tail
        assert f"device {device} of node worker-1.{NAME} is named gpu-box-7.{NAME} at the Metal API" in run.flat
        assert f"metal_device -a 'id={device} hostname=worker-1.{NAME}'" in run.flat
        # Its lock is a virtual network.
        assert [request for request in run.writes if "/devices" in request["path"]] == []
        status = user.play("status.yml")
        assert f"its device {device} is named gpu-box-7.{NAME} at the Metal API" in status.flat
        assert ids(user)["gpu-box-7"] == device
        assert recorded(user, "worker-1") == (device, device)
        assert user.nodes() == NODES
    finally:
        rename(user, device, "worker-1")
