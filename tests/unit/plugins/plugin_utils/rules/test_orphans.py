"""Which clusters without a folder may be deleted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.orphans import removal_plan
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.removal import RUNNER, may_prompt

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
OLD, YOUNG = "2026-05-01T00:00:00Z", "2026-05-04T11:00:00Z"
DAY = 86400


def cluster(name: str = "old.test", created_at: str | None = OLD, **more: Any) -> dict[str, Any]:
    return {"name": name, "devices": [{"hostname": "a", "locked": False, "created_at": created_at}], "locks": [], **more}


def plan(
    directory: Path, *clusters: dict[str, Any], names: tuple[str, ...] = ("all",), min_age: int = DAY, **more: Any
) -> dict[str, list[str]]:
    return removal_plan(clusters, str(directory), names, min_age=min_age, now=NOW, **more)


def test_an_old_cluster_without_a_folder_is_deleted(tmp_path: Path) -> None:
    assert plan(tmp_path, cluster(), cluster("other.test")) == {"names": ["old.test", "other.test"], "kept": [], "problems": []}
    assert plan(tmp_path, cluster(), cluster("other.test"), names=("other.test",))["names"] == ["other.test"]


LOCK = {"id": "l", "holder": "alice@bastion", "operation": "install.yml", "expires_at": "2026-05-04T12:00:01Z"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            cluster(created_at=YOUNG),
            "its newest object was created at 2026-05-04T11:00:00Z, less than openshift_orphans_min_age (86400 s) ago",
        ),
        (cluster(virtual_networks=[{"created_at": YOUNG}]), "its newest object was created at 2026-05-04T11:00:00Z"),
        (cluster(created_at=None), "the age of an object is unknown"),
        (cluster(locks=[LOCK]), "its lock l is held by install.yml of alice@bastion. Wait for the end of that run"),
        (cluster(locks=[LOCK | {"expires_at": None}]), "its lock l is held"),
        (cluster(devices=[{"hostname": "a", "locked": True, "created_at": OLD}]), "a is locked against deletion. Unlock it"),
        (cluster("$(reboot).test"), "its tag is no cluster name"),
        (cluster("../clusters"), "its tag is no cluster name"),
    ],
)
def test_what_is_kept(tmp_path: Path, found: dict[str, Any], words: str) -> None:
    of_all = plan(tmp_path, found)
    assert (of_all["names"], of_all["problems"]) == ([], [])
    assert words in of_all["kept"][0]
    chosen = plan(tmp_path, found, names=(found["name"],))
    assert chosen["names"] == []
    assert chosen["problems"] == of_all["kept"]


def test_a_lock_that_has_expired_keeps_nothing(tmp_path: Path) -> None:
    assert plan(tmp_path, cluster(locks=[LOCK | {"expires_at": "2026-05-04T11:59:59Z"}]))["names"] == ["old.test"]


def test_a_cluster_with_a_folder_is_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "old.test").mkdir()
    found = plan(tmp_path, cluster(), names=("old.test",), min_age=0)
    assert found["names"] == []
    assert "Use destroy.yml" in found["problems"][0]


def test_an_expected_cluster_is_never_deleted(tmp_path: Path) -> None:
    of_all = plan(tmp_path, cluster(), cluster("other.test"), expected=("old.test",))
    assert of_all["names"] == ["other.test"]
    assert "old.test is not deleted: it is in openshift_orphans_expected" in of_all["kept"][0]
    assert plan(tmp_path, cluster(), names=("old.test",), expected=("old.test",))["problems"] == of_all["kept"]


def test_a_job_deletes_by_name_only(tmp_path: Path) -> None:
    """It has no folders of clusters, so every healthy cluster would be one without."""
    of_all = plan(tmp_path, cluster(), in_job=True)
    assert (of_all["names"], of_all["kept"]) == ([], [])
    assert "openshift_orphans_delete is all, and a job of AWX has no folders of clusters" in of_all["problems"][0]
    assert plan(tmp_path, cluster(), names=("old.test",), in_job=True)["names"] == ["old.test"]


def test_an_unknown_name_is_a_problem(tmp_path: Path) -> None:
    assert "nothing in the project has its ownership tag" in plan(tmp_path, cluster(), names=("ol.test",))["problems"][0]


def test_a_job_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUNNER, raising=False)
    assert may_prompt(True)
    assert may_prompt("true", None)
    assert not may_prompt("false")
    assert not may_prompt(False)
    assert not may_prompt(True, "17")
    monkeypatch.setenv(RUNNER, "/runner")
    assert not may_prompt(True)
