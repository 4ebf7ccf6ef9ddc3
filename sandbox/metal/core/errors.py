# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error answers of the Metal API.

The body is ``{"errors": ["text", ...]}``; what fails validation is always 422, never 400 or 409 (vendor's OpenAPI text). Texts are those
seen in public issue threads where one is known; the others are marked "ours" beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson


class ApiError(Exception):
    """An answer other than success: ``status`` and one or more texts."""

    def __init__(self, status: int, *texts: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(", ".join(texts))
        self.status = status
        self.texts = texts
        self.headers = dict(headers or {})


def not_found() -> ApiError:
    """Unknown id, or one of somebody else: the service does not say which."""
    return ApiError(404, "Not found")


def unprocessable(*texts: str) -> ApiError:
    return ApiError(422, *texts)


def is_blank(value: Any) -> bool:
    """Return whether a field counts as not given: null, an empty text, a list of such.

    Clients written in Go send these for fields that nobody has set.
    """
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None or value == {} or (isinstance(value, str) and not value.strip())


def not_valid(value: Any, kind: str) -> str:
    """Return the 422 text for a value that names nothing: "Facility can't be blank" and "ams1 is not a valid facility" are real."""
    if is_blank(value):
        return f"{kind.capitalize()} can't be blank"
    return f"{value if isinstance(value, str) else orjson.dumps(value).decode()} is not a valid {kind}"


def forbidden() -> ApiError:
    return ApiError(403, "Access denied for the current authentication token")


def unauthorized() -> ApiError:
    """Ours but for its first word: the real text is in no public copy, and a client looks for "Invalid" in it."""
    return ApiError(401, "Invalid authentication token")


# What belongs to which part of the real service that is not here: what is missing, and which calls that are (regular expression on method
# and path). docs/sandbox.md has the same table, with all calls of the vendor's OpenAPI text.
MISSING = {
    "interconnections and their virtual circuits: there is no other network to connect to": r"/connections\b|/virtual-circuits\b",
    "the baseboard controllers of machines: a pretended machine has no screen and no sensors": r"/diagnostics/",
    "traffic of single ports": r"/traffic$",
    "firmware of devices": r"/devices/[^/]+/firmware-sets$",
    "dynamic BGP neighbours of metal gateways": r"/bgp-dynamic-neighbors\b",
    "elastic addresses of metal gateways": r"/metal-gateways/[^/]+/ips\b",
    "events of VRF routes": r"/routes/[^/]+/events$",
    "reservations that customers buy themselves": r"/self-service/",
    "prices of the past": r"/spot/prices/history$",
    "billing, licences and transfers of projects": r"/(licenses|payment-methods|invoices|transfers)\b",
    "support": r"/(support-requests|incidents)\b",
    "how people are invited, sign up and sign in, and what roles they have": (
        r"/(invitations|emails|otp|reset-password|verify-email|roles|members)\b|(POST|PUT|PATCH) /users$|(PUT|PATCH|DELETE) /memberships/"
    ),
    "volumes: storage that could be attached to devices was gone long before": r"/(storage|volumes)\b",
}


def not_imitated(method: str, path: str) -> ApiError | None:
    """Ours: the real service has the call, the sandbox does not do it. None for a call that is of no part known to be missing."""
    for what, pattern in MISSING.items():
        if re.search(pattern, f"{method} {path}"):
            return ApiError(501, f"The sandbox does not imitate {what} ({method} {path}); docs/sandbox.md says what it does.")
    return None


def unknown(method: str, path: str) -> ApiError:
    """Ours: whether the real service has, or ever had, anything at ``path``, the sandbox does not know."""
    return ApiError(501, f"The sandbox does not imitate {method} {path}: see docs/sandbox.md for what it does.")
