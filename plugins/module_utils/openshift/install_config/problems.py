# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with an install-config, in the texts of Kubernetes' field errors, which the installer uses.

Values that may be secret or fill a screen are not repeated: the text says so in their place.

Note that this module util is private to the collection: it may change without notice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WHOLE_TEXT = "(the whole text)"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a field: its path, and the installer's text, which begins with the path."""

    path: str
    text: str

    @property
    def top(self) -> str:
        """The field of the install-config that it is in."""
        return re.split(r"[.\[]", self.path, maxsplit=1)[0]


def invalid(path: str, value: Any, detail: str) -> Problem:
    return Problem(path, f"{path}: Invalid value: {quoted(value)}: {detail}")


def hidden(path: str, detail: str) -> Problem:
    """Return a problem whose text does not repeat the value."""
    return Problem(path, f"{path}: Invalid value: {WHOLE_TEXT}: {detail}")


def required(path: str, detail: str) -> Problem:
    return Problem(path, f"{path}: Required value: {detail}")


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, f"{path}: Forbidden: {detail}")


def unsupported(path: str, value: str, supported: Sequence[str]) -> Problem:
    return Problem(path, f"{path}: Unsupported value: {quoted(value)}: supported values: {', '.join(map(quoted, supported))}")


def quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
