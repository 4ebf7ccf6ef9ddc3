"""What is no id of an object is refused by every module, in every option that takes an id, before anything is asked for."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.identifiers import VLAN_NUMBER

from .playing import ID, MODULES, OTHERS, options_of, play, walk, with_required

NAMED_LIKE_AN_ID = re.compile(r"(^|_)(ids?|ssh_keys|ip_reservations)$")
NO_IDS = {
    "operation_id": "a word of the user's",
    "no_ssh_keys": "true or false",
    "ssh_keys": "keys themselves",
    "infra_id": "a name that the installer makes",
    "zone_id": "an id of Route 53",
}
HOSTILE = {
    "another object behind an id": f"{ID}/../../projects/{ID}",
    "below it": f"{ID}/actions",
    "escaped": f"%2e%2e%2fprojects%2f{ID}",
    "a query": f"{ID}?force_delete=true",
    "a null byte": f"{ID}\x00",
    "a line end": f"{ID}\nx",
    "a blank inside": f"{ID[:8]} {ID[8:]}",
    "letters of another script": ID.replace("a", "\u0430"),
    "very long": "a" * 300,
    "an id without dashes": ID.replace("-", ""),
    "a template": "{{ id }}",
    "a name": "worker-0",
    "a number": "70000",
    "blank": " ",
}
SAME = {"as it is": ID, "upper case": ID.upper(), "blanks around it": f" {ID}\n"}

OPTIONS = {module: options_of(module).argument_spec for module in MODULES}
ID_OPTIONS = [
    pytest.param(module, path, option, id=f"{module}-{'.'.join(path)}")
    for module, spec in OPTIONS.items()
    for path, option in walk(spec)
    if "identifier" in option
]


def given(module: str, path: tuple[str, ...], option: Mapping[str, Any], value: str) -> dict[str, Any]:
    """Parameters in which the option at this path has this value."""
    spec: Any = OPTIONS[module]
    inner: Any = [value] if option["type"] == "list" else value
    for depth in range(len(path) - 1, -1, -1):
        parents = spec
        for name in path[:depth]:
            parents = parents[name]["options"]
        entry = {path[depth]: inner}
        if depth:
            siblings = with_required(parents, entry)
            inner = [siblings] if spec_at(module, path[:depth])["type"] == "list" else siblings
        else:
            others = {"state": "absent"} if path == ("id",) and "absent" in spec.get("state", {}).get("choices", []) else {}
            return with_required(spec, {**(others if path == ("id",) else OTHERS.get(module, {})), **entry})
    raise AssertionError("a path has a name")


def spec_at(module: str, path: tuple[str, ...]) -> Mapping[str, Any]:
    found: Any = {"options": OPTIONS[module]}
    for name in path:
        found = found["options"][name]
    return dict(found)


def test_every_option_that_is_named_like_an_id_takes_ids_alone() -> None:
    named = {path[-1]: option for spec in OPTIONS.values() for path, option in walk(spec) if NAMED_LIKE_AN_ID.search(path[-1])}
    assert {name for name, option in named.items() if "identifier" not in option} == set(NO_IDS)


@pytest.mark.parametrize(("module", "path", "option"), ID_OPTIONS)
def test_what_is_no_id_is_refused_and_the_error_names_the_option(module: str, path: tuple[str, ...], option: Mapping[str, Any]) -> None:
    for title, value in HOSTILE.items():
        if value.strip() in option["identifier"] or (VLAN_NUMBER in option["identifier"] and re.fullmatch("[0-9]{1,4}", value)):
            continue
        result, text = play(module, given(module, path, option, value))
        assert result.get("failed"), (title, result)
        assert path[-1] in result["msg"], (title, result["msg"])
        assert "has to be an id" in result["msg"] or "is given, but empty" in result["msg"], (title, result["msg"])
        assert "no connection" not in result["msg"] and "\\u0000" not in result["msg"], title
        assert len(result["msg"]) < 600 and result["msg"].isprintable(), title
        assert "Traceback" not in text


@pytest.mark.parametrize(("module", "path", "option"), ID_OPTIONS)
def test_an_id_is_taken_in_the_form_in_which_the_api_returns_it(module: str, path: tuple[str, ...], option: Mapping[str, Any]) -> None:
    for title, value in {**SAME, **{word: word for word in option["identifier"] if word not in ("", VLAN_NUMBER)}}.items():
        result, _text = play(module, given(module, path, option, value))
        # The status of a cluster has what does not answer in its result.
        assert "has to be an id" not in result.get("msg", ""), (title, result)
        shown: Any = result["invocation"]["module_args"]
        for name in path:
            shown = shown[name][0] if isinstance(shown[name], list) else shown[name]
        assert shown == (ID if title in SAME else value), title
