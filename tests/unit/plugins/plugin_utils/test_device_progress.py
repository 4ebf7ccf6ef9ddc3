"""Changes of devices between two results of metal_device_set."""

from __future__ import annotations

from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._device_progress import DeviceProgress


def answer(state: str | None, action: str = "created", **outcome: Any) -> dict[str, Any]:
    devices = [] if state is None else [{"hostname": "worker-2", "state": state}]
    return {"devices": devices, "outcomes": {"worker-2": {"action": action, "status": "missing", **outcome}}}


def test_each_change_of_a_device_is_one_line_with_elapsed_and_usual_time() -> None:
    progress = DeviceProgress()
    lines = []
    for moment, state in ((0, "queued"), (15, "queued"), (30, "provisioning"), (45, "provisioning"), (282, "active")):
        lines += [change.line() for change in progress.changes(answer(state), moment)]
    assert lines == ["", "worker-2 is provisioning after 30s queued", "worker-2 is active after 4m12s provisioning, usually 3m00s"]


def test_a_deleted_device_and_one_that_was_not_ordered() -> None:
    progress = DeviceProgress()
    progress.changes(answer("active", "none"), 0)
    [change] = progress.changes(answer(None, "deleted", status="removed"), 5)
    assert (change.state, change.line()) == ("deleted", "worker-2 is deleted after 5s active")
    [other] = DeviceProgress().changes(answer(None, "none", error="no capacity"), 0)
    assert (other.state, other.error, other.line()) == ("missing", "no capacity", "")


def test_another_action_in_the_same_state_is_a_change_without_a_line() -> None:
    progress = DeviceProgress()
    progress.changes(answer("active", "none"), 0)
    [change] = progress.changes(answer("active", "updated"), 5)
    assert (change.action, change.line()) == ("updated", "")
    [ended] = progress.changes(answer("failed", "updated"), 65)
    assert ended.line() == "worker-2 is failed after 1m05s active"


def test_malformed_results_have_no_changes() -> None:
    assert DeviceProgress().changes({"failed": True, "outcomes": None, "devices": [1]}, 0) == []
