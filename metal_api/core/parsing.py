# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers for what clients send: bounded, since they run on the event loop, where nothing else is answered meanwhile."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

import orjson
import yaml

PARSED: Final = 2**15
"""Characters that the slow parsers (YAML, MIME) read for one request: 0.1 to 0.3 s of work."""
DEEPEST: Final = 100
"""Levels of lists and objects in a text. The time of the YAML parser grows with their square."""
_STORED_DEEPER: Final = 100
"""Levels that a record and an answer put around a value that a client sent."""

# Of libyaml where PyYAML has it, which is 20 times as fast.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_left: ContextVar[int] = ContextVar("characters left to parse", default=PARSED)


def begin() -> None:
    """Begin a request: what it sends may be parsed up to :data:`PARSED`."""
    _left.set(PARSED)


def affords(characters: int) -> bool:
    """Return whether the current request may parse so many characters, and count them."""
    if characters > (left := _left.get()):
        return False
    _left.set(left - characters)
    return True


def load_json(text: bytes | str) -> Any:
    """Return a JSON value. Raises ValueError, also for one that is too deep to be stored and sent again."""
    value = orjson.loads(text)
    try:
        around: Any = value
        for _level in range(_STORED_DEEPER):
            around = [around]
        orjson.dumps(around)
    except TypeError:
        raise ValueError("the value is nested too deeply") from None
    return value


def check_yaml(text: str) -> None:
    """Parse YAML without making its values, whose aliases a few lines can repeat billions of times.

    Raises ``yaml.YAMLError`` and ValueError.
    """
    depth, anchors = 0, set[str]()
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ValueError(f"the alias {event.anchor} has no anchor")
        elif isinstance(event, yaml.NodeEvent) and event.anchor:
            anchors.add(event.anchor)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")
