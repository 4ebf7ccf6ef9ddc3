"""A cluster whose whole life is jobs of AWX, each in a fresh copy of the project: all that is kept between them is the state store.

The tests of this file build on each other, in this order.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.awx.jobs import Awx, Inventory, Job, imported, without
from tests.boot_files.methods import object_storage
from tests.e2e.harness import NAME, User, until
from tests.ports import may_listen

pytestmark = [pytest.mark.e2e, pytest.mark.long]

# The sandbox is fast: most of the time would be spent between two polls.
CHOICES = {"openshift_wait_interval": 1, "cluster_stable_for": 5, "openshift_progress_interval": 5}


class Cluster:
    """Jobs on one inventory. ``store``: variables of the state store and of where boot files are published."""

    def __init__(self, user: User, awx: Awx, inventory: Inventory, store: dict[str, Any]) -> None:
        self.user, self.awx, self.inventory = user, awx, inventory
        self.extra: dict[str, Any] = {**store, **CHOICES}

    def launch(self, playbook: str, inventory: Inventory | None = None, **survey: Any) -> Job:
        has_survey = playbook != "destroy.yml" or bool(survey)
        return self.awx.run(playbook, inventory or self.inventory, extra=self.extra, survey=survey, has_survey=has_survey)

    def workers(self) -> list[str]:
        return [name for name in self.user.hostnames() if name.startswith("worker")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not may_listen(443):
        pytest.skip("needs port 443: root, or the sysctl net.ipv4.ip_unprivileged_port_start")
    folder = tmp_path_factory.mktemp("awx-cluster")
    user = User(folder / "user", speed=1200, vendor_names=True)
    user.folder.mkdir()
    with user.at_work(), object_storage(user.cluster, tmp_path_factory.mktemp("bucket") / "workspace") as method:
        (folder / "awx").mkdir()
        user.edit_workers(2)
        store = {
            "openshift_state_store": "object_storage",
            "openshift_state_password": "pl4nted password of the archive",
            **method.variables,
            **user.userdata,
        }
        yield Cluster(user, Awx(folder / "awx", user.sandbox), imported(user.inventory / "01-cluster.yml", user.sandbox), store)
        if user.devices():
            user.destroy(timeout=1200).ended_well()


def removed(job: Job) -> list[str]:
    """The devices that the plan of a job removes."""
    return [step["object"] for step in job.artifacts["plan"]["steps"] if (step["verb"], step["kind"]) == ("remove", "device")]


def test_install_in_a_job(cluster: Cluster) -> None:
    """A second job of the cluster is refused or waits while the first one writes."""
    cluster.launch("playbooks/validate.yml").ended_well()
    first = cluster.awx.start("install.yml", cluster.inventory, extra=cluster.extra)
    until(cluster.user.devices, within=600, what="the first job orders devices")
    second = cluster.awx.run(
        "destroy.yml", cluster.inventory, extra=cluster.extra | {"openshift_time_scale": 0.003}, survey={"openshift_destroy_confirm": NAME}
    )
    second.refused("install.yml")
    first.wait(1800).ended_well()
    assert cluster.workers() == ["worker-0", "worker-1", "worker-2"]


def test_nothing_but_the_state_store_is_kept(cluster: Cluster) -> None:
    """A user beside AWX gets the cluster folder from there, as every job does."""
    assert not cluster.user.cluster.exists()
    assert not list(cluster.awx.folder.glob("awx_*"))
    (cluster.user.inventory / "03-store.yml").write_text(yaml.safe_dump({"all": {"vars": cluster.extra}}), encoding="utf-8")
    cluster.user.play("playbooks/approve.yml").ended_well()
    assert len(cluster.user.nodes()) == 6
    job = cluster.launch("install.yml").ended_well()
    assert job.writes == []


def test_a_survey_adds_machines_to_a_pool(cluster: Cluster) -> None:
    cluster.launch("scale.yml", openshift_pool_sizes='{"worker": 4}').ended_well()
    assert cluster.workers() == [f"worker-{number}" for number in range(4)]
    assert len(cluster.user.nodes()) == 7


def test_a_host_that_is_switched_off_in_awx_is_kept(cluster: Cluster) -> None:
    """worker-3 is not in the inventory either: a pool has its size for one launch only."""
    records = cluster.user.names_in_zone()
    job = cluster.launch("scale.yml", without(cluster.inventory, "worker-1")).ended_well()
    for number in (1, 3):
        assert f"worker-{number} is kept: not in the inventory of this job, and not named" in job.flat
    assert cluster.workers() == [f"worker-{number}" for number in range(4)]
    assert cluster.user.names_in_zone() == records
    assert all(not node["spec"].get("unschedulable") for node in cluster.user.kube("/api/v1/nodes")["items"])


def test_a_survey_removes_machines_of_a_pool(cluster: Cluster) -> None:
    plan = cluster.awx.run(
        "scale.yml", cluster.inventory, extra=cluster.extra, survey={"openshift_pool_sizes": "worker=3"}, arguments=["--check"]
    )
    assert "- worker-3 drained first: pool worker has 3 machines (openshift_pool_sizes)" in plan.ended_well().flat
    assert plan.writes == []
    assert removed(plan) == [f"worker-3.{NAME}"]
    cluster.launch("scale.yml", openshift_pool_sizes="worker=3").ended_well()
    assert cluster.workers() == ["worker-0", "worker-1", "worker-2"]


def test_a_worker_in_the_middle_is_removed(cluster: Cluster) -> None:
    """By the list of those that stay. The plan says so before."""
    stay = "worker=worker-0 worker-2"
    plan = cluster.awx.run(
        "scale.yml", cluster.inventory, extra=cluster.extra, survey={"openshift_pool_sizes": stay}, arguments=["--check"]
    ).ended_well()
    assert (plan.writes, removed(plan)) == ([], [f"worker-1.{NAME}"])
    cluster.launch("scale.yml", openshift_pool_sizes=stay).ended_well()
    assert cluster.workers() == ["worker-0", "worker-2"]
    cluster.launch("scale.yml", openshift_pool_sizes="worker=3").ended_well()
    assert cluster.workers() == ["worker-0", "worker-1", "worker-2"]


def test_a_named_worker_is_removed(cluster: Cluster) -> None:
    """Switched off in AWX, so that the inventory of the job does not have it, and named."""
    cluster.launch("scale.yml", without(cluster.inventory, "worker-2"), openshift_remove="worker-2").ended_well()
    assert cluster.workers() == ["worker-0", "worker-1"]


def test_destroy_in_a_job(cluster: Cluster) -> None:
    cluster.launch("destroy.yml").refused(f"openshift_destroy_confirm={NAME}")
    cluster.launch("destroy.yml", openshift_destroy_confirm=NAME).ended_well()
    assert cluster.user.devices() == []
