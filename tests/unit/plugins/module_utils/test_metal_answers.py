"""What of an answer is used: JSON that is not too deep, and fields of their types."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.metal_answers import (
    DEEPEST,
    FIELDS,
    LONGEST,
    NotJsonError,
    decoded,
    number,
    shaped,
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b"9" * 5000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda content: content[:12],
)
def test_invalid_json_is_an_error(content: bytes) -> None:
    with pytest.raises(NotJsonError):
        decoded(content)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": "' + b"[" * 1000 + b'"}', {"a": "[" * 1000}),
        (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        (b'["\\ud800", "\\uDFFF\\ud83d"]', ["?", "??"]),
        (b'"\\\\ud800"', "\\ud800"),
        ("\N{SNOWMAN}".encode().join([b'"', b'"']), "\N{SNOWMAN}"),
        (json.dumps({"a": 1}).encode("utf-16"), {"a": 1}),
    ],
)
def test_json_is_read(content: bytes, value: Any) -> None:
    read = decoded(content)
    json.dumps(read).encode()
    assert read == value


def test_numbers_are_finite() -> None:
    for value in (0, -1, 1.5, 2**62, -(2**62)):
        assert number(value) == value
    malformed: Any
    for malformed in (None, True, "1", [], {}, float("nan"), float("inf"), -float("inf"), 10**400, 2**63, 1e300):
        assert number(malformed) is None


GOOD: dict[str, Any] = {
    "id": "a",
    "hostname": "",
    "description": "x" * 2 * LONGEST,
    "vxlan": 7,
    "locked": False,
    "address_family": 4,
    "tags": ["a", "b"],
    "plan": {"slug": "c3", "pricing": {"hour": 1.5}},
    "specs": {"hour": "odd as it may be"},
    "ip_addresses": [{"address": "198.51.100.1", "public": True}],
    "customdata": {"id": [1]},
    "nobody knows it": [1],
}


def test_values_of_the_expected_type_stay() -> None:
    assert shaped(copy.deepcopy(GOOD)) == GOOD
    assert shaped(dict.fromkeys(FIELDS)) == dict.fromkeys(FIELDS), "null is of every type"


def test_values_of_another_type_are_dropped() -> None:
    malformed: dict[str, Any] = {
        "id": 7,
        "hostname": "x" * (LONGEST + 1),
        "description": ["text"],
        "vxlan": "7",
        "cidr": True,
        "asn": float("inf"),
        "locked": "false",
        "address_family": {},
        "tags": "a",
        "plan": "c3.small.x86",
        "metro": ["da"],
        "specs": [],
        "ip_addresses": {"address": "198.51.100.1"},
    }
    assert shaped(malformed) == {}
    inside = {"tags": ["a", 7, None, ["b"]], "devices": [{"id": ["a"]}, 7, None, {"plan": {"slug": 3, "name": "c3"}}]}
    assert shaped(inside) == {"tags": ["a"], "devices": [{}, {"plan": {"name": "c3"}}]}


def nested(levels: int, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _level in range(levels - 1):
        value = {name: value}
    return value


@pytest.mark.parametrize("name", ["customdata", "specs", "project", "virtual_networks", "odd"])
@pytest.mark.parametrize("levels", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 900])
@pytest.mark.parametrize("listed", [False, True])
def test_values_nested_too_deeply_are_dropped(name: str, levels: int, listed: bool) -> None:
    value: Any = {"id": "the deepest"}
    for level in range(levels - 2):
        value = [value] if listed and level % 2 else {"id": "a", name: value}
    value = {"id": "the whole", "customdata": {"a": 1}, name: value}
    kept = shaped(value)
    assert depth(json.loads(json.dumps(kept))) <= DEEPEST
    assert kept["id"] == "the whole"
    if name in ("customdata", "odd"):
        assert ("the deepest" in json.dumps(kept)) is (levels <= DEEPEST)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + max(map(depth, inner), default=0) if isinstance(value, (dict, list)) else 0
