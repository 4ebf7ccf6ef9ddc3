"""An install that is cut off continues in an empty folder, from object storage. With a Secret: tests/state_store/test_cluster.py."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.boot_files.methods import Method, object_storage
from tests.e2e.harness import NAME, End, Moment, User
from tests.ports import may_listen

pytestmark = [pytest.mark.e2e]

PASSWORD = "pl4nted password of the archive"
NODES = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]
REFUSAL = "Not today, says the service"
KEYS = ("ignition/auth/kubeconfig", "ignition/auth/kubeadmin-password", "ignition/metadata.json")


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    if not may_listen(443):
        pytest.skip("needs port 443: root, or the sysctl net.ipv4.ip_unprivileged_port_start")
    user = User(tmp_path_factory.mktemp("store") / "user", speed=1200, vendor_names=True)
    user.folder.mkdir()
    with user.at_work():
        yield user


@pytest.fixture(scope="module")
def bucket(user: User, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Method]:
    """An S3 service, which the inventory names for boot files; the state store is in the same bucket."""
    with object_storage(user.cluster, tmp_path_factory.mktemp("bucket") / "workspace") as method:
        # As in AWX: devices boot from there while no run is at work. An install needs a secret userdata for that.
        choose(user, openshift_state_store="object_storage", openshift_state_password=PASSWORD, **method.variables, **user.userdata)
        yield method


def choose(user: User, **variables: Any) -> None:
    (user.inventory / "03-store.yml").write_text(yaml.safe_dump({"all": {"vars": variables}}), encoding="utf-8")


def keys(user: User) -> dict[str, bytes]:
    return {name: (user.cluster / name).read_bytes() for name in KEYS}


def archives(method: Method) -> list[str]:
    return [name for name in method.objects if name.startswith(f"openshift-state/{NAME}/state/")]


def generations(method: Method) -> list[int]:
    return [int(name.rpartition("/")[2].partition("-")[0]) for name in archives(method)]


def lose_folder(user: User) -> None:
    shutil.rmtree(user.cluster.parent)


def test_a_failed_install_saves_its_folder_and_the_failure_bundle(user: User, bucket: Method) -> None:
    fault = {"method": "POST", "path": "/devices$", "status": 403, "body": json.dumps({"errors": [REFUSAL]})}
    user.sandbox.call("POST", "faults", json=fault)
    failed = user.play("install.yml")
    assert failed.code != 0
    assert REFUSAL in failed.output
    assert PASSWORD not in failed.output
    (bundle,) = user.cluster.parent.glob(f"{NAME}-failed-*.tar.gz")
    assert f"openshift-state/{NAME}/failures/{bundle.name}" in bucket.objects
    assert generations(bucket) == [2, 3]


def infra_id_in(files: dict[str, bytes]) -> str:
    return str(json.loads(files["ignition/metadata.json"])["infraID"])


@pytest.mark.long
def test_an_install_that_is_cut_off_continues_in_an_empty_folder(user: User, bucket: Method) -> None:
    user.sandbox.call("DELETE", "faults")
    cut = user.play("install.yml", kill=Moment("provision", end=End.POWER_CUT, once=lambda user: len(user.devices()) >= 4))
    assert cut.cut
    ordered = {device["hostname"]: device["id"] for device in user.devices()}
    assert len(ordered) >= 4, "bootstrap and control plane"
    before = keys(user)
    lose_folder(user)

    continued = user.play("install.yml").ended_well()
    assert f"(infraID {infra_id_in(before)}, generation" in continued.output
    assert keys(user) == before
    assert user.nodes() == NODES
    kept = {device["hostname"]: device["id"] for device in user.devices()}
    assert {name: kept[name] for name in ordered if name in kept} == {name: ordered[name] for name in ordered if name in kept}
    assert len(archives(bucket)) == 2, "the newest one and the one before"

    stored = archives(bucket)
    user.play("install.yml").changed_nothing()
    assert archives(bucket) == stored


@pytest.mark.long
def test_the_cluster_is_deleted_from_an_empty_folder_with_its_archives(user: User, bucket: Method) -> None:
    lose_folder(user)
    user.leaves_nothing()
    assert archives(bucket) == []
    assert not user.cluster.exists()
    assert [name for name in bucket.objects if "/failures/" in name], "as on the controller, failure bundles are kept"
