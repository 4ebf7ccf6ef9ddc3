"""Which workers are removed, and what blocks that."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.removal import plan as removal_plan

MASTERS = [f"master-{number}" for number in range(3)]


def device(name: str, *tags: str, **more: Any) -> dict[str, Any]:
    role = "control-plane" if name.startswith("master") else "worker"
    return {
        "id": f"id-{name}",
        "hostname": name,
        "tags": ["openshift-cluster=demo", f"openshift-role={role}", *tags],
        "locked": False,
        **more,
    }


def node(name: str, **more: Any) -> dict[str, Any]:
    plain = {"ready": True, "schedulable": True, "cordoned_for_removal": False}
    return {"name": name, "control_plane": name.startswith("master"), **plain, **more}


def devices(*workers: str) -> list[dict[str, Any]]:
    return [device(name) for name in (*MASTERS, *workers)]


def plan(found: list[dict[str, Any]], *workers: str, masters: list[str] = MASTERS, **options: Any) -> dict[str, list[Any]]:
    desired = {"control_plane": [{"hostname": name} for name in masters], "workers": [{"hostname": name} for name in workers]}
    return removal_plan(found, desired, cluster="demo", **options)


ALL = [node(name) for name in (*MASTERS, "worker-0", "worker-1", "worker-2")]


def without(*names: str) -> list[dict[str, Any]]:
    return [each for each in ALL if each["name"] not in names]


def changed(name: str, **more: Any) -> list[dict[str, Any]]:
    return [*without(name), node(name, **more)]


def test_every_worker_outside_the_inventory_is_removed() -> None:
    found = [
        *devices("worker-2", "worker-0", "worker-1"),
        device("lb", "openshift-role=load-balancer", tags=["openshift-role=load-balancer"]),
    ]
    assert plan(found, "worker-0", "worker-1", nodes=ALL, least_workers=2) == {
        "removed": ["worker-2"],
        "ids": ["id-worker-2"],
        "nodes": ["worker-2"],
        "blockers": [],
    }
    assert not any(plan(found, "worker-0", "worker-1", "worker-2", "worker-3").values())


def test_upper_case_hides_neither_a_worker_of_the_inventory_nor_the_pods_of_another() -> None:
    """A device that a user created with the cluster's tags; its Node is in lower case."""
    found = plan(devices("Worker-0", "Worker-9"), "worker-0")
    assert (found["removed"], found["nodes"]) == (["Worker-9"], ["worker-9"])


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"tags": ["openshift-role=bootstrap"]}, "bootstrap-0 of demo is still its bootstrap device. Run install.yml first"),
        (
            {"tags": ["openshift-role=worker", "ansible-operation-requested=reinstall:bootstrap-becomes-worker:x"]},
            "is still its bootstrap device",
        ),
    ],
)
def test_an_installation_that_was_not_completed(extra: dict[str, Any], words: str) -> None:
    found = plan([*devices("worker-0"), device("bootstrap-0", **extra)], "worker-0")
    assert any(words in text for text in found["blockers"])


def test_the_control_plane_is_not_scaled() -> None:
    (text,) = plan(devices("worker-0"), "worker-0", masters=MASTERS[:2])["blockers"]
    assert text.startswith("master-2 of the control plane is not in the inventory.")


def test_a_locked_device() -> None:
    found = [*devices("worker-0", "worker-1"), device("worker-2", locked=True)]
    assert "worker-2 is locked" in plan(found, "worker-0", "worker-1")["blockers"][0]
    locked_but_desired = [*devices("worker-1", "worker-2"), device("worker-0", locked=True)]
    assert plan(locked_but_desired, "worker-0", "worker-1")["blockers"] == []


@pytest.mark.parametrize(
    ("nodes", "ready"),
    [
        (ALL, None),
        (changed("master-0", ready=False), None),
        ([*without("master-0", "master-1"), node("master-0", ready=False), node("master-1", ready=False)], "Only 1 of 3"),
        (without("master-0", "master-1"), "Only 1 of 3"),
        # The cluster may have members that the inventory does not know.
        ([*ALL, *(node(f"master-{number}", ready=False) for number in (3, 4))], None),
        ([*changed("master-0", ready=False), *(node(f"master-{number}", ready=False) for number in (3, 4))], "Only 2 of 5"),
    ],
)
def test_the_quorum_of_the_control_plane(nodes: list[dict[str, Any]], ready: str | None) -> None:
    blockers = plan(devices("worker-0", "worker-1", "worker-2"), "worker-0", "worker-1", nodes=nodes)["blockers"]
    assert bool(blockers) is bool(ready)
    assert (ready or "") in "".join(blockers)


