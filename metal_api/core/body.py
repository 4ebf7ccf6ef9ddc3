# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a request's body field by field, with the 422 texts for invalid fields.

Texts seen in public issue threads are marked "real"; the others are ours, in the same form ("Field text").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from metal_api.core.errors import is_blank, unprocessable
from metal_api.core.parsing import load_json

Reader = Callable[[str, Any], Any]


class Body:
    """Reads a body and collects all its problems, for one answer."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self.problems: list[str] = []

    def fail(self) -> None:
        """Raise 422 if there are problems."""
        if self.problems:
            raise unprocessable(*self.problems)

    def readers(self) -> dict[str, Reader]:
        """Return the readers by field name, here those that several resources share. A field without a reader is a text."""
        return {
            "tags": self._tags,
            "customdata": self._customdata,
        }

    def attributes(self, *names: str, blank: Collection[str] = ()) -> dict[str, Any]:
        """Return the fields in ``names`` that were sent, as attributes of the record.

        ``blank``: fields that are left out when they are blank, so that the record's default applies.
        """
        readers = self.readers()
        return {
            name: readers.get(name, self.text)(name, self._body[name])
            for name in names
            if name in self._body and not (name in blank and is_blank(self._body[name]))
        }

    def text(self, name: str, value: Any) -> Any:
        if value is not None and not isinstance(value, str):
            self.problems.append(f"{label(name)} is invalid")
        return value

    def flag(self, name: str, value: Any) -> bool:
        if is_blank(value):
            return False
        if isinstance(value, bool) or str(value).lower() in {"true", "false", "1", "0"}:
            return str(value).lower() in {"true", "1"}
        self.problems.append(f"{label(name)} is invalid")
        return False

    def _tags(self, name: str, value: Any) -> tuple[str, ...]:
        """Read a list of strings; packet-python sends ``{}`` for an empty one."""
        if not value:
            return ()
        if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
            self.problems.append("Tags must be a list of strings")
            return ()
        return tuple(value)

    def _customdata(self, name: str, value: Any) -> dict[str, Any]:
        """Read an object; packngo and packet-python send it as a JSON string, the API returns an object."""
        if not value:
            return {}
        if isinstance(value, str):
            try:
                value = load_json(value)
            except ValueError:
                value = None
        if not isinstance(value, dict):
            self.problems.append("Customdata must be a JSON object")
            return {}
        return value

    def url(self, name: str, value: Any) -> str | None:
        if not value:
            return None
        try:
            parts = urlsplit(str(value))
            good = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            good = False
        if not good:
            self.problems.append(f"{label(name)} is not a valid URL")
        return str(value)

    def moment(self, label: str, value: Any) -> str | None:
        """Return a time in the future, in the API's format."""
        try:
            moment = datetime.fromisoformat(str(value))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.problems.append(f"{label} is invalid")
            return None
        if moment <= datetime.now(UTC):
            self.problems.append(f"{label} must be in the future")
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def ids(self, name: str, holder: Mapping[str, Any]) -> list[str]:
        ids = holder.get(name) or []
        if isinstance(ids, list) and all(isinstance(id_, str) for id_ in ids):
            return ids
        self.problems.append(f"{label(name)} must be a list of ids")
        return []


def amount(value: Any) -> float | None:
    """Return a sum of money from a number or, as packngo sends it, from its text. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def label(name: str) -> str:
    """Return a field's name as error texts have it."""
    return name.replace("_", " ").capitalize()
