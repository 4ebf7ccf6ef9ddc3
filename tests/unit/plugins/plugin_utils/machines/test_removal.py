"""Which workers outside the inventory are removed: absent does not mean delete."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.removal import Choice, choose_removals, removal_request

END = ".demo.metal.test"


def choose(existing: str, desired: str, **options: Any) -> Choice:
    """Each name is ``worker-0``, or ``infra-0`` of the pool infra."""

    def tags(name: str) -> list[str]:
        pool = name.rpartition("-")[0]
        return ["openshift-role=worker", *([] if pool == "worker" else [f"openshift-pool={pool}"])]

    devices = [{"hostname": name + END, "tags": tags(name)} for name in existing.split()]
    workers = [{"hostname": name + END, "inventory_hostname": name, "pool": name.rpartition("-")[0]} for name in desired.split()]
    masters = [{"hostname": "master-0" + END}]
    return choose_removals(devices, {"control_plane": masters, "workers": workers}, "demo.metal.test", removal_request(options))


def short(names: Any) -> str:
    return " ".join(name.removesuffix(END) for name in names)


def test_at_a_terminal_a_worker_outside_the_inventory_is_removed() -> None:
    choice = choose("worker-0 worker-1 worker-2", "worker-0 worker-1", at_most=5)
    assert (short(choice.removed), choice.kept, choice.blockers) == ("worker-2", {}, [])


def test_in_a_job_an_absent_worker_is_kept() -> None:
    """AWX leaves out disabled hosts and those of other slices."""
    choice = choose("worker-0 worker-1 worker-2", "worker-0", at_most=5, in_job=True)
    assert (choice.removed, short(choice.kept), choice.blockers) == ({}, "worker-1 worker-2", [])


@pytest.mark.parametrize("names", ['["worker-2"]', ["worker-2.demo.metal.test"], "WORKER-2, worker-77"])
@pytest.mark.parametrize("in_job", [True, False])
def test_exactly_the_named_workers_are_removed(names: Any, in_job: bool) -> None:
    choice = choose("worker-0 worker-1 worker-2", "worker-0", names=names, in_job=in_job, at_most=0)
    assert (short(choice.removed), short(choice.kept), choice.blockers) == ("worker-2", "worker-1", [])


def test_a_named_worker_that_the_inventory_has_is_refused() -> None:
    """The next run would create it again."""
    choice = choose("worker-0 worker-1", "worker-0 worker-1", names="worker-1", in_job=True)
    assert not choice.removed
    assert choice.blockers[0].startswith("openshift_remove names worker-1, which is in the inventory")
    choice = choose("worker-0", "worker-0", names="master-0")
    assert choice.blockers == ["openshift_remove names master-0, which is of the control plane. scale.yml removes workers only."]


def test_one_run_removes_a_limited_number() -> None:
    existing = " ".join(f"worker-{number}" for number in range(9))
    choice = choose(existing, "worker-0 worker-1 worker-2", at_most=5)
    assert choice.blockers[0].startswith("6 workers are not in the inventory and would be removed: worker-3.demo.metal.test, ")
    assert choice.blockers[0].endswith("run again with -e openshift_remove_at_most=6.")
    assert choose(existing, "worker-0 worker-1 worker-2", at_most=6).blockers == []


@pytest.mark.parametrize("in_job", [True, False])
def test_a_pool_that_is_missing_as_a_whole_is_not_removed(in_job: bool) -> None:
    """The source of its hosts may have failed."""
    choice = choose("worker-0 infra-0 infra-1", "worker-0", at_most=5, in_job=in_job)
    assert not choice.removed
    if not in_job:
        assert choice.blockers[0].endswith("run again with -e openshift_remove=infra-0,infra-1.")
    assert short(choose("worker-0 infra-0 infra-1", "worker-0", names=["infra-0", "infra-1"]).removed) == "infra-0 infra-1"


@pytest.mark.parametrize("in_job", [True, False])
def test_the_size_of_a_pool_removes_its_highest_numbers(in_job: bool) -> None:
    choice = choose(
        "worker-0 worker-1 worker-2 worker-3 infra-0", "worker-0 worker-1 infra-0", sizes={"worker": 2}, at_most=0, in_job=in_job
    )
    assert (short(choice.removed), choice.kept, choice.blockers) == ("worker-2 worker-3", {}, [])
    assert set(choice.removed.values()) == {"pool worker has 2 machines (openshift_pool_sizes)"}


def test_the_size_of_a_pool_removes_nothing_below_its_numbers() -> None:
    """In AWX the first host was disabled, so that the pool's numbers seem to begin with 1."""
    choice = choose("worker-0 worker-1 worker-2", "worker-1 worker-2 worker-3", sizes="worker=3", in_job=True)
    assert not choice.removed
    assert choice.blockers[0].startswith(
        "worker-0.demo.metal.test of pool worker exists, but the hosts of this pool are worker-1, worker-2"
    )


@pytest.mark.parametrize("in_job", [True, False])
def test_a_list_of_a_pool_removes_what_it_does_not_have(in_job: bool) -> None:
    """In the middle too; other pools are left alone."""
    choice = choose(
        "worker-0 worker-1 worker-2 infra-0", "worker-0 worker-2 infra-0", sizes="worker=worker-0 worker-2", at_most=0, in_job=in_job
    )
    assert (short(choice.removed), choice.kept, choice.blockers) == ("worker-1", {}, [])
    assert set(choice.removed.values()) == {"pool worker has the hosts worker-0, worker-2 (openshift_pool_sizes)"}


def test_a_named_host_of_the_inventory_is_removed_by_a_list() -> None:
    choice = choose("worker-0 worker-1 worker-2 infra-0", "worker-0 worker-1 worker-2 infra-0", names=["worker-1"])
    assert not choice.removed
    assert choice.blockers[0].endswith("""the hosts of its pool that stay: openshift_pool_sizes='{"worker": ["worker-0", "worker-2"]}'.""")


def test_a_pool_of_no_machines() -> None:
    assert short(choose("worker-0 infra-0 infra-1", "worker-0", sizes={"infra": 0}, in_job=True).removed) == "infra-0 infra-1"
    foreign = choose("worker-0 infra-0", "worker-0", sizes={"infra": 0})
    assert not foreign.blockers
