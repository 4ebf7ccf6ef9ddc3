"""Devices whose host names were changed at the Metal API. The tests build on each other's world, in this order.

Host names are labels: the id of a device is its identity. No run orders another device for a renamed one, or deletes it. All cases of the
rule are in tests/unit/plugins/module_utils/test_node_identity.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.kubernetes_objects import DEVICE, PROVIDER
from tests.e2e.harness import NAME, Run, User

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


def node(user: User, name: str) -> dict[str, Any]:
    found: dict[str, Any] = user.kube(f"/api/v1/nodes/{name}.{NAME}")
    return found


def recorded(user: User, name: str) -> tuple[str, str]:
    """The device in the annotation of a Node, and in its providerID."""
    found = node(user, name)
    return found["metadata"].get("annotations", {}).get(DEVICE, ""), found["spec"].get("providerID", "").removeprefix(PROVIDER)


def ids(user: User) -> dict[str, str]:
    """Ids of the devices by short name."""
    return {device["hostname"].removesuffix(f".{NAME}"): str(device["id"]) for device in user.devices()}


def rename(user: User, device: str, name: str) -> None:
    user.ask("PUT", f"devices/{device}", json={"hostname": f"{name}.{NAME}"})


def scale(user: User, *arguments: str) -> Run:
    return user.play("scale.yml", "-e", "openshift_least_workers=1", *arguments, timeout=1200)


def flat(run: Run) -> str:
    return " ".join(run.output.split())


def writes_to_devices(run: Run) -> list[dict[str, Any]]:
    return [request for request in run.writes if "/devices" in request["path"]]


def refused(run: Run, *texts: str) -> None:
    """It failed with these words, and wrote to no device. Its lock is a virtual network."""
    assert run.code not in {0, -9}, run.tail
    assert "Traceback" not in run.output
    for text in texts:
        assert text in flat(run), f"{text!r} is not in:\n{run.tail}"
    assert writes_to_devices(run) == []


def test_each_node_names_its_device(user: User) -> None:
    existing = ids(user)
    assert {name: recorded(user, name) for name in NODES} == {name: (existing[name], existing[name]) for name in NODES}


@pytest.mark.parametrize("playbook", ["scale.yml", "install.yml", "replace.yml"])
def test_a_renamed_device_is_refused_before_anything_is_ordered(user: User, playbook: str) -> None:
    device = ids(user)["worker-1"]
    rename(user, device, "gpu-box-7")
    try:
        chosen = ["-e", "openshift_replace=worker-0"] if playbook == "replace.yml" else ["-e", "openshift_least_workers=1"]
        refused(
            user.play(playbook, *chosen, timeout=1200),
            f"device {device} of node worker-1.{NAME} is named gpu-box-7.{NAME} at the Metal API",
            f"metal_device -a 'id={device} hostname=worker-1.{NAME}'",
        )
        status = user.play("status.yml")
        assert f"its device {device} is named gpu-box-7.{NAME} at the Metal API" in flat(status)
        assert ids(user)["gpu-box-7"] == device
        assert recorded(user, "worker-1") == (device, device)
        assert user.nodes() == NODES
    finally:
        rename(user, device, "worker-1")


def test_a_device_that_was_renamed_back_is_as_before(user: User) -> None:
    run = scale(user).ended_well()
    assert (run.changed, run.writes) == (0, [])


def test_devices_that_have_swapped_their_names_are_refused(user: User) -> None:
    """By name each Node would be recorded for the other device, and the removal of one would delete the other."""
    existing = ids(user)
    rename(user, existing["worker-0"], "worker-1")
    rename(user, existing["worker-1"], "worker-0")
    user.edit_workers(0)
    refused(
        scale(user),
        f"device {existing['worker-0']} of node worker-0.{NAME} is named worker-1.{NAME}",
        f"device {existing['worker-1']} of node worker-1.{NAME} is named worker-0.{NAME}",
    )
    user.edit_workers(1)
    assert {name: recorded(user, name)[0] for name in ("worker-0", "worker-1")} == {
        name: existing[name] for name in ("worker-0", "worker-1")
    }
    for name in ("worker-0", "worker-1"):
        rename(user, existing[name], name)


def test_an_annotation_that_is_missing_is_written_again(user: User) -> None:
    changed = node(user, "worker-1")
    device = changed["metadata"]["annotations"].pop(DEVICE)
    user.kube(f"/api/v1/nodes/worker-1.{NAME}", "PUT", changed)
    assert recorded(user, "worker-1") == ("", device)
    # Its providerID still names the device: a new name is no new identity.
    rename(user, device, "gpu-box-7")
    refused(scale(user), f"device {device} of node worker-1.{NAME} is named gpu-box-7.{NAME} at the Metal API")
    rename(user, device, "worker-1")
    run = scale(user).ended_well()
    assert writes_to_devices(run) == []
    assert recorded(user, "worker-1") == (device, device)


def test_a_device_that_was_deleted_and_ordered_again_has_a_node_of_its_own(user: User) -> None:
    before = ids(user)["worker-1"]
    registered = node(user, "worker-1")["metadata"]["uid"]
    user.ask("DELETE", f"devices/{before}")
    run = scale(user).ended_well()
    after = ids(user)["worker-1"]
    assert after != before
    assert recorded(user, "worker-1") == (after, after)
    assert node(user, "worker-1")["metadata"]["uid"] != registered
    assert user.nodes() == NODES
    assert "3 nodes, 3 Ready" in flat(run)
