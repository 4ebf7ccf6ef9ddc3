"""Whether what exists of a cluster is of the install whose files are here: the rule of preflight and of destroy.yml."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.removal import state_problem

FOLDER = "/clusters/demo.metal.test"


def device(name: str = "master-0", infra: str | None = "demo-aaaaa", **more: Any) -> dict[str, Any]:
    return {"hostname": name, "infra_id": infra, "state": "active", "created_at": "2026-11-20T08:00:00Z", **more}


def cluster(*devices: dict[str, Any], more: int = 0) -> dict[str, Any]:
    return {"name": "demo.metal.test", "devices": list(devices), "count": len(devices) + more}


@pytest.mark.parametrize(
    ("found", "infra_id"),
    [
        (cluster(), ""),
        (cluster(), "demo-aaaaa"),
        (cluster(device()), "demo-aaaaa"),
        (cluster(device(), device("balancer", None, role="load-balancer")), "demo-aaaaa"),
        (cluster(more=2), "demo-aaaaa"),
        (cluster(device(state="deprovisioning")), ""),
        (cluster(device(state="deleted", infra="demo-bbbbb"), device()), "demo-aaaaa"),
        (cluster({"hostname": "a", "state": "active", "tags": ["openshift-infra-id=demo-aaaaa"]}), "demo-aaaaa"),
        (cluster({"hostname": "a", "state": "active", "tags": ["openshift-role=load-balancer"]}), "demo-aaaaa"),
    ],
)
def test_what_is_of_this_install_is_no_problem(found: dict[str, Any], infra_id: str) -> None:
    assert state_problem(found, infra_id, FOLDER) == ""


@pytest.mark.parametrize(
    ("found", "infra_id", "result"),
    [
        (cluster(device()), "", f"files are not in {FOLDER}: master-0 (infra id demo-aaaaa, created 2026-11-20T08:00:00Z)"),
        (cluster(device("balancer", None, role="load-balancer")), "", "balancer (infra id unknown, created"),
        (cluster(more=1), "", "addresses or networks with its tag"),
        (cluster(device(), device("w", "demo-bbbbb")), "demo-bbbbb", "which are of demo-bbbbb: master-0 (infra id demo-aaaaa"),
        (cluster(device(), device("w", None, role="worker")), "demo-aaaaa", "which are of demo-aaaaa: w (infra id unknown, created"),
        (cluster(device(), device("w", None, role=None)), "demo-aaaaa", "which are of demo-aaaaa: w (infra id unknown, created"),
        (cluster({"hostname": "a", "state": "active", "tags": ["openshift-role=worker"]}), "demo-aaaaa", "a (infra id unknown"),
        (cluster(device(created_at=None)), "demo-x", "created at an unknown time"),
        (
            cluster(*(device(f"w-{number}") for number in range(9))),
            "demo-x",
            "w-5 (infra id demo-aaaaa, created 2026-11-20T08:00:00Z), 3 more",
        ),
    ],
)
def test_what_is_of_another_install_is_told(found: dict[str, Any], infra_id: str, result: str) -> None:
    problem = state_problem(found, infra_id, FOLDER)
    assert problem.startswith("demo.metal.test exists and ")
    assert result in problem


def test_networks_belong_to_the_install_that_was_begun_in_the_folder() -> None:
    assert state_problem(cluster(more=2), "", FOLDER, begun=True) == ""
    leaving = cluster(device(state="deprovisioning"), more=1)
    assert state_problem(leaving, "", FOLDER, begun=True) == ""


@pytest.mark.parametrize("infra_id", ["", "demo-bbbbb"])
def test_devices_do_not_belong_to_an_install_that_was_only_begun(infra_id: str) -> None:
    assert "master-0 (infra id demo-aaaaa" in state_problem(cluster(device(), more=2), infra_id, FOLDER, begun=True)
