"""The phases of a playbook: their numbers, the line that announces one, and how long each took."""

from __future__ import annotations

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._phases import begin, heading, times
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils._screen import duration

PHASES = ["Run preflight checks", "Create Ignition files", "Publish boot files"]


def test_each_phase_is_announced_with_its_number_and_the_time_since_the_first() -> None:
    log = begin(PHASES[0], PHASES, [], 1000.0)
    assert heading(log, 1000.0) == "[1/3] Run preflight checks"
    log = begin(PHASES[1], PHASES, log, 1130.0)
    assert heading(log, 1130.0) == "[2/3] Create Ignition files (elapsed 2m10s)"


def test_the_first_phase_forgets_the_playbook_before() -> None:
    before = begin(PHASES[2], PHASES, [], 10.0)
    assert begin(PHASES[0], PHASES, before, 1000.0) == [{"title": PHASES[0], "number": 1, "count": 3, "started_at": 1000.0}]


def test_a_phase_that_is_not_in_the_table_has_no_number() -> None:
    log = begin("Something else", PHASES, begin(PHASES[0], PHASES, [], 1.0), 2.0)
    assert heading(log, 2.0) == "Something else (elapsed 1s)"


def test_a_log_is_not_changed_in_place() -> None:
    log = begin(PHASES[0], PHASES, [], 1.0)
    begin(PHASES[1], PHASES, log, 2.0)
    assert len(log) == 1


def test_the_last_phase_lasts_until_now() -> None:
    log = begin(PHASES[2], PHASES, begin(PHASES[0], PHASES, [], 0.0), 61.0)
    assert times(log, 4000.0) == ["1m01s  Run preflight checks", "1h05m  Publish boot files", "1h06m  total"]
    assert times([], 4000.0) == []
    assert times(begin(PHASES[1], PHASES, begin(PHASES[0], PHASES, [], 0.0), 599.0), 605.0)[1:] == [
        "    6s  Create Ignition files",
        "10m05s  total",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.4, "0s"), (59.4, "59s"), (59.6, "1m00s"), (130, "2m10s"), (3599.6, "1h00m"), (7322, "2h02m")],
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
