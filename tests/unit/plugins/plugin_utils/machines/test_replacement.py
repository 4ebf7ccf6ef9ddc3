"""Which machines are replaced, in which order, and which are unhealthy."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.machines.replacement import (
    Fleet,
    names_of,
    plan_replacement,
    unhealthy_machines,
)

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
WORKERS = ("worker-0", "worker-1", "infra-0")
ALL = ("master-0", *WORKERS)


def machine(name: str) -> dict[str, Any]:
    return {"hostname": f"{name}.demo", "inventory_hostname": name, "pool": None if "master" in name else name.partition("-")[0]}


def device(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "hostname": f"{name}.demo", "state": "active", "created_at": "2026-05-01T00:00:00Z"} | more


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"name": f"{name}.demo", "ready": True, "unreachable": False, "message": "fine", "since": "2026-05-01T00:10:00Z"} | more


def fleet(devices: list[dict[str, Any]] | None = None, nodes: list[dict[str, Any]] | None = None) -> Fleet:
    machines = {"control_plane": [machine("master-0")], "workers": [machine(name) for name in WORKERS]}
    return Fleet(
        [device(name) for name in ALL] if devices is None else devices, [node(name) for name in ALL] if nodes is None else nodes, machines
    )


def but(change: dict[str, Any]) -> list[dict[str, Any]]:
    """The devices, one of them changed."""
    return [*(device(name) for name in ALL if f"{name}.demo" != change["hostname"]), change]


def plan(found: Fleet | None = None, **options: Any) -> dict[str, Any]:
    return plan_replacement(found or fleet(), now=NOW, **options)


@pytest.mark.parametrize(
    "given",
    [
        ["worker-0", "worker-1"],
        '["worker-0", "worker-1"]',
        "[worker-0, worker-1]",
        " worker-0 , worker-1,",
    ],
)
def test_names_are_a_list_or_a_text(given: Any) -> None:
    assert names_of(given) == ["worker-0", "worker-1"]


def test_a_worker_is_chosen_by_inventory_name_or_host_name() -> None:
    for name in ("worker-1", "worker-1.demo", "WORKER-1"):
        found = plan(names=name)
        assert (found["workers"], found["removed"], found["batches"]) == (["worker-1.demo"], ["worker-1.demo"], [["worker-1.demo"]])
        assert found["problems"] == []


def test_a_pool_is_replaced_in_batches() -> None:
    assert plan(pool="worker")["batches"] == [["worker-0.demo"], ["worker-1.demo"]]
    assert plan(pool="worker", at_most=2)["batches"] == [["worker-0.demo", "worker-1.demo"]]
    assert plan(pool="infra", at_most=5)["batches"] == [["infra-0.demo"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "No machine to replace is given. Run with -e openshift_replace=<host>"),
        ({"names": "worker-0", "pool": "worker"}, "openshift_replace and openshift_replace_pool are both set"),
        ({"names": "worker-9"}, "worker-9 is no worker and no control plane machine of the inventory. It has: worker-0,"),
        ({"pool": "gpu"}, "The inventory has no pool gpu. Its pools are: infra, worker."),
        ({"names": "worker-0", "older_than": "yesterday"}, "openshift_replace_older_than is 'yesterday'"),
        ({"names": "worker-0", "at_most": 0}, "openshift_replace_at_most is 0. Set it to 1 or more."),
    ],
)
def test_nothing_is_replaced_after_a_wrong_choice(options: dict[str, Any], words: str) -> None:
    found = plan(**options)
    assert any(words in text for text in found["problems"])
    assert found["workers"] == found["batches"] == found["removed"] == []


def test_machines_that_were_replaced_already_are_skipped() -> None:
    limit = "2026-05-04T11:00:00Z"
    replaced = fleet(but(device("worker-0", created_at="2026-05-04T11:30:00Z")))
    found = plan(replaced, pool="worker", older_than=limit)
    assert found["workers"] == ["worker-1.demo"]
    assert found["skipped"] == [
        "worker-0.demo is not replaced: its device was provisioned at 2026-05-04T11:30:00Z, after 2026-05-04T11:00:00Z"
    ]
    # A device that has not joined yet is completed, not skipped.
    nodes = [node(name) for name in ALL if name != "worker-0"]
    pending = Fleet(replaced.devices.values(), nodes, replaced.groups)
    found = plan(pending, pool="worker", older_than=limit)
    assert (found["workers"], found["removed"]) == (["worker-0.demo", "worker-1.demo"], ["worker-1.demo"])


def test_a_device_that_may_still_join_is_not_deleted() -> None:
    nodes = [node(name) for name in ALL if name != "worker-0"]
    new = device("worker-0", created_at="2026-05-04T11:50:00Z")
    for found, removed in (
        (fleet(but(new), nodes), []),
        (fleet([device(name) for name in ALL if name != "worker-0"], nodes), []),
        (fleet(but(new | {"state": "failed"}), nodes), ["worker-0.demo"]),
        (fleet(None, nodes), ["worker-0.demo"]),
        (fleet(but(new)), ["worker-0.demo"]),
    ):
        result = plan(found, names="worker-0", window=7200)
        assert (result["workers"], result["removed"]) == (["worker-0.demo"], removed)


def unhealthy(found: Fleet, replace_after: int = 0) -> list[dict[str, Any]]:
    return unhealthy_machines(found, now=NOW, replace_after=replace_after)


def test_a_healthy_cluster_has_no_unhealthy_machine() -> None:
    assert unhealthy(fleet()) == []
    # Neither a machine that was never ordered nor one that has not joined yet.
    assert unhealthy(fleet([], [])) == unhealthy(fleet(None, [])) == []


def test_a_failed_device() -> None:
    (found,) = unhealthy(fleet(but(device("worker-1", state="failed"))))
    assert (found["kind"], found["role"], found["is_due"], found["since"]) == ("device_failed", "worker", False, None)
    assert found["line"] == (
        "device_failed: worker-1.demo: its device id-worker-1 is in the state failed. Replace it: "
        "ansible-playbook replace.yml -e openshift_replace=worker-1"
    )
    assert unhealthy(fleet(but(device("worker-1", state="failed"))), 600)[0]["is_due"]


@pytest.mark.parametrize(("replace_after", "is_due"), [(0, False), (1800, True), (1801, False)])
def test_a_node_that_is_not_ready_for_a_time(replace_after: int, is_due: bool) -> None:
    silent = node("worker-1", ready=False, unreachable=True, message="stopped", since="2026-05-04T11:30:00Z")
    (found,) = unhealthy(fleet(None, [*(node(name) for name in ALL if name != "worker-1"), silent]), replace_after)
    assert (found["kind"], found["seconds"], found["is_due"]) == ("node_not_ready", 1800, is_due)
    assert "not Ready (Ready=Unknown: stopped) since 2026-05-04T11:30:00Z (1800 s)." in found["line"]


def test_only_a_worker_whose_device_runs_is_due() -> None:
    silent = {"ready": False, "unreachable": True, "since": "2026-05-04T11:00:00Z"}
    nodes = [node("master-0", **silent), node("worker-0", **silent), node("worker-1", **silent), node("infra-0")]
    off = [*(device(name) for name in ("master-0", "infra-0")), device("worker-0", state="inactive")]
    found = {each["inventory_hostname"]: each for each in unhealthy(fleet(off, nodes), 60)}
    assert {name: each["kind"] for name, each in found.items()} == {
        "master-0": "node_not_ready",
        "worker-0": "device_off",
        "worker-1": "device_missing",
    }
    assert not any(each["is_due"] for each in found.values())
    assert found["worker-1"]["line"].endswith("Create another device: ansible-playbook scale.yml")
    assert "replace.yml -e openshift_replace=master-0" in found["master-0"]["line"]


# --- devices whose names were changed, or that were ordered again ----------------------------------------------------------------------


def recorded(name: str, identity: str, **more: Any) -> dict[str, Any]:
    return node(name, device_id=identity, created_at="2026-05-01T00:10:00Z", **more)


def test_nothing_is_replaced_while_a_device_has_another_name_than_its_node() -> None:
    """By its name worker-1 has no device: another one would be ordered beside it."""
    renamed = [*(device(name) for name in ALL if name != "worker-1"), device("box", id="id-worker-1")]
    found = fleet(renamed, [recorded(name, f"id-{name}") for name in ALL])
    result = plan(found, names="worker-1")
    assert (result["workers"], result["removed"]) == ([], [])
    assert result["problems"][0].startswith("device id-worker-1 of node worker-1.demo is named box.demo at the Metal API.")
    assert unhealthy_machines(found, now=NOW) == [], "its device is there"


def test_the_node_of_an_earlier_device_is_not_that_of_the_machine() -> None:
    """The device was deleted and ordered again: the Node that is left is not Ready, and says nothing about the new device."""
    new = device("worker-1", id="new", created_at="2026-05-04T11:50:00Z")
    nodes = [*(recorded(name, f"id-{name}") for name in ALL if name != "worker-1"), recorded("worker-1", "old", ready=False)]
    found = fleet(but(new), nodes)
    assert unhealthy_machines(found, now=NOW, replace_after=60) == []
    assert plan(found, names="worker-1", window=3600)["removed"] == [], "it may still join"
