# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of userdata: the rules of the API's validator (userdata-rb 1.0.4), within the limits of :mod:`metal_api.core.parsing`.

Of what is longer than these the beginning alone is validated: the machine reads it in any case.
"""

from __future__ import annotations

import email
import re
import zlib
from collections.abc import Callable

import orjson
import yaml

from metal_api.core import parsing
from metal_api.core.call import Call, Reply, Route
from metal_api.core.errors import unprocessable
from metal_api.core.resource import Resource

UNRECOGNIZED = "Userdata unrecognized userdata format"

_MARKED = re.compile(r"#!.+|#ps1|#cloud-boothook|#include|#part-handler|#upstart-job|## template: jinja\n")

# Errors of MIME messages and of their addresses are of many kinds.
_UNPARSED = (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_MIME_COST = 4
"""Of a character, compared with YAML: nested parts take the parser a time that grows with their number."""
_HEAD = 2**12
"""Characters in which the type of a MIME message is searched."""

_PART_TYPES = frozenset(
    {
        "text/x-include-once-url",
        "text/x-include-url",
        "text/cloud-config-archive",
        "text/upstart-job",
        "text/cloud-config",
        "text/part-handler",
        "text/x-shellscript",
        "text/cloud-boothook",
        "text/jinja2",
        "text/plain",
    }
)


def problem(text: str) -> str | None:
    """Return the problem of ``text``, None if it is valid. Its beginning determines the format; YAML, JSON, gzip and MIME are parsed."""
    if not text.strip() or _MARKED.match(text):
        return None
    if text.startswith("#cloud-config\n"):
        return _parse_problem(parsing.check_yaml, text, len(text))
    if text.startswith(("{", "[")):
        # Fast, and bounded by the size of the request.
        return _parse_problem(orjson.loads, text, 0)
    if text.startswith("\x1f\x8b"):
        return _gzip_problem(text)
    if re.match(r"(?:[A-Za-z-]+:.*\n)*Content-Type: multipart/mixed", text[:_HEAD], re.IGNORECASE):
        return _parse_problem(_check_mime, text, len(text) * _MIME_COST)
    return UNRECOGNIZED


def _parse_problem(parse: Callable[[str], object], text: str, cost: int) -> str | None:
    if not parsing.affords(cost):
        return None
    try:
        parse(text)
    except _UNPARSED:
        return UNRECOGNIZED
    return None


def _gzip_problem(text: str) -> str | None:
    try:
        unpacking = zlib.decompressobj(wbits=31)
        inside = unpacking.decompress(text.encode("latin-1"), parsing.PARSED + 1)
        if len(inside) > parsing.PARSED:
            return None
        if not unpacking.eof or inside.startswith(b"\x1f"):
            # Packed twice is nothing that cloud-init unpacks.
            return UNRECOGNIZED
        return problem(inside.decode())
    except (UnicodeError, zlib.error):
        return UNRECOGNIZED


def _check_mime(text: str) -> None:
    message = email.message_from_string(text)
    parts = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
    if not parts or any(type_ not in _PART_TYPES for type_ in parts):
        raise ValueError("a part has another type")


def validate(call: Call) -> Reply:
    wrong = problem(str(call.field("userdata") or ""))
    if wrong:
        raise unprocessable(wrong)
    return Reply(status=204)


ROUTES = [Route("POST", "/userdata/validate", validate)]


RESOURCE = Resource(
    routes=ROUTES,
)
