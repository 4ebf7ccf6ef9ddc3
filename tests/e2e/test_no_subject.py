"""Playbooks of a cluster that exists fail when a wrong project, token or name leaves them nothing to work on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.harness import NAME, User
from tests.e2e.kills import make_files, make_small

pytestmark = pytest.mark.e2e

CHEAP = ("status.yml", "playbooks/approve.yml", "playbooks/evictions.yml")
"""Without preflight checks."""
OTHERS = ("playbooks/start.yml", "playbooks/stop.yml", "scale.yml", "replace.yml")
PROJECT = ("playbooks/unlock.yml", "playbooks/orphans.yml", "playbooks/validate.yml")
"""Those that read the project and need no cluster in it."""
PLAYBOOKS = [*CHEAP, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A project with the control plane machine of a cluster, and one without anything."""
    user = User(tmp_path_factory.mktemp("subject") / "user", speed=600)
    user.folder.mkdir()
    with user.at_work():
        make_small(user, timeout=20)
        tags = [f"openshift-cluster={NAME}", "openshift-role=control-plane", "openshift-infra-id=demo-x7k2p"]
        user.sandbox.call("POST", "devices", json={"hostname": f"master-0.{NAME}", "tags": tags})
        yield user


@pytest.fixture(scope="module")
def empty_project(user: User) -> str:
    project: dict[str, Any] = user.ask("POST", "projects", json={"name": "empty"})
    return str(project["id"])


def refused(user: User, playbook: str, *texts: str, without: tuple[str, ...] = (), **variables: Any) -> None:
    user.play(playbook, "-e", json.dumps(variables), without=without).refused(*texts)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_project_without_the_cluster_is_refused(user: User, empty_project: str, playbook: str) -> None:
    refused(user, playbook, metal_project_id=empty_project, openshift_replace="master-0")


@pytest.mark.parametrize("playbook", [*CHEAP, *(pytest.param(name, marks=pytest.mark.long) for name in (*OTHERS, *PROJECT))])
def test_the_name_of_no_project_is_refused(user: User, playbook: str) -> None:
    words = "No project of the name absent is visible to this token. Check metal_project_name"
    by_name = {"metal_project_id": "", "metal_project_name": "absent"}
    refused(user, playbook, words, without=("METAL_PROJECT_ID",), openshift_replace="master-0", **by_name)


@pytest.mark.parametrize("playbook", CHEAP)
def test_the_name_of_no_cluster_is_refused(user: User, playbook: str) -> None:
    words = "with the tag openshift-cluster=other" if playbook.endswith("approve.yml") else "other.metal.test does not exist: no device"
    refused(user, playbook, words, "Check metal_project_id, metal_api_token", openshift_cluster_name="other")


@pytest.mark.long
@pytest.mark.parametrize("playbook", CHEAP)
def test_a_token_that_is_not_accepted_is_refused(user: User, playbook: str) -> None:
    refused(user, playbook, "token", metal_api_token="wrong", metal_api_retries=0)


@pytest.mark.long
@pytest.mark.parametrize("playbook", CHEAP)
def test_the_folder_of_a_cluster_in_another_project_is_refused(user: User, empty_project: str, playbook: str) -> None:
    make_files(user)
    (user.cluster / "project").write_text(user.sandbox.environment["METAL_PROJECT_ID"], encoding="utf-8")
    try:
        refused(user, playbook, f"this run is for {empty_project}: check metal_project_id", metal_project_id=empty_project)
    finally:
        (user.cluster / "project").unlink()


def test_expected_clusters_that_do_not_exist_are_no_success(user: User, empty_project: str) -> None:
    words = f"None of the clusters in openshift_orphans_expected has anything here: {NAME}. Check metal_project_id"
    refused(user, "playbooks/orphans.yml", words, metal_project_id=empty_project, openshift_orphans_expected=[NAME])


def test_no_lock_of_a_cluster_that_does_not_exist_is_no_success(user: User, empty_project: str) -> None:
    lock = "00000000-0000-4000-8000-000000000000"
    words = f"{NAME} does not exist: nothing in the project has the tag openshift-cluster={NAME}"
    refused(user, "playbooks/unlock.yml", words, "Check metal_project_id", metal_project_id=empty_project, openshift_unlock=lock)
    run = user.play("playbooks/unlock.yml", "-e", f"openshift_unlock={lock}").ended_well()
    assert f"No run holds the lock of {NAME}." in run.output
