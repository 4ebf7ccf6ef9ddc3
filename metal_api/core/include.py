# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``include`` and ``exclude``: which parts of an answer are rendered in full and which as stubs (``{"href": ...}``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Tree = dict[str, Any]

MAX_LEVELS = 3


class Include:
    """The included and excluded parts at one level of an answer; ``below(name)`` is the next level."""

    __slots__ = ("_exclude", "_include")

    def __init__(self, include: Tree, exclude: Tree) -> None:
        self._include = include
        self._exclude = exclude

    @classmethod
    def parse(cls, include: Iterable[str], exclude: Iterable[str]) -> Include:
        """Parse comma-separated lists with up to three levels, separated by dots (vendor's OpenAPI text). Unknown names are ignored."""
        return cls(_tree(include), _tree(exclude))

    def part(self, name: str, href: str, render: Callable[[Include], Any], *, by_default: bool = False) -> Any:
        """Return a sub-object: in full if it is included, or by default unless it is excluded; else its stub."""
        if self.includes(name, by_default=by_default):
            return render(self.below(name))
        return {"href": href}

    def includes(self, name: str, *, by_default: bool = False) -> bool:
        """Return whether a sub-object is rendered in full."""
        return name in self._include or (by_default and self._exclude.get(name) != {})

    def below(self, name: str) -> Include:
        include, exclude = self._include.get(name), self._exclude.get(name)
        return Include(include or {}, exclude or {}) if include or exclude else PLAIN

    def __bool__(self) -> bool:
        return bool(self._include or self._exclude)


PLAIN = Include({}, {})


def _tree(lists: Iterable[str]) -> Tree:
    tree: Tree = {}
    for path in (part.strip() for text in lists for part in text.split(",")):
        branch = tree
        for name in path.split(".")[:MAX_LEVELS] if path else ():
            branch = branch.setdefault(name, {})
    return tree