@pytest.mark.parametrize(
    ("nodes", "joining", "words"),
    [
        (ALL, False, None),
        (changed("worker-1", ready=False), False, "only 1 workers that can run pods would remain, 2 are required"),
        (changed("worker-1", ready=False), True, "Not counted: worker-1 (not Ready)"),
        (changed("worker-1", schedulable=False), False, "Not counted: worker-1 (cordoned)"),
        # One that an earlier run has cordoned is uncordoned before anything is removed.
        (changed("worker-1", schedulable=False, cordoned_for_removal=True), True, None),
        (changed("worker-1", schedulable=False, cordoned_for_removal=True), False, "worker-1 (cordoned)"),
        (without("worker-1"), True, None),
        (without("worker-1"), False, "Not counted: worker-1 (no node)"),
    ],
)
def test_the_least_workers_that_stay(nodes: list[dict[str, Any]], joining: bool, words: str | None) -> None:
    found = plan(devices("worker-0", "worker-1", "worker-2"), "worker-0", "worker-1", nodes=nodes, least_workers=2, joining=joining)
    assert bool(found["blockers"]) is bool(words)
    assert (words or "") in "".join(found["blockers"])


def test_a_worker_that_is_to_be_created_counts_before_it_has_joined() -> None:
    """Its node may still be there, of a machine that is gone."""
    found = devices("worker-0", "worker-2")
    for nodes in (ALL, without("worker-1"), changed("worker-1", ready=False)):
        assert plan(found, "worker-0", "worker-1", nodes=nodes, least_workers=2, joining=True)["blockers"] == []
    assert plan(found, "worker-0", "worker-1", nodes=without("worker-1"), least_workers=2)["blockers"]


def test_only_replaced_workers_are_removed() -> None:
    """worker-9 is not in the inventory any more: scale.yml removes it, not the replacement of another."""
    found = plan(devices("worker-0", "worker-1", "worker-9"), "worker-0", nodes=ALL, replaced=["worker-1"], least_workers=1)
    assert (found["removed"], found["nodes"], found["blockers"]) == (["worker-1"], ["worker-1"], [])


def test_a_replacement_keeps_the_minimum_of_workers() -> None:
    found = devices("worker-0", "worker-1")
    (text,) = plan(found, "worker-0", nodes=without("worker-2"), replaced=["worker-1"], least_workers=2)["blockers"]
    assert text.startswith("Without worker-1 only 1 workers that can run pods would remain, 2 are required")
    assert text.endswith("or run replace.yml with a lower openshift_least_workers.")
    # A worker that runs no pods is no loss.
    for nodes in (changed("worker-1", ready=False), without("worker-1")):
        assert plan(found, "worker-0", nodes=nodes, replaced=["worker-1"], least_workers=2)["blockers"] == []


# --- devices whose names were changed at the service ---------------------------------------------------------------------------------


def recorded(**devices: str) -> list[dict[str, Any]]:
    """All Nodes, each on the device of its name but for those given."""
    return [{**each, "device_id": devices.get(each["name"].replace("-", "_"), f"id-{each['name']}")} for each in ALL]


def test_a_renamed_device_is_not_removed() -> None:
    """Its Node would not be drained: it has another name than the device."""
    renamed = device("gpu-box-7", id="id-worker-2")
    found = plan([*devices("worker-0", "worker-1"), renamed], "worker-0", "worker-1", "worker-2", nodes=recorded())
    assert found["removed"] == ["gpu-box-7"]
    assert (found["ids"], found["nodes"]) == (["id-worker-2"], ["worker-2"])
    (blocker,) = found["blockers"]
    assert blocker.startswith("device id-worker-2 of node worker-2 is named gpu-box-7 at the Metal API.")


def test_of_two_that_have_swapped_their_names_none_is_removed() -> None:
    """The inventory has worker-1 no more, and the device of that name is that of worker-2."""
    swapped = [device("worker-2", id="id-worker-1"), device("worker-1", id="id-worker-2")]
    found = plan([*devices("worker-0"), *swapped], "worker-0", "worker-2", nodes=recorded())
    assert (found["removed"], found["nodes"]) == (["worker-1"], ["worker-2"])
    assert [text.partition(" is ")[0] for text in found["blockers"]] == [
        "device id-worker-1 of node worker-1",
        "device id-worker-2 of node worker-2",
    ]


def test_one_of_two_devices_with_the_same_name_is_not_removed() -> None:
    twice = [device("worker-2", id="A"), device("worker-2", id="B")]
    found = plan([*devices("worker-0", "worker-1"), *twice], "worker-0", "worker-1", nodes=recorded(worker_2="B"))
    assert found["blockers"][0].startswith("2 devices have the host name worker-2: A, B.")
    one = [twice[0] | {"state": "deprovisioning"}, twice[1]]
    assert plan([*devices("worker-0", "worker-1"), *one], "worker-0", "worker-1", nodes=recorded(worker_2="B"))["blockers"] == []
