"""When a cluster may be switched off."""

from datetime import UTC, datetime
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.cluster import stop_blockers

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


def device(name: str, role: str, **more: Any) -> dict[str, Any]:
    return {"hostname": name, "tags": [f"openshift-role={role}"], "state": "active", "created_at": "2026-05-04T10:00:00Z", **more}


MASTERS = [device("master-0", "control-plane"), device("master-1", "control-plane", created_at="2026-05-04T11:59:00Z")]


def found(*devices: dict[str, Any], min_age: int = 90000, bootstrap_complete: bool = True) -> list[str]:
    return stop_blockers(devices, cluster="demo", bootstrap_complete=bootstrap_complete, min_age=min_age, now=NOW)


def test_the_age_is_that_of_the_oldest_control_plane_device() -> None:
    """One of them may have been replaced since."""
    worker = device("worker-0", "worker", created_at="2026-05-01T00:00:00Z")
    assert found(*MASTERS, worker, min_age=7200) == []
    (text,) = found(*MASTERS, worker, min_age=7201)
    assert text.startswith("demo was installed 7200 s ago.")
    assert "may be switched off 1 s from now. To switch it off now, run with -e openshift_stop_min_age=0" in text


def test_a_cluster_that_is_off_may_be_stopped_again() -> None:
    assert found(*({**each, "state": "inactive"} for each in MASTERS)) == []
    assert found(MASTERS[0], {**MASTERS[1], "state": "inactive"}) != []


def test_an_installation_that_was_not_completed() -> None:
    for devices, complete in (([*MASTERS, device("bootstrap-0", "bootstrap")], True), (MASTERS, False)):
        (text,) = found(*devices, min_age=0, bootstrap_complete=complete)
        assert text.startswith("demo is not installed, or was installed from another folder. Run install.yml")


def test_another_project() -> None:
    (text,) = found(device("worker-0", "worker"), min_age=0)
    assert text.endswith("Set metal_project_id to the project of the cluster.")
