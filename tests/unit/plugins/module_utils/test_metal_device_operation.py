"""Operations of a device are requested once: the tags and events that record them."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.operation import (
    Operation,
    events_after,
    oldest_first,
    operation_tags,
    under_way,
)

REINSTALL = Operation("reinstall", "window-7")


def event(number: int, type_: str, body: str = "", second: int | None = None) -> dict[str, Any]:
    seconds = number if second is None else second
    return {"id": f"e{number}", "type": type_, "body": body, "created_at": f"2026-01-01T00:00:{seconds:02}Z"}


INSTALLED = event(1, "provisioning.110", "Device phoned home and is ready to go")
QUEUED = event(2, "power.200", "Reboot operation queued")
STARTED = event(3, "power.201", "Power operation started")
REBOOTED = event(4, "power.203", "Device rebooted")
AGAIN = event(5, "provisioning.101", "Provisioning started")


@pytest.mark.parametrize("other", [Operation("reboot", "window-7"), Operation("reinstall", "window-8"), Operation("reinstall", "window")])
def test_operation_requests_are_distinguished(other: Operation) -> None:
    tags = other.done(REINSTALL.requested([], [INSTALLED]))
    assert REINSTALL.newest_before(tags) == "e1", "the other's end does not touch it"
    assert other.newest_before(tags) is None
    assert not REINSTALL.is_done(tags)
    assert operation_tags(REINSTALL.done(tags)) == [other.tag, REINSTALL.tag]


def test_a_word_may_look_like_more_than_a_word() -> None:
    short, long = Operation("reboot", "a"), Operation("reboot", "a:b")
    tags = long.requested([], [INSTALLED])
    assert short.newest_before(tags) is None
    assert long.newest_before(tags) == "e1"


def test_events_are_ordered_by_their_time_and_within_a_second_as_they_are_told() -> None:
    same = [event(number, "power.200", second=9) for number in (8, 7, 6)]  # newest first, as the service lists them
    assert [each["id"] for each in oldest_first([*same, INSTALLED])] == ["e1", "e6", "e7", "e8"]
    after = events_after([*same, INSTALLED], "e7")
    assert after is not None
    assert [each["id"] for each in after] == ["e8"]


def test_what_came_after_an_event_that_is_not_told_is_not_known() -> None:
    assert events_after([AGAIN, REBOOTED], "long-gone") is None
    assert events_after([], "long-gone") is None
    assert events_after([REBOOTED], "e4") == []


@pytest.mark.parametrize(
    ("kind", "events", "result"),
    [
        ("reboot", [QUEUED], True),
        ("reboot", [REBOOTED], True),
        ("rescue", [event(6, "power.200", "Rescue operation queued")], True),
        ("reboot", [event(6, "power.200", "Power off operation queued"), event(7, "power.202", "Device powered off")], False),
        ("reboot", [AGAIN], False),
        ("reinstall", [QUEUED, REBOOTED], False),
        ("reinstall", [AGAIN], True),
        ("reinstall", [INSTALLED, event(6, "provisioning.104.01")], False),
        ("reinstall", [event(6, "instance.reinstall", "Reinstall queued")], True),
    ],
)
def test_what_events_tell(kind: str, events: list[dict[str, Any]], result: bool) -> None:
    assert Operation(kind, "w").is_confirmed_by(events) is result


def test_a_power_operation_is_under_way_until_an_event_ends_it() -> None:
    assert under_way([INSTALLED, QUEUED]) == QUEUED
    assert under_way([INSTALLED, QUEUED, STARTED, AGAIN]) == STARTED
    assert under_way([INSTALLED, QUEUED, STARTED, REBOOTED]) is None
    assert under_way([INSTALLED]) is None
