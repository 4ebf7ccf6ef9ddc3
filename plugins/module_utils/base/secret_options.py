# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets among a module's parameters, read by its argument spec before anything is validated.

ansible-core collects the values of ``no_log`` options while it validates, and collects none at all when one of the options that hold them
has an unexpected type (a text in place of a list of dictionaries). The error it then returns has all parameters in ``invocation``. So this
reads the parameters as they came, whatever their types are.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from .diff import digest

HIDDEN = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
"""What ansible-core shows in place of such a value."""

SHOWN_AS_DIGEST = frozenset({"userdata", "customdata"})
"""Options of which size and SHA-256 are shown, enough to see that they changed."""

SHORTEST_GUESS = 4
"""Characters. A shorter piece of a text that is no option by itself stands in too many places where it is no secret."""

TAKE_DICTIONARIES = frozenset({"raw", "json", "dict"})
"""Types of options that a dictionary is a valid value of."""

Spec = Mapping[str, Mapping[str, Any]]


def holds_secrets(option: Mapping[str, Any]) -> bool:
    """Whether the value of this option is a secret or may contain one."""
    return bool(option.get("no_log")) or any(map(holds_secrets, (option.get("options") or {}).values()))


def secret_values(spec: Spec, params: Mapping[str, Any]) -> set[str]:
    """Return every text to be hidden from output: for ``AnsibleModule.no_log_values``.

    All texts and numbers in place of a ``no_log`` option or below it, and where a list or dictionary with such options is expected, what
    came in its place. Each also as it is written in JSON and in Python, since errors quote it so.
    """
    secrets: set[str] = set()
    for option, value in _given(spec, params):
        if option.get("no_log"):
            # Of an option that takes dictionaries, the keys are names: a pull secret has those of registries.
            secrets.update(_texts(value, keys_are_names=option.get("type") in TAKE_DICTIONARIES))
        elif holds_secrets(option):
            secrets.update(_below(option["options"], value))
    return {form for text in secrets for form in _forms(text)}


def unusable(spec: Spec, params: Mapping[str, Any], where: str = "") -> list[str]:
    """Return what is wrong with the types of options that hold secrets, one text each that names the option and shows no value."""
    problems: list[str] = []
    for name, option in spec.items():
        for key in _keys(name, option):
            value = params.get(key)
            if value is None or not holds_secrets(option):
                continue
            if not option.get("no_log"):
                problems += _unusable_container(option, value, f"{where}{key}")
            elif option.get("type", "str") == "str" and isinstance(value, (Mapping, list, tuple, set, bool)):
                problems.append(f"{where}{key} has to be text, it is {_kind(value)}")
    return problems


def shown(spec: Spec, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as a result may show them: no secret, nothing of an option that is not known, no key of ansible-core's own."""
    names = {key: name for name, option in spec.items() for key in _keys(name, option)}
    own = {key: value for key, value in params.items() if not str(key).startswith("_ansible_")}
    return {str(key): _shown(names.get(key, str(key)), spec.get(names.get(key, "")), value) for key, value in own.items()}


def _shown(name: str, option: Mapping[str, Any] | None, value: Any) -> Any:
    if name in SHOWN_AS_DIGEST:
        return _digest(value)
    if option is not None and not option.get("no_log"):
        if not holds_secrets(option):
            return _open(value)
        if isinstance(value, Mapping):
            return shown(option["options"], value)
        if isinstance(value, (list, tuple)):
            return [shown(option["options"], item) if isinstance(item, Mapping) else HIDDEN for item in value]
    return HIDDEN if value else value


def _open(value: Any) -> Any:
    """What is no secret, but for a private key in the place of a public one, and for what is shown as a digest wherever it stands."""
    if isinstance(value, str):
        return digest(value) if "PRIVATE KEY" in value else value
    if isinstance(value, Mapping):
        return {key: _digest(item) if key in SHOWN_AS_DIGEST else _open(item) for key, item in value.items()}
    return [_open(item) for item in value] if isinstance(value, (list, tuple)) else value


def _digest(value: Any) -> Any:
    return digest(value if isinstance(value, str) else repr(value)) if value else value


def _keys(name: str, option: Mapping[str, Any]) -> list[str]:
    return [name, *(option.get("aliases") or [])]


def _given(spec: Spec, params: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    for name, option in spec.items():
        yield from ((option, params[key]) for key in _keys(name, option) if params.get(key) is not None)


def _below(spec: Spec, value: Any) -> Iterator[str]:
    """The secrets in what came as a dictionary, or a list of dictionaries, of these options."""
    if isinstance(value, Mapping):
        yield from secret_values(spec, value)
        # A key that is no option is a typing error, and what stands under it may be what was meant for a secret one.
        known = {key for name, option in spec.items() for key in _keys(name, option)}
        yield from (text for key, item in value.items() if key not in known for text in _texts(item) if len(text) >= SHORTEST_GUESS)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _below(spec, item)
    elif isinstance(value, (str, bytes)):
        yield from (text for text in _texts(value) if len(text) >= SHORTEST_GUESS)
        for inner in _parsed(value):
            yield from _below(spec, inner)


def _texts(value: Any, *, keys_are_names: bool = False) -> Iterator[str]:
    """Every text and number in the value, keys of dictionaries too: ``metal_api_token: {secret}`` is a dictionary in YAML.

    ``keys_are_names``: only a key without a value is such a secret.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        yield from {text for text in (value, value.strip()) if text}
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if item is None or not keys_are_names:
                yield from _texts(key)
            yield from _texts(item, keys_are_names=keys_are_names)
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from _texts(item, keys_are_names=keys_are_names)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _forms(text: str) -> set[str]:
    """The text as it is, and as JSON and Python quote it; of an address with a password, the password too."""
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
    try:
        password = urlsplit(text).password or ""
    except ValueError:
        password = ""
    return forms | {form for form in (password, unquote(password)) if form}


def _parsed(value: str | bytes) -> Iterator[Any]:
    """The lists and dictionaries the text may stand for, in the notations that ansible-core takes for one: JSON, Python, ``key=value``."""
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    for read in (json.loads, ast.literal_eval):
        try:
            parsed = read(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(parsed, (Mapping, list, tuple)):
            yield parsed
            return
    try:
        words = shlex.split(text.replace(",", " "))
    except ValueError:
        words = text.replace(",", " ").split()
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    if pairs:
        yield pairs


def _unusable_container(option: Mapping[str, Any], value: Any, where: str) -> list[str]:
    if option.get("type") != "list":
        return _unusable_entry(option["options"], value, where)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return [f"{where} has to be a list of dictionaries, it is {_kind(value)}"]
    return [
        problem for number, item in enumerate(value, 1) for problem in _unusable_entry(option["options"], item, f"{where}, entry {number},")
    ]


def _unusable_entry(spec: Spec, value: Any, where: str) -> list[str]:
    if isinstance(value, Mapping):
        return unusable(spec, value, f"{where.rstrip(',')}: ")
    return [f"{where} has to be a dictionary, it is {_kind(value)}"]


def _kind(value: Any) -> str:
    names: dict[Any, str] = {
        type(None): "empty",
        bool: "true or false",
        (int, float): "a number",
        (str, bytes): "text",
        Mapping: "a dictionary",
    }
    return next((name for kinds, name in names.items() if isinstance(value, kinds)), "a list")
