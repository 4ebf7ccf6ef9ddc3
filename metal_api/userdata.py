# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of userdata: the rules of the API's validator (userdata-rb 1.0.4)."""

from __future__ import annotations

import email
import re
import zlib
from collections.abc import Callable

import orjson
import yaml

from metal_api.core.bodies import LARGEST
from metal_api.core.call import Call, Reply, Route
from metal_api.core.errors import unprocessable
from metal_api.core.resource import Resource

UNRECOGNIZED = "Userdata unrecognized userdata format"

_MARKED = re.compile(r"#!.+|#ps1|#cloud-boothook|#include|#part-handler|#upstart-job|## template: jinja\n")

# PyYAML does not catch errors of its constructors: of the date 2001-99-99, for example, or of deeply nested lists.
_UNPARSED = (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

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
        return _parse_problem(yaml.safe_load, text)
    if text.startswith(("{", "[")):
        return _parse_problem(orjson.loads, text)
    if text.startswith("\x1f\x8b"):
        return _gzip_problem(text)
    if re.match(r"(?:[A-Za-z-]+:.*\n)*Content-Type: multipart/mixed", text, re.IGNORECASE):
        return _mime_problem(text)
    return UNRECOGNIZED


def _parse_problem(parse: Callable[[str], object], text: str) -> str | None:
    try:
        parse(text)
    except _UNPARSED:
        return UNRECOGNIZED
    return None


def _gzip_problem(text: str) -> str | None:
    try:
        unpacking = zlib.decompressobj(wbits=31)
        inside = unpacking.decompress(text.encode("latin-1"), LARGEST)
        return problem(inside.decode()) if unpacking.eof else UNRECOGNIZED
    except (UnicodeError, zlib.error):
        return UNRECOGNIZED


def _mime_problem(text: str) -> str | None:
    message = email.message_from_string(text)
    parts = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
    return None if parts and all(each in _PART_TYPES for each in parts) else UNRECOGNIZED


def validate(call: Call) -> Reply:
    wrong = problem(str(call.field("userdata") or ""))
    if wrong:
        raise unprocessable(wrong)
    return Reply(status=204)


ROUTES = [Route("POST", "/userdata/validate", validate)]


RESOURCE = Resource(
    routes=ROUTES,
)
