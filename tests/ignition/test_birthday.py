"""Ignition files are used while they can be, made anew before a machine is made from them, and never after."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from .conftest import Role

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Stale:
    """Files of that age, and what is said of them, with these variables."""

    title: str
    age: timedelta
    told: str
    max_age: int = 43200


STALE = [
    Stale("too old", 13 * HOUR, "they are 13.0 hours old, the limit is 12.0 hours"),
    Stale("certificates ended", 25 * HOUR, "their first certificate expired at", max_age=10**6),
    Stale("certificates end soon", 23 * HOUR, "an installation needs 2.0 hours", max_age=10**6),
    Stale("of tomorrow", -24 * HOUR, "clock was set back"),
]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_files_that_can_be_used_are_used(role: Role) -> None:
    before = content(role.folder)
    told = role.well()
    assert "changed=0" in told
    assert content(role.folder) == before


@pytest.mark.parametrize("name", ["../..", "a/b", "-rf", "a b", "$(id)", "Demo"])
def test_a_name_that_leads_elsewhere_is_refused_before_a_folder_is_touched(role: Role, name: str) -> None:
    for tasks_from in ("main", "project"):
        told = role.refused(tasks_from=tasks_from, openshift_cluster_name=name)
        assert f"'{name}.metal.test' is not the name of a cluster" in told


def test_they_are_kept_for_the_project_they_were_made_for(role: Role) -> None:
    """In another project no machine is found, and the only keys to a cluster would be made anew."""
    role.set_birthday(datetime.now(UTC) - 25 * HOUR)
    before = content(role.folder)
    assert before["project"].decode() == role.environment["METAL_PROJECT_ID"] + "\n"
    told = role.refused(metal_project_id="2b70eb8f-fa18-47c0-aba7-222a842362fd")
    assert f"in the project {role.environment['METAL_PROJECT_ID']}" in told
    assert content(role.folder) == before


@pytest.mark.parametrize("case", STALE, ids=lambda case: case.title)
def test_check_mode_tells_why_they_cannot_be_used_and_leaves_all_as_it_is(case: Stale, role: Role) -> None:
    role.set_birthday(datetime.now(UTC) - case.age)
    before = content(role.folder)
    assert case.told in role.well(check=True, openshift_ignition_max_age=case.max_age)
    assert content(role.folder) == before


def test_without_machines_they_are_made_anew_and_the_older_ones_kept(role: Role) -> None:
    role.set_birthday(datetime.now(UTC) - 25 * HOUR)
    before = content(role.files)

    told = role.well()

    assert "The Ignition files are recreated: their first certificate expired at" in told
    assert f"which are kept in {role.folder}/ignition.previous" in told
    assert content(role.folder / "ignition.previous") == before
    assert content(role.files)["bootstrap.ign"] != before["bootstrap.ign"]
    assert not list(role.folder.glob(".ignition-*"))


@pytest.mark.usefixtures("machine")
def test_with_machines_they_are_refused_with_the_way_out(role: Role) -> None:
    role.set_birthday(datetime.now(UTC) - 25 * HOUR)
    before = content(role.folder)

    told = role.refused()

    assert "their first certificate expired at" in told
    assert "bootstrap.birthday.metal.test" in told
    assert "Delete the cluster with destroy.yml and run install.yml again." in told
    assert content(role.folder) == before


@pytest.mark.usefixtures("machine")
def test_with_machines_other_wishes_change_nothing(role: Role) -> None:
    before = content(role.folder)
    told = role.well(openshift_machine_networks=["10.9.0.0/16"])
    assert "changed=0" in told
    assert content(role.folder) == before


def test_destroying_leaves_neither_these_nor_those_before(role: Role) -> None:
    (role.folder / "ignition.previous").mkdir()
    role.well(tasks_from="remove")
    assert not role.folder.exists()
