# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error answers of the Metal API.

The body is ``{"errors": ["text", ...]}``; a failed validation is always 422, never 400 or 409 (vendor's OpenAPI text). Texts are those of
public issue threads where one is known; the others are marked "ours".
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
    """Return the error for an unknown id and for an object of another owner: the service does not distinguish them."""
    return ApiError(404, "Not found")


def unprocessable(*texts: str) -> ApiError:
    return ApiError(422, *texts)


def is_blank(value: Any) -> bool:
    """Return whether a field counts as unset: null, an empty text or object, or a list of such.

    Clients in Go send these for unset fields.
    """
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None or value == {} or (isinstance(value, str) and not value.strip())


def not_valid(value: Any, kind: str) -> str:
    """Return the 422 text for an unknown name: "Facility can't be blank" and "ams1 is not a valid facility" are real."""
    if is_blank(value):
        return f"{kind.capitalize()} can't be blank"
    return f"{value if isinstance(value, str) else orjson.dumps(value).decode()} is not a valid {kind}"


def forbidden() -> ApiError:
    return ApiError(403, "Access denied for the current authentication token")


def unauthorized() -> ApiError:
    """Ours except for its first word: the real text is not published, and a client searches for "Invalid" in it."""
    return ApiError(401, "Invalid authentication token")


# Parts of the real service that the sandbox does not imitate -> their calls (regular expression on method and path). docs/sandbox.md has
# the same table, with all calls of the vendor's OpenAPI text.
MISSING = {
    "interconnections and their virtual circuits: there is no other network to connect to": r"/connections\b|/virtual-circuits\b",
    "the baseboard controllers of machines: a pretended machine has no screen and no sensors": r"/diagnostics/",
    "traffic of single ports": r"/traffic$",
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
    """Return the error (ours) for a call of the real service that the sandbox does not imitate, None for other calls."""
    for what, pattern in MISSING.items():
        if re.search(pattern, f"{method} {path}"):
            return ApiError(501, f"This Metal API has no {what} ({method} {path}): docs/sandbox.md lists what is missing.")
    return None


def unknown(method: str, path: str) -> ApiError:
    """Return the error (ours) for a call that may or may not exist at the real service."""
    return ApiError(501, f"This Metal API has no {method} {path}: docs/sandbox.md lists what is missing.")
