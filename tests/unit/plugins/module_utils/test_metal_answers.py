"""What of an answer is not used. With modules: tests/contract/test_malformed.py."""

from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.metal_answers import (
    LONGEST,
    NotJsonError,
    decoded,
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
