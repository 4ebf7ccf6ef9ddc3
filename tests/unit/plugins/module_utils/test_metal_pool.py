"""Names by pattern and number, and who goes when there are too many."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.machines.pool import (
    NamePattern,
    PatternError,
    names_by_number,
    names_by_what_is_there,
    removal_order,
    surplus,
)


def device(number: int | str, created: int = 0, state: str = "active") -> dict[str, Any]:
    name = f"worker-{number}.demo" if isinstance(number, int) else number
    return {"id": f"id-{name}-{created}", "hostname": name, "created_at": f"2026-01-01T00:00:{created:02}Z", "state": state}


def names(devices: Any) -> list[str]:
    return [each["hostname"] for each in devices]


PATTERN = NamePattern.parse("worker-{index}.demo", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker-{index}.demo", ["worker-9.demo", "worker-10.demo"]),
        ("worker-{index:02}", ["worker-09", "worker-10"]),
        ("worker-{index:03d}", ["worker-009", "worker-010"]),
        ("w%d.demo", ["w9.demo", "w10.demo"]),
        ("w%02d", ["w09", "w10"]),
    ],
)
def test_the_number_s_place_is_written_in_several_ways(text: str, expected: list[str]) -> None:
    pattern = NamePattern.parse(text, 9)
    assert names_by_number(pattern, 2) == expected
    assert [pattern.number(name) for name in expected] == [9, 10]


@pytest.mark.parametrize("text", ["worker", "{index}-{index}", "%d-{index}", "{other}"])
def test_a_pattern_has_one_place(text: str) -> None:
    with pytest.raises(PatternError, match="one is needed"):
        NamePattern.parse(text, 0)


@pytest.mark.parametrize("name", ["worker-.demo", "worker-01.demo", "xworker-1.demo", "worker-1.demo.com", "worker--1.demo", "", None])
def test_other_names_are_not_of_the_pattern(name: str | None) -> None:
    assert PATTERN.number(name) is None


def test_a_name_below_the_first_number_is_not_of_the_pattern() -> None:
    pattern = NamePattern.parse("worker-{index}.demo", 5)
    assert pattern.number("worker-4.demo") is None
    assert pattern.number("WORKER-5.demo") == 5


def test_the_newest_go_first_and_of_equals_the_one_whose_name_comes_last() -> None:
    devices = [device(0, 3), device(1, 1), device(2, 3), device(3, 2)]
    assert names(removal_order(devices, "newest")) == ["worker-2.demo", "worker-0.demo", "worker-3.demo", "worker-1.demo"]
    assert names(removal_order(devices, "oldest"))[0] == "worker-1.demo"


def test_the_failed_go_before_the_newest() -> None:
    devices = [device(0, 1, "failed"), device(1, 2), device(2, 3)]
    assert names(removal_order(devices, "failed_first")) == ["worker-0.demo", "worker-2.demo", "worker-1.demo"]


@pytest.mark.parametrize(
    ("count", "rule", "expected"),
    [
        (2, "newest", [1, 7]),
        (2, "oldest", [3, 7]),
        (2, "failed_first", [3, 7]),
        (3, "newest", [1, 3, 7]),
        (5, "newest", [0, 1, 2, 3, 7]),
    ],
)
def test_devices_that_are_there_keep_their_numbers_and_free_ones_are_filled(count: int, rule: str, expected: list[int]) -> None:
    there = [device(7, 2), device(1, 1, "failed"), device(3, 3), device("other.demo", 4)]
    assert names_by_what_is_there(PATTERN, count, there, rule) == [f"worker-{number}.demo" for number in expected]


def test_with_a_pattern_only_its_own_names_are_too_many() -> None:
    there = [device(0), device(1), device(2), device("master-0.demo"), {"id": "x", "hostname": None}]
    assert names(surplus(there, ["WORKER-0.demo"], PATTERN, "named")) == ["worker-1.demo", "worker-2.demo"]
    assert names(surplus(there, ["worker-0.demo"], None, "named")) == ["master-0.demo", "worker-1.demo", "worker-2.demo"]
