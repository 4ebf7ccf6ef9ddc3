# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print several lines of text with every stdout callback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.base.printable import printable
from ..plugin_utils.actions.printing_action import PrintingAction
from ..plugin_utils.actions.screen import show

LONGEST = 2000
"""Characters of one line: a long error still fits."""


class ActionModule(PrintingAction):
    """Prints the lines, and returns them for callbacks that keep results."""

    OPTIONS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"lines": {"type": "raw", "required": True}}

    def print_result(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        requested = options["lines"]
        lines = [part for item in (requested if isinstance(requested, list) else [requested]) for part in str(item).splitlines() or [""]]
        lines = [printable(line, LONGEST) for line in lines]
        if lines:
            show("\n".join(lines))
        return {"lines": lines}
