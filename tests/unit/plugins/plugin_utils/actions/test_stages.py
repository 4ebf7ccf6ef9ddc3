"""Changes of stages between two results of a module."""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.stages import Stages


def test_each_change_is_one_line_with_elapsed_and_usual_time() -> None:
    stages = Stages()
    lines = []
    for moment, stage in ((0, "queued"), (15, "queued"), (30, "provisioning"), (45, "provisioning"), (282, "active")):
        lines += stages.changes({"worker-2": stage}, moment)
    assert lines == ["worker-2 is provisioning after 30s queued", "worker-2 is active after 4m12s provisioning, usually 3m00s"]


def test_what_is_seen_first_or_not_at_all_is_no_change() -> None:
    stages = Stages()
    assert stages.changes({"a": "queued", "b": "active"}, 0) == []
    assert stages.changes({"b": "active"}, 10) == []
    [change] = stages.changes({"a": "failed", "c": "queued"}, 65)
    assert change == "a is failed after 1m05s queued"


def test_names_of_machines_are_printed_without_control_characters() -> None:
    stages = Stages()
    stages.changes({"a\x1b[2J": "queued"}, 0)
    [change] = stages.changes({"a\x1b[2J": "active"}, 1)
    assert "\x1b" not in change
