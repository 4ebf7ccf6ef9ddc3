"""The hosts of pools whose sizes are given, as numbers or as names."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import CollectionError
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.pools import parse_sizes, pool_hosts


def groups(**pools: str) -> dict[str, list[str]]:
    found = {pool: names.split() for pool, names in pools.items()}
    workers = [name for names in found.values() for name in names]
    masters = ["master-0", "master-1", "master-2"]
    everything = {"all": [*masters, *workers, "bootstrap-0"], "ungrouped": [], "control_plane": masters, "bootstrap": ["bootstrap-0"]}
    return {**everything, "openshift": everything["all"], "workers": workers, **found}


@pytest.mark.parametrize("given", [None, "", {}])
def test_no_sizes(given: Any) -> None:
    assert pool_hosts(groups(worker="worker-0 worker-1"), given) == {"added": [], "workers": ["worker-0", "worker-1"]}


@pytest.mark.parametrize("given", [{"worker": "three"}, {"worker": -1}, {"worker": True}, "worker", "[3]"])
def test_what_is_no_size(given: Any) -> None:
    with pytest.raises(CollectionError, match="worker"):
        parse_sizes(given)


@pytest.mark.parametrize(
    "given",
    [
        {"worker": ["worker-0", "worker-2"], "storage": 1},
        '{"worker": ["worker-0", "worker-2"], "storage": "1"}',
        "worker=worker-0 worker-2, storage=1",
    ],
)
def test_names_of_a_mapping_of_json_and_of_text(given: Any) -> None:
    assert parse_sizes(given) == {"worker": ("worker-0", "worker-2"), "storage": 1}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"worker": ["worker-0", "worker-0"]}, "pool worker: worker-0 is listed twice"),
        ({"worker": ["worker 0"]}, "'worker 0' is no name of a host"),
        ("worker-0 worker-2", "nor its hosts: write it as"),
    ],
)
def test_what_are_no_names(given: Any, words: str) -> None:
    with pytest.raises(CollectionError, match=words):
        parse_sizes(given)


def test_a_list_has_the_hosts_that_stay() -> None:
    """Also a host in the middle is left out, and one that AWX has left out is added."""
    known = groups(worker="worker-0 worker-1 worker-2", infra="infra-0")
    found = {"added": [], "workers": ["worker-0", "worker-2", "infra-0"]}
    assert pool_hosts(known, {"worker": ["worker-0", "worker-2"]}) == pool_hosts(known, "worker=worker-2 worker-0") == found
    assert pool_hosts(groups(worker="worker-0 worker-1"), "worker=worker-0 worker-2") == {
        "added": added("worker-2"),
        "workers": ["worker-0", "worker-2"],
    }
    assert pool_hosts(known, {"worker": []}) == {"added": [], "workers": ["infra-0"]}
    assert pool_hosts(groups(worker="alpha beta gamma"), "worker=alpha gamma") == {"added": [], "workers": ["alpha", "gamma"]}


@pytest.mark.parametrize("name", ["worker-00", "wroker-2"])
def test_a_list_orders_no_machine_of_another_name(name: str) -> None:
    words = rf"pool worker: {name} is none of its hosts \(worker-0, worker-1\), and not of the form worker-0"
    with pytest.raises(CollectionError, match=words):
        pool_hosts(groups(worker="worker-0 worker-1"), {"worker": ["worker-0", name]})


def added(*names: str, group: str = "worker") -> list[dict[str, str]]:
    return [{"name": name, "group": group} for name in names]


def test_a_larger_pool_gets_the_next_numbers() -> None:
    found = pool_hosts(groups(worker="worker-0 worker-1", infra="infra-0"), {"worker": 4})
    assert found == {"added": added("worker-2", "worker-3"), "workers": ["worker-0", "worker-1", "infra-0", "worker-2", "worker-3"]}


def test_a_smaller_pool_loses_the_highest_numbers() -> None:
    found = pool_hosts(groups(worker="worker-2 worker-10 worker-0 worker-1", infra="infra-0"), {"worker": 3})
    assert found == {"added": [], "workers": ["worker-2", "worker-0", "worker-1", "infra-0"]}


def test_a_host_that_awx_left_out_is_counted() -> None:
    """The size decides, not which hosts a job has."""
    assert pool_hosts(groups(worker="worker-0 worker-2"), {"worker": 3})["added"] == added("worker-1")


@pytest.mark.parametrize(
    ("names", "size", "expected"),
    [
        ("w-01 w-02", 3, ["w-03"]),
        ("node1.east node2.east", 3, ["node3.east"]),
        ("", 2, ["worker-0", "worker-1"]),
        ("worker-1", 2, ["worker-2"]),
    ],
)
def test_names_follow_those_of_the_pool(names: str, size: int, expected: list[str]) -> None:
    assert [each["name"] for each in pool_hosts(groups(worker=names), {"worker": size})["added"]] == expected


def test_workers_without_a_group_of_their_own() -> None:
    plain = {"all": ["worker-0", "infra-0"], "ungrouped": [], "workers": ["worker-0", "infra-0"], "infra": ["infra-0"]}
    assert pool_hosts(plain, {"worker": 2}) == {"added": added("worker-1", group="workers"), "workers": ["worker-0", "infra-0", "worker-1"]}


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"storage": 2}, "pool storage is unknown: the pools of the inventory are infra, worker"),
        ({"control_plane": 5}, "control_plane is no pool of workers: the number of control plane machines"),
        ({"openshift": 5}, "pool openshift is unknown"),
        ({"metros": 1}, "metros is no pool of workers: its host master-0"),
        ({"infra": 1}, "pool infra: alpha has no number in its name"),
    ],
)
def test_sizes_that_cannot_be_used(sizes: dict[str, int], words: str) -> None:
    known = groups(worker="worker-0", infra="alpha infra-1") | {"metros": ["master-0", "worker-0"]}
    with pytest.raises(CollectionError, match=words):
        pool_hosts(known, sizes)


def test_names_of_several_forms() -> None:
    with pytest.raises(CollectionError, match=r"names of several forms \(a-0 and b-0\)"):
        pool_hosts(groups(worker="a-0 b-1"), {"worker": 3})


def test_a_name_that_another_group_has() -> None:
    with pytest.raises(CollectionError, match="its host worker-1 would have the name of a host of another group"):
        pool_hosts(groups(worker="worker-0", infra="worker-1"), {"worker": 2})
