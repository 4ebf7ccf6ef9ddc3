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


# What belongs to which part of the real service that is not here: path (regular expression) -> what is missing.
_MISSING = (
    (r"/connections|/virtual-circuits", "interconnections and their virtual circuits: there is no other network to connect to"),
    (r"/diagnostics/", "the baseboard controllers of machines: a pretended machine has no screen and no sensors"),
    (r"/traffic", "traffic of single ports"),
    (r"/devices/[^/]+/firmware-sets", "firmware of devices"),
    (r"/bgp-dynamic-neighbors|/metal-gateways/[^/]+/ips", "dynamic BGP neighbours and elastic addresses of metal gateways"),
    (r"/self-service/", "reservations that customers buy themselves"),
    (
        r"/licenses|/payment-methods|/invoices|/transfers|/invitations|/support-requests|/incidents",
        "billing, licences, invitations and support",
    ),
    (r"/emails|/otp|/reset-password|/verify-email|/roles|/members", "how people sign in and what roles they have"),
    (r"/spot/prices/history", "prices of the past"),
)


def not_imitated(method: str, path: str) -> ApiError:
    """Ours: the real service knows the call (or does not), the sandbox does not do it."""
    for pattern, what in _MISSING:
        if re.search(pattern, path):
            return ApiError(501, f"The sandbox does not imitate {what} ({method} {path}); docs/sandbox.md says what it does.")
    return ApiError(501, f"The sandbox does not imitate {method} {path}: see docs/sandbox.md for what it does.")
