"""The phases of a playbook: their numbers, and the line that announces one."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.phases import begin, heading, is_idle
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.actions.screen import duration

PHASES = ["Run preflight checks", "Create Ignition files", "Publish boot files"]


def test_each_phase_is_announced_with_its_number_and_the_time_since_the_first() -> None:
    log = begin(PHASES[0], PHASES, [], 1000.0)
    assert heading(log, 1000.0) == "[1/3] Run preflight checks"
    log = begin(PHASES[1], PHASES, log, 1130.0)
    assert heading(log, 1130.0) == "[2/3] Create Ignition files (elapsed 2m10s)"
    assert begin(PHASES[0], PHASES, log, 2000.0) == [{"title": PHASES[0], "number": 1, "count": 3, "started_at": 2000.0}]
    assert heading(begin("Something else", PHASES, log, 1131.0), 1131.0) == "Something else (elapsed 2m11s)"


def test_a_phase_without_a_step_is_idle_but_not_the_first_and_none_without_a_plan() -> None:
    plan = {"steps": [{"phase": PHASES[2]}]}
    assert [is_idle(title, PHASES, plan) for title in PHASES] == [False, True, False]
    assert not is_idle(PHASES[1], PHASES, None)
    assert not is_idle("Something else", PHASES, plan), "a phase of a part that another playbook has too"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.4, "0s"), (59.4, "59s"), (59.6, "1m00s"), (130, "2m10s"), (3599.6, "1h00m"), (7322, "2h02m")],
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
