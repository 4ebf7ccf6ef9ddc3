"""Options by which something is found: one that is given has to say something."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options, out_of_range

OPTIONS = Options(
    {
        "id": {"type": "str"},
        "vxlan": {"type": "int"},
        "tags": {"type": "list", "elements": "str"},
        "description": {"type": "str"},
        "device_id": {"type": "str"},
        "ids": {"type": "list", "elements": "str"},
    },
    required_one_of=[["id", "vxlan", "tags", "description"]],
)


@pytest.mark.parametrize(
    ("given", "cleared"),
    [
        ({"id": "x"}, []),
        ({"id": ""}, ["id"]),
        ({"id": " ", "vxlan": 5}, ["id"]),
        ({"tags": []}, ["tags"]),
        ({"tags": [""]}, ["tags"]),
        ({"tags": [], "description": ""}, ["tags", "description"]),
        ({"id": "x", "tags": [], "description": ""}, []),
        ({"vxlan": 0, "tags": []}, []),
        ({"tags": [], "description": "x"}, []),
        ({"id": "", "tags": ["x"], "description": ""}, ["id"]),
        ({"id": "x", "device_id": ""}, ["device_id"]),
        ({"id": "x", "ids": []}, []),
    ],
)
def test_empty_option_values_are_reported(given: dict[str, Any], cleared: list[str]) -> None:
    result = OPTIONS.cleared({**dict.fromkeys(OPTIONS.argument_spec), **given}, ("id", "device_id", "ids"))
    assert [text.partition(" ")[0] for text in result] == cleared


@pytest.mark.parametrize(
    ("name", "value", "good"),
    [
        ("wait_timeout", None, True),
        ("wait_timeout", 0, True),
        ("wait_timeout", 1e9, True),
        ("wait_timeout", 1.1e9, False),
        ("wait_timeout", -0.1, False),
        ("wait_timeout", float("nan"), False),
        ("wait_timeout", float("inf"), False),
        ("metal_api_timeout", 0.1, True),
        ("metal_api_timeout", 0, False),
        ("metal_api_timeout", float("nan"), False),
    ],
)
def test_impossible_timeouts_are_refused(name: str, value: float | None, good: bool) -> None:
    assert (out_of_range(name, value) is None) == good
    found = Options({name: {"type": "float"}, "vxlan": {"type": "int"}}).out_of_range({name: value, "vxlan": -1})
    assert found == ([] if good else [out_of_range(name, value)])
