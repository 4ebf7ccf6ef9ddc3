"""Options by which something is found: one that is given has to say something."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils._argspec import Options

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
def test_what_is_given_and_says_nothing_is_told(given: dict[str, Any], cleared: list[str]) -> None:
    told = OPTIONS.cleared({**dict.fromkeys(OPTIONS.argument_spec), **given}, ("id", "device_id", "ids"))
    assert [text.partition(" ")[0] for text in told] == cleared
