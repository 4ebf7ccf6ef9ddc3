# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options with their constraints, and the options that all modules share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .identifiers import canonical_id


def identifier(*keywords: str, **option: Any) -> dict[str, Any]:
    """Return an option whose value, or each of its values, is the id of an object of the API or one of these keywords.

    See ``identifiers``; the key ``identifier`` is for :meth:`Options.canonical` alone, ``AnsibleModule`` does not get it.
    """
    return {"type": "str", **option, "identifier": keywords}


def identifiers(*keywords: str, **option: Any) -> dict[str, Any]:
    return identifier(*keywords, **option) | {"type": "list", "elements": "str"}


@dataclass(frozen=True)
class Options:
    """An argument spec and the rules between its options, with the names of ``AnsibleModule``'s arguments."""

    argument_spec: Mapping[str, Any] = field(default_factory=dict)
    mutually_exclusive: Sequence[Sequence[str]] = ()
    required_together: Sequence[Sequence[str]] = ()
    required_one_of: Sequence[Sequence[str]] = ()
    required_if: Sequence[Sequence[Any]] = ()
    required_by: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def also_known_as(self, **aliases: Sequence[str]) -> Options:
        """Return these options with aliases: the names of options in earlier collections."""
        named = {name: {**self.argument_spec[name], "aliases": list(others)} for name, others in aliases.items()}
        return replace(self, argument_spec={**self.argument_spec, **named})

    def merge(self, *others: Options) -> Options:
        """Return all options and rules. Raises ValueError if an option is defined twice."""
        merged = self
        for other in others:
            twice = set(merged.argument_spec) & set(other.argument_spec)
            if twice:
                raise ValueError(f"options given twice: {', '.join(sorted(twice))}")
            merged = Options(
                argument_spec={**merged.argument_spec, **other.argument_spec},
                mutually_exclusive=[*merged.mutually_exclusive, *other.mutually_exclusive],
                required_together=[*merged.required_together, *other.required_together],
                required_one_of=[*merged.required_one_of, *other.required_one_of],
                required_if=[*merged.required_if, *other.required_if],
                required_by={**merged.required_by, **other.required_by},
            )
        return merged

    def cleared(self, params: Mapping[str, Any], identities: Iterable[str] = ()) -> list[str]:
        """Return a problem for each empty option that selects an object; each of ``identities`` selects one by itself.

        For Ansible an empty text is a given value. It comes from an empty variable, and would match any object or none.
        """
        alone = [[name] for name in identities if self.argument_spec.get(name, {}).get("type") == "str"]
        empty: list[str] = []
        for names in [*self.required_one_of, *alone]:
            present = [name for name in names if params.get(name) is not None]
            nothing = [name for name in present if _is_empty(params[name])]
            empty += [name for name in nothing if name not in ATTRIBUTES or nothing == present]
        return [f"{name} is given, but empty: a variable may have been cleared" for name in dict.fromkeys(empty)]

    def canonical(self, params: dict[str, Any]) -> list[str]:
        """Replace ids among the parameters by their form in the API; return a problem for each malformed one."""
        return _canonical(self.argument_spec, params)

    def out_of_range(self, params: Mapping[str, Any]) -> list[str]:
        """Return a problem for each number out of range: Ansible also accepts ``nan``, ``inf`` and negative numbers."""
        floats = [name for name, option in self.argument_spec.items() if option.get("type") == "float"]
        return [problem for name in floats if (problem := out_of_range(name, params.get(name)))]

    def arguments(self) -> dict[str, Any]:
        return {**vars(self), "argument_spec": _without_own_keys(self.argument_spec)}


ABOVE_ZERO = frozenset({"metal_api_timeout", "api_timeout", "timeout", "time_scale"})
"""Timeouts, which must not be 0."""
GREATEST = 1e9
"""Maximum of options of type float (seconds, dollars): 31 years. Timers and sockets raise OverflowError beyond 292 years."""


def out_of_range(name: str, value: float | None) -> str | None:
    """Return the problem of a value of an option of type float; None for a valid one."""
    if value is None or (0 < value <= GREATEST) or (value == 0 and name not in ABOVE_ZERO):
        return None
    return f"{name} must be {'greater than 0' if name in ABOVE_ZERO else '0 or greater'} and at most {GREATEST:.0f}, not {value:g}"


ATTRIBUTES = frozenset({"tags", "description", "details"})
"""Options that can select an object and can be empty attributes of it: empty is valid if another option selects the object."""

ENVIRONMENT: Mapping[str, Sequence[str]] = {
    "metal_api_url": ["METAL_API_URL"],
    "metal_api_token": ["METAL_AUTH_TOKEN", "METAL_API_TOKEN", "PACKET_API_TOKEN", "PACKET_AUTH_TOKEN", "PACKET_TOKEN"],
    "metal_api_ca_path": ["METAL_API_CA_PATH"],
    "metal_api_proxy": ["METAL_API_PROXY"],
    "metal_ua_prefix": ["METAL_UA_PREFIX"],
    "project_id": ["METAL_PROJECT_ID"],
}
"""Options of modules and inventory that environment variables can set, with their variables in order of precedence."""


def from_environment(names: Sequence[str]) -> str | None:
    """Return the first of these environment variables that is not empty; an empty one counts as not set."""
    values = (os.environ.get(name) for name in names)
    return next((value for value in values if value), None)


def _is_empty(value: Any) -> bool:
    return not any(str(entry).strip() for entry in (value if isinstance(value, list) else [value]))


def _without_own_keys(spec: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: _without_own_keys(value) if key == "options" else value for key, value in option.items() if key != "identifier"}
        for name, option in spec.items()
    }


def _canonical(spec: Mapping[str, Mapping[str, Any]], params: dict[str, Any], where: str = "") -> list[str]:
    problems: list[str] = []
    for name, option in spec.items():
        value = params.get(name)
        if value is None:
            continue
        if "options" in option:
            for number, entry in enumerate(value if isinstance(value, list) else [value], 1):
                place = f"{where}{name}, entry {number}: " if isinstance(value, list) else f"{where}{name}: "
                problems += _canonical(option["options"], entry, place)
        elif "identifier" in option:
            try:
                many = isinstance(value, list)
                ids = [canonical_id(identity, option["identifier"]) for identity in (value if many else [value])]
                params[name] = ids if many else ids[0]
            except ValueError as problem:
                problems.append(f"{where}{name} {problem}")
    return problems


WAIT_OPTIONS = Options(
    {
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "float", "default": 1800},
        "wait_interval": {"type": "float", "default": 5},
        "progress_interval": {"type": "float", "default": 15},
        "time_scale": {"type": "float", "default": 1},
    }
)
"""Documented in the fragment ``_wait``."""

STATE_OPTIONS = Options({"state": {"type": "str", "choices": ["present", "absent"], "default": "present"}})

PRESENT_OPTIONS = Options({"state": {"type": "str", "choices": ["present"], "default": "present"}})
"""For objects that the API neither creates nor deletes: ``state: present`` is accepted, ``absent`` is refused."""
