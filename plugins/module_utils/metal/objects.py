# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common fields of Metal API objects: references, metro, state, and tags and texts in comparable form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.diff import digest
from ..base.json_objects import mapping
from ..base.times import time_of, timestamp

if TYPE_CHECKING:
    from ..clients.metal import MetalClient

DELETING_STATES = frozenset({"deprovisioning", "deleted"})
"""States of a device that is being deleted, or is."""


def reference(stub: Any) -> str | None:
    """Return the id of a referenced object: its ``id``, else the last part of its ``href`` (``/metal/v1/projects/<id>``)."""
    if not isinstance(stub, Mapping):
        return None
    identity = stub.get("id")
    if isinstance(identity, str):
        return identity
    href = stub.get("href")
    return href.rstrip("/").rpartition("/")[2] or None if isinstance(href, str) else None


def references(stubs: Any) -> list[str]:
    """Return the ids of a list of references, without malformed ones."""
    return [identity for identity in map(reference, stubs if isinstance(stubs, list) else []) if identity]


def metro_code(item: Mapping[str, Any]) -> str | None:
    """Return the code of an object's metro, in lower case."""
    code = inner(item, "metro", "code")
    if code is None:
        code = item.get("metro_code")
    return code.lower() if isinstance(code, str) else None


def state_of(device: Mapping[str, Any]) -> str:
    """Return the device's state, ``unknown`` when the API returned none."""
    state = device.get("state")
    return state if isinstance(state, str) else "unknown"


def plan_name(device: Mapping[str, Any]) -> str | None:
    return inner(device, "plan", "slug") or inner(device, "plan", "name")


def inner(item: Mapping[str, Any], outer: str, inner: str) -> str | None:
    value = mapping(item.get(outer)).get(inner)
    return value if isinstance(value, str) else None


def texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def normal_tags(tags: Iterable[str]) -> list[str]:
    """Return tags in comparable form: their order is irrelevant."""
    return sorted(set(tags))


def normal_data(value: Any) -> str:
    """Return customdata as a digest, to compare and show. Sent as JSON text it is returned as an object (known from packngo)."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return digest(value)
    return digest(json.dumps(value, sort_keys=True, separators=(",", ":"))) if value else ""


def normal_time(value: Any) -> str | None:
    """Return a time as the API writes it; without a zone it is UTC (vendor's OpenAPI text). Another text is returned unchanged."""
    if not isinstance(value, str) or not value:
        return None
    moment = time_of(value)
    return value if moment is None else timestamp(moment)


def filter_tag(tags: Iterable[str]) -> str | None:
    """Return the tag for the API's filter of devices: it accepts one, and splits it at commas."""
    return next((tag for tag in tags if "," not in tag), None)


def project_of(client: MetalClient, device: str) -> str | None:
    return reference(client.read(f"devices/{device}", doing=f"read the project of device {device}").get("project"))
