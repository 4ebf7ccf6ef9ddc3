# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is declared of a variable of the collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PRIVATE = "__"
"""Prefix of what a role reads of a variable without an option for it."""
PREFLIGHT = "validate_settings"
"""The option of the role ``validate`` that has the values of many variables, by their names without ``openshift_``."""


@dataclass(frozen=True)
class Variable:
    """A variable of the collection, and the options of roles that carry its value."""

    name: str
    type: str = "raw"
    text: str = ""
    """Its description, in the markup of ansible-doc. ``O()`` names another variable. Empty if it is an option of ``metal_device_set``."""
    default: Any = None
    """None if the default is computed, or if there is none."""
    elements: str = ""
    choices: tuple[str, ...] = ()
    unit: str = ""
    no_log: bool | None = None
    example: Any = None
    required: bool = False
    expression: str = ""
    """A Jinja expression of its value where the default is more than a constant."""
    computed: str = ""
    """What ``expression`` uses by default, in Markdown."""
    suboptions: tuple[Variable, ...] = ()
    """The keys of a dictionary."""
    read_by: tuple[str, ...] = ()
    """The options of roles that carry its value. In a role that is a step of the playbooks it is no option: ``__<role>_x``."""
    is_of_host: bool = False
    """The filter ``machines`` reads it from each host, so it can be set for a group or a host."""
    has_check: bool = False
    """Preflight has a check of its own for its choices."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options of roles that carry its value alone."""
        return tuple(option for option in self.read_by if option != PREFLIGHT)

    @property
    def is_secret(self) -> bool:
        """Whether its value, or that of one of its keys, is a secret."""
        return bool(self.no_log) or any(option.is_secret for option in self.suboptions)

    def spec(self) -> dict[str, Any]:
        """Return its type and choices as an argument spec, an empty one if the filter ``machines`` alone checks its value."""
        if self.is_of_host and not self.options:
            return {}
        spec: dict[str, Any] = {"type": self.type}
        if self.elements:
            spec["elements"] = self.elements
        if self.choices and not self.has_check:
            spec["choices"] = list(self.choices)
        if self.no_log is not None:
            spec["no_log"] = self.no_log
        if self.suboptions:
            spec["options"] = {option.name: option.spec() for option in self.suboptions}
        return spec


def _of_type(kind: str, empty: Any, **common: Any) -> Callable[..., Variable]:
    """Return what declares variables of a type by name and text. Their default is empty, unless it is given or there is none."""

    def declare(name: str, text: str, **more: Any) -> Variable:
        has_default = not more.keys() & {"required", "computed", "is_of_host"}
        return Variable(name, kind, text, **{**common, **({"default": empty} if has_default else {}), **more})

    return declare


string = _of_type("str", "")
flag = _of_type("bool", False)
number = _of_type("int", 0)
seconds = _of_type("int", 0, unit="seconds")
strings = _of_type("list", [], elements="str")
dictionaries = _of_type("list", [], elements="dict")
dictionary = _of_type("dict", {})
