# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error answers of the Metal API.

The body is ``{"errors": ["text", ...]}``; a failed validation is always 422, never 400 or 409 (vendor's OpenAPI text). Texts are those of
public issue threads where one is known; the others are marked "ours".
"""

from __future__ import annotations

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
