# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error answers of the Metal API.

The body is ``{"errors": ["text", ...]}``; what fails validation is always 422, never 400 or 409 (vendor's OpenAPI text). Texts are those
seen in public issue threads where one is known; the others are marked "ours" beside them.
"""

from __future__ import annotations

from collections.abc import Mapping


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


def forbidden() -> ApiError:
    return ApiError(403, "Access denied for the current authentication token")


def unauthorized() -> ApiError:
    """Ours but for its first word: the real text is in no public copy, and a client looks for "Invalid" in it."""
    return ApiError(401, "Invalid authentication token")


def not_imitated(method: str, path: str) -> ApiError:
    """Ours: the real service knows the call (or does not), the sandbox does not do it."""
    return ApiError(501, f"The sandbox does not imitate {method} {path}: see docs/sandbox.md for what it does.")
