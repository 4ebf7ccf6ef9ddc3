"""Whatever type a secret option is given, no module prints it: in no message, no invocation, no warning. The error names the option."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import ENVIRONMENT
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.secret_options import (
    HIDDEN,
    TAKE_DICTIONARIES,
    holds_secrets,
    secret_values,
)

from .playing import MODULES, OTHERS, options_of, play, walk, with_required

CORE = "planted-7f3a91"
SECRET = f'it\'s "{CORE}" \\ zürich\nand a second line'
NUMBER = 730519461
HOST = "worker-0"

OPTIONS = {module: options_of(module).argument_spec for module in MODULES}

NOT_FAILING = ("metal_capacity_info",)
"""Modules that return a result where nobody answers."""
IN_PLACE_OF_TEXT: dict[str, Any] = {
    "text": SECRET,
    "text with blanks around it": f"  {CORE}\n",
    "number": NUMBER,
    "list": [SECRET],
    "list in a list": [[SECRET], {"a": [SECRET]}],
    "dictionary": {"a": SECRET},
    "dictionary of a key alone": {CORE: None},
    "dictionary in a dictionary": {"a": {SECRET: {"b": SECRET}}},
    "JSON": json.dumps({"a": SECRET}),
    "Python": repr({"a": SECRET}),
    "address": f"http://user:{CORE}@proxy.example.com:1",
}


def entries(secret: str) -> dict[str, Any]:
    """What may come in place of an option that is a list of dictionaries, or a dictionary, in which ``secret`` is a secret option."""
    return {
        "text": SECRET,
        "a name": CORE,
        "number": NUMBER,
        "list of names": [CORE, "b"],
        "list of a list": [[{secret: SECRET}]],
        "dictionary": {secret: SECRET},
        "dictionary of dictionaries": {"a": {secret: SECRET}},
        "JSON": json.dumps([{secret: SECRET}]),
        "JSON in a list": [json.dumps({secret: SECRET})],
        "Python": repr([{secret: SECRET}]),
        "key=value": f"hostname={HOST} {secret}={CORE}",
        "key=value in a list": [f"hostname={HOST} {secret}={CORE}"],
        "a typing error": [{"hostname": HOST, f"{secret}s": SECRET}],
        "a typing error in a dictionary": {f"{secret}s": SECRET},
        "dictionary in an entry": [{"hostname": HOST, secret: {"a": SECRET}}],
        "list in an entry": [{"hostname": HOST, secret: [SECRET]}],
        "nothing before it": [None, {secret: SECRET}],
        "right": [{"hostname": HOST, secret: SECRET}],
        "right and a name": [{"hostname": HOST, secret: SECRET}, CORE],
        "right and a wrong one": [{"hostname": HOST, secret: SECRET}, {"hostname": [{}], "tags": {"a": "b"}}],
    }


def secret_options() -> Iterator[Any]:
    for module, spec in OPTIONS.items():
        for path, option in walk(spec):
            if option.get("no_log"):
                for name in (path[-1], *option.get("aliases", ())):
                    yield pytest.param(module, (*path[:-1], name), id=f"{module}-{'.'.join((*path[:-1], name))}")


def revealed(text: str) -> bool:
    return CORE in text or str(NUMBER) in text


@pytest.mark.parametrize(("module", "path"), secret_options())
def test_a_secret_of_any_type_is_not_printed(module: str, path: tuple[str, ...]) -> None:
    name, spec = path[-1], OPTIONS[module]
    place: Any = {} if len(path) == 1 else spec[path[0]]
    given: dict[str, Any] = (
        IN_PLACE_OF_TEXT
        if len(path) == 1
        else entries(name)
        | {
            title: [{"hostname": HOST, name: value}] if place["type"] == "list" else {name: value}
            for title, value in IN_PLACE_OF_TEXT.items()
        }
    )
    if len(path) == 1 and spec.get(name, {}).get("type") in TAKE_DICTIONARIES:
        # Keys are names there.
        given = {**given, "dictionary in a dictionary": {"a": {"b": {"c": SECRET}}}}
    for title, value in given.items():
        params = with_required(spec, {**OTHERS.get(module, {}), path[0]: value})
        for taken in {key for key in params if key != path[0] and path[0] in (spec.get(key, {}).get("aliases") or [])}:
            del params[taken]  # one name for one option
        result, text = play(module, params)
        assert not revealed(text), (title, text)
        assert result.get("failed") or module in NOT_FAILING, title
        if isinstance(value, (dict, list)) and len(path) == 1:
            assert path[0] in result["msg"], (title, result["msg"])
            assert result["msg"].isprintable() and len(result["msg"]) < 600


def test_the_names_of_registries_in_a_pull_secret_are_no_secrets() -> None:
    spec = {"pull_secret": {"type": "raw", "no_log": True}, "token": {"type": "str", "no_log": True}}
    registries = {"auths": {"registry.example.com:5000": {"auth": CORE}}}
    assert secret_values(spec, {"pull_secret": registries}) == {CORE}
    assert secret_values(spec, {"pull_secret": {CORE: None}}) == {CORE}
    assert "registry.example.com:5000" in secret_values(spec, {"token": registries})


@pytest.mark.parametrize("module", [module for module in MODULES if any(map(holds_secrets, OPTIONS[module].values()))])
def test_what_is_given_under_a_name_that_is_not_known_is_not_printed(module: str) -> None:
    for name in ("metal_api_tokn", "userdata_", "password"):
        result, text = play(module, with_required(OPTIONS[module], {**OTHERS.get(module, {}), name: SECRET}))
        assert not revealed(text)
        assert name in result["msg"]
        assert result["invocation"]["module_args"][name] == HIDDEN


@pytest.mark.parametrize("wrong", [{"machines": [HOST]}, {"machines": HOST}, {"machines": [5]}, {"tags": {"a": 1}}, {"count": "many"}])
def test_a_token_of_the_environment_is_not_printed_with_another_error(wrong: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT["metal_api_token"][0], CORE)
    monkeypatch.setenv(ENVIRONMENT["metal_api_proxy"][0], f"http://user:{CORE}@proxy.example.com:1")
    _result, text = play("metal_device_set", {"ownership_tags": ["a=b"], "metal_api_url": "http://127.0.0.1:9", **wrong})
    assert not revealed(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"machines": "worker-0"}, "machines has to be a list of dictionaries, it is text"),
        ({"machines": ["worker-0"]}, "machines, entry 1, has to be a dictionary, it is text"),
        ({"machines": [{"hostname": "a", "user_data": ["x"]}]}, "machines, entry 1: user_data has to be text, it is a list"),
        ({"userdata": {"machines": "x"}}, "userdata has to be text, it is a dictionary"),
        # The values are words of the message, and of the options' names.
        ({"metal_api_token": ["has", "metal_api_token", "a"]}, "metal_api_token has to be text, it is a list"),
        ({"machines": ["machines", "list"]}, "machines, entry 1, has to be a dictionary, it is text"),
    ],
)
def test_the_error_names_the_option_and_what_is_wrong(given: Mapping[str, Any], message: str) -> None:
    result, _text = play("metal_device_set", with_required(OPTIONS["metal_device_set"], {"ownership_tags": ["a=b"], **given}))
    assert message in result["msg"]
    assert result["msg"].endswith("Their values are not shown, since they may be secrets")


def test_what_is_no_secret_is_shown_as_it_was_given() -> None:
    machines = [{"hostname": HOST, "plan": "c3.small.x86", "userdata": SECRET, "customdata": {"a": CORE}}]
    result, text = play("metal_device_set", with_required(OPTIONS["metal_device_set"], {"ownership_tags": ["a=b"], "machines": machines}))
    assert not revealed(text)
    shown = result["invocation"]["module_args"]
    assert shown["ownership_tags"] == ["a=b"]
    assert shown["metal_api_token"] == HIDDEN
    (machine,) = shown["machines"]
    assert (machine["hostname"], machine["plan"]) == (HOST, "c3.small.x86")
    assert machine["userdata"].startswith("49 bytes, sha256 ") and "sha256" in machine["customdata"]


def test_a_private_key_given_for_a_public_one_is_not_printed() -> None:
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CORE}"
    result, text = play("metal_ssh_key", with_required(OPTIONS["metal_ssh_key"], {"label": "a", "key": key}))
    assert not revealed(text)
    assert "it is a private key" in result["msg"]
