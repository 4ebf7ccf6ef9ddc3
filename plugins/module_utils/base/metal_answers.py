# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of the Metal API's answers: JSON, and the types of fields.

A field of another type is removed here, so that all other code has to handle missing fields only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 64
"""Levels of nested lists and objects. Answers have up to 10, except in users' customdata."""
LARGEST = 2**63
"""Limit of numbers. The API's are far smaller, and arithmetic with floats fails beyond it."""
LONGEST = 1000
"""Characters of a text, except long ones such as descriptions."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class NotJsonError(ValueError):
    """Bytes that are not valid JSON."""


def decoded(content: bytes) -> Any:
    """Return the JSON value. Raises NotJsonError, also for ``NaN``, which Python would take.

    Halves of characters (``\\ud800`` alone) become question marks: such a text could neither be hashed nor printed.
    """
    try:
        value = json.loads(content, parse_constant=_refuse)
        if _SURROGATE.search(content):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise NotJsonError(str(problem)) from problem
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def number(value: Any) -> int | float | None:
    """Return a finite number in the limits; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -LARGEST < value < LARGEST else None


# Each returns the valid value, or None.


def _text(value: Any) -> Any:
    return value if isinstance(value, str) and len(value) <= LONGEST else None


def _only(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else None


def _word(value: Any) -> Any:
    """Return a text or a number: the type depends on the kind of object."""
    return _text(value) if isinstance(value, str) else number(value)


def _texts(value: Any) -> Any:
    return [entry for entry in value if _text(entry) is not None] if isinstance(value, list) else None


def _object(value: Any) -> Any:
    return _typed(value) if isinstance(value, dict) else None


def _objects(value: Any) -> Any:
    return [_typed(entry) for entry in value if isinstance(entry, dict)] if isinstance(value, list) else None


def _fields(kind: Callable[[Any], Any], names: str) -> dict[str, Callable[[Any], Any]]:
    return dict.fromkeys(names.split(), kind)


FIELDS: Mapping[str, Callable[[Any], Any]] = {
    **_fields(
        _text,
        "id href hostname name slug code state type status metro_code network_type billing_cycle termination_time created_at"
        " updated_at requested_at network netmask gateway address mac label fingerprint gateway_address deployment_type md5 lifecycle_state"
        " ipxe_script_url line class country switch_name",
    ),
    **_fields(_only(str), "description details key body userdata use_case"),
    **_fields(number, "vxlan cidr asn local_asn max_prefix spot_price_max provisioning_percentage hour"),
    **_fields(
        _only(bool),
        "locked always_pxe network_frozen spot_instance public management manageable global_ip bonded default_route"
        " backend_transfer_enabled provisionable spare need_of_service licensed",
    ),
    **_fields(_word, "address_family"),
    **_fields(_texts, "tags ip_ranges categories deployment_types provisionable_on error_messages learned_routes"),
    **_fields(
        _object,
        "plan metro facility operating_system project device hardware_reservation assigned_to parent_block vrf virtual_network"
        " native_virtual_network ip_reservation metal_gateway organization payment_method data bond pricing",
    ),
    **_fields(_only(dict), "specs max_devices"),
    **_fields(
        _objects,
        "ip_addresses network_ports virtual_networks provisioning_events assignments devices instances relationships"
        " available_in_metros projects metal_gateways",
    ),
}
"""The fields that are read, by their names: a name means the same in every kind of object (vendor's OpenAPI text)."""


def shaped(item: dict[str, Any]) -> dict[str, Any]:
    """Return the object without fields of another type, at every level, and without levels deeper than ``DEEPEST``.

    ``null`` is of every type. Fields of unknown names stay as they are.
    """
    return _typed(item if _is_flat(item) else _cut(item, DEEPEST))


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    wrong = []
    for name, value in item.items():
        if value is not None and name in FIELDS:
            kept = FIELDS[name](value)
            if kept is None:
                wrong.append(name)
            elif kept is not value:
                item[name] = kept
    for name in wrong:
        del item[name]
    return item


def _is_flat(value: Any) -> bool:
    level = [value]
    for _depth in range(DEEPEST):
        level = [
            inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer) if isinstance(inner, (dict, list))
        ]
        if not level:
            return True
    return False


def _cut(value: Any, levels: int) -> Any:
    """Return the value without lists and objects below this number of levels."""
    if isinstance(value, dict):
        return {name: _cut(inner, levels - 1) for name, inner in value.items() if levels > 1 or not isinstance(inner, (dict, list))}
    if isinstance(value, list):
        return [_cut(inner, levels - 1) for inner in value if levels > 1 or not isinstance(inner, (dict, list))]
    return value
