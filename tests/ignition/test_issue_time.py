"""Ignition files are reused while they are valid, regenerated before the first device is created, and never afterwards."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .conftest import Role


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_valid_ignition_files_are_reused(role: Role) -> None:
    before = content(role.folder)
    result = role.well()
    assert "changed=0" in result
    assert content(role.folder) == before


@pytest.mark.parametrize("name", ["../..", "a/b", "-rf", "a b", "$(id)", "Demo"])
def test_a_cluster_name_with_a_path_is_refused_before_any_change(role: Role, name: str) -> None:
    for tasks_from in ("main", "project"):
        result = role.refused(tasks_from=tasks_from, openshift_cluster_name=name)
        assert f"{name}.metal.test" in result
        assert "is not the name of a cluster" in result


def test_ignition_files_stay_bound_to_their_project(role: Role) -> None:
    """In another project no machine is found, and the only keys to a cluster would be made anew."""
    role.set_issue_time(datetime.now(UTC) - timedelta(hours=25))
    before = content(role.folder)
    assert before["project"].decode() == role.environment["METAL_PROJECT_ID"] + "\n"
    result = role.refused(metal_project_id="2b70eb8f-fa18-47c0-aba7-222a842362fd")
    assert f"in the project {role.environment['METAL_PROJECT_ID']}" in result
    assert content(role.folder) == before


@pytest.mark.parametrize(
    ("hours", "limit", "reason"),
    [(13, 43200, "they are 13.0 hours old, the limit is 12.0 hours"), (25, 10**6, "their first certificate expired at")],
)
def test_check_mode_reports_why_ignition_files_are_unusable_and_changes_nothing(role: Role, hours: int, limit: int, reason: str) -> None:
    role.set_issue_time(datetime.now(UTC) - timedelta(hours=hours))
    before = content(role.folder)
    assert reason in role.well(check=True, __ignition_max_age=limit)
    assert content(role.folder) == before


def test_without_devices_expired_ignition_files_are_regenerated_and_kept_as_backup(role: Role) -> None:
    role.set_issue_time(datetime.now(UTC) - timedelta(hours=25))
    before = content(role.files)

    result = role.well()

    assert "The Ignition files are recreated: their first certificate expired at" in result
    assert f"which are kept in {role.folder}/ignition.previous" in result
    assert content(role.folder / "ignition.previous") == before
    assert content(role.files)["bootstrap.ign"] != before["bootstrap.ign"]
    assert not list(role.folder.glob(".ignition-*"))


@pytest.mark.usefixtures("machine")
def test_with_devices_expired_ignition_files_are_an_error_with_the_next_step(role: Role) -> None:
    role.set_issue_time(datetime.now(UTC) - timedelta(hours=25))
    before = content(role.folder)

    result = role.refused()

    assert "their first certificate expired at" in result
    assert "bootstrap.birthday.metal.test" in result
    assert "Delete the cluster with destroy.yml and run install.yml again." in result
    assert content(role.folder) == before


@pytest.mark.usefixtures("machine")
def test_with_devices_changed_settings_regenerate_nothing(role: Role) -> None:
    before = content(role.folder)
    result = role.well(openshift_machine_networks=["10.9.0.0/16"])
    assert "changed=0" in result
    assert content(role.folder) == before


def test_destroy_deletes_current_and_older_ignition_files(role: Role) -> None:
    (role.folder / "ignition.previous").mkdir()
    role.well(tasks_from="remove")
    assert not role.folder.exists()
