"""install.yml ends right after each of its writes at the Metal API; what it left is continued, and destroyed.

The march is long; the first object of a cluster in a VLAN is tried in `make test`. A lost folder is restored from object storage.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.boot_files.methods import Method, object_storage
from tests.e2e.harness import NAME, End, Moment, Run, User
from tests.e2e.kills import make_small
from tests.e2e.test_networks import layer2_inventory

pytestmark = pytest.mark.e2e

WRITES = {"method": "POST|PUT|PATCH|DELETE", "path": "/metal/v1/(?!capacity|virtual-networks/)"}
"""Without the renewals of the cluster lock, whose number follows from the time that a run takes, and without its deletion."""
STATE = {"openshift_state_store": "object_storage", "openshift_state_password": "pl4nted password of the archive"}
BALANCER = {
    "openshift": {"children": {"load_balancer": {"hosts": {"balancer-0": {}}}}},
    "all": {"vars": {"openshift_load_balancer": "haproxy"}},
}
NETWORKS: dict[str, dict[str, Any]] = {
    "layer3": {},
    "vlan": layer2_inventory({"openshift_vlan_gateway": "public", "openshift_vlan_gateway_size": 16}),
    "haproxy": BALANCER,
}
MOST_WRITES = 200
"""Runs after which a march has failed: each has to write something that the one before has not."""
LOCK = 1
"""Writes of a run before it does anything: it takes the cluster lock."""


class Marcher(User):
    """A user with the smallest cluster in one network, whose folder is also saved in a bucket."""

    bucket: Method

    def stopped_after(self, writes: int) -> Run | None:
        """Kill an install as soon as it sends another write, which has no effect; None if it ends well before that."""
        fault = self.sandbox.call("POST", "faults", json={**WRITES, "skip": writes, "status": 503})["id"]

        def is_met(_user: User) -> bool:
            return any(each["id"] == fault and each["hits"] > writes for each in self.sandbox.call("GET", "faults")["faults"])

        try:
            run = self.play("install.yml", kill=Moment("cluster_lock", end=End.KILLED, once=is_met))
        finally:
            self.sandbox.call("DELETE", "faults")
        if not run.cut:
            run.ended_well()
            return None
        return run

    def lose_folder(self) -> None:
        shutil.rmtree(self.cluster.parent, ignore_errors=True)

    def has_nothing(self) -> None:
        """Assert that nothing is left of the cluster: no object, no record, no file, no archive."""
        assert self.sandbox.inventory_is_empty()
        assert not self.cluster.exists()
        assert not [name for name in self.bucket.objects if "/state/" in name]
        assert not [name for name in self.names_in_zone() if f"{NAME}. A" in name]


@pytest.fixture
def marcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Marcher]:
    user = Marcher(tmp_path / "user", speed=1200)
    user.folder.mkdir()
    with user.at_work(), object_storage(user.cluster, tmp_path / "workspace") as user.bucket:
        make_small(user, timeout=20)
        (user.inventory / "03-network.yml").write_text(yaml.safe_dump(NETWORKS[request.param]), encoding="utf-8")
        # Boot files stay on the controller.
        bucket = {name: value for name, value in user.bucket.variables.items() if name != "openshift_publish"}
        (user.inventory / "04-store.yml").write_text(yaml.safe_dump({"all": {"vars": {**STATE, **bucket}}}), encoding="utf-8")
        yield user
        user.sandbox.call("DELETE", "faults")
        user.destroy().ended_well()


@pytest.mark.parametrize("marcher", ["vlan"], indirect=True)
def test_the_first_object_is_continued_and_destroyed(marcher: Marcher) -> None:
    """The first object is the lock, the second one the VLAN: nothing else is of the cluster, and there are no Ignition files."""
    assert marcher.stopped_after(LOCK + 1)
    networks = [each["tags"] for each in marcher.sandbox.inventory()["virtual_networks"]]
    assert sorted("openshift-role=lock" in tags for tags in networks) == [False, True]
    assert not (marcher.cluster / "ignition").exists()

    # From the same folder: past the VLAN, to the block of its gateway.
    assert marcher.stopped_after(LOCK)
    refused = [each["path"] for each in marcher.sandbox.journal() if each["method"] == "POST" and each["status"] == 503]
    assert [path.rpartition("/")[2] for path in refused[-1:]] == ["ips"]
    assert not (marcher.cluster / "ignition").exists()

    # From an empty one.
    marcher.lose_folder()
    marcher.destroy().ended_well()
    marcher.has_nothing()


@pytest.mark.long
@pytest.mark.parametrize("marcher", NETWORKS, indirect=True)
def test_an_install_is_destroyed_after_each_write(marcher: Marcher) -> None:
    for writes in range(1, MOST_WRITES):
        if marcher.stopped_after(writes) is None:
            return
        if writes % 2:
            marcher.lose_folder()
        marcher.destroy().ended_well()
        marcher.has_nothing()
    raise AssertionError(f"an install has more than {MOST_WRITES} writes")


@pytest.mark.long
@pytest.mark.parametrize("marcher", NETWORKS, indirect=True)
def test_an_install_is_continued_after_each_write(marcher: Marcher) -> None:
    for number in range(MOST_WRITES):
        if marcher.stopped_after(LOCK + 1 if number else LOCK) is None:
            break
        # While no device boots from it.
        if number % 2 and not marcher.devices():
            marcher.lose_folder()
    else:
        raise AssertionError(f"an install did not end well in {MOST_WRITES} runs")
    assert marcher.nodes() == ["master-0"]
    marcher.play("install.yml").changed_nothing()
