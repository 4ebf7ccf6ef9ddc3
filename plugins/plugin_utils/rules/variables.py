# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the collection's variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS
from ansible.module_utils.errors import UnsupportedError

from ...module_utils.base.argspec import ENVIRONMENT, from_environment
from ...module_utils.base.errors import CollectionError
from ..settings.removed import OPTIONS_PATTERN, REMOVED
from ..settings.variables import VARIABLES

__all__ = ["or_environment", "problems", "typed", "with_removed_options"]


def or_environment(value: Any, option: str) -> Any:
    """Return the value, or if it is empty that of the environment variables which modules read for this option."""
    return value or from_environment(ENVIRONMENT[option]) or ""


def with_removed_options(pattern: str) -> list[str]:
    """Return the pattern of names and that of the options of roles that are gone, for the lookup ``varnames``."""
    return [str(pattern), OPTIONS_PATTERN]


def typed(value: Any, name: str) -> Any:
    """Return the value of a variable in its type, since ``-e name=value`` gives a string; its default for an empty one."""
    if errors := variable_errors({name: value}):
        raise CollectionError(errors[0])
    return DEFAULT_TYPE_VALIDATORS[VARIABLES[name].type](VARIABLES[name].default if value in (None, "") else value)


def problems(values: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return which values are of another type than their variable, and which of all names are gone, each with what to do."""
    return [
        *variable_errors(values, without_preflight=True),
        *(f"{name} is gone: {REMOVED[name]}" for name in sorted(names) if name in REMOVED),
    ]


def variable_errors(values: Mapping[str, Any], *, without_preflight: bool = False) -> list[str]:
    """Return which variables have a value of another type than theirs, or none of their choices, without the values of secrets.

    An empty value counts as not set. ``without_preflight``: also choices that preflight has a check of its own for.
    """
    problems: list[str] = []
    for name, value in values.items():
        spec = VARIABLES[name].spec() if name in VARIABLES else {}
        if not spec or value is None or value == "":
            continue
        if without_preflight and VARIABLES[name].choices:
            spec["choices"] = list(VARIABLES[name].choices)
        if "options" in spec and not isinstance(value, Mapping | str):  # the validator of keys raises TypeError
            problems.append(f"{name} is not of type {spec['type']}")
            continue
        result = ArgumentSpecValidator({name: spec}).validate({name: value})
        if result.error_messages and VARIABLES[name].is_secret:
            unknown = [error.msg for error in result.errors if isinstance(error, UnsupportedError)]
            problems += unknown or [
                f"{name} is not of type {spec['type']}{', or one of its keys has another type' if VARIABLES[name].suboptions else ''}"
            ]
        else:
            problems += result.error_messages
    return problems
