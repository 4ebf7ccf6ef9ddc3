# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``include`` and ``exclude``: which parts of an answer are whole objects and which are stubs (``{"href": ...}``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Tree = dict[str, Any]

MAX_LEVELS = 3


class Wanted:
    """What was asked for at one level of an answer; ``below(name)`` is the next level."""

    __slots__ = ("_exclude", "_include")

    def __init__(self, include: Tree, exclude: Tree) -> None:
        self._include = include
        self._exclude = exclude

    @classmethod
    def parse(cls, include: Iterable[str], exclude: Iterable[str]) -> Wanted:
        """Comma lists, dots up to three levels (vendor's OpenAPI text). Names that do not exist are passed over."""
        return cls(_tree(include), _tree(exclude))

    def part(self, name: str, href: str, render: Callable[[Wanted], Any], *, whole: bool = False) -> Any:
        """A sub-object: rendered if it is asked for, or whole by itself and not excluded; else its stub."""
        if self.whole(name, unasked=whole):
            return render(self.below(name))
        return {"href": href}

    def whole(self, name: str, *, unasked: bool = False) -> bool:
        """Whether a list of sub-objects is rendered whole."""
        return name in self._include or (unasked and self._exclude.get(name) != {})

    def below(self, name: str) -> Wanted:
        include, exclude = self._include.get(name), self._exclude.get(name)
        return Wanted(include or {}, exclude or {}) if include or exclude else PLAIN

    def __bool__(self) -> bool:
        return bool(self._include or self._exclude)


PLAIN = Wanted({}, {})


def _tree(lists: Iterable[str]) -> Tree:
    tree: Tree = {}
    for path in (each.strip() for one in lists for each in one.split(",")):
        branch = tree
        for name in path.split(".")[:MAX_LEVELS] if path else ():
            branch = branch.setdefault(name, {})
    return tree
