"""What a client nobody here wrote expects of each answer: the models of PyPI ``equinix``, found by method and path.

Every answer that any test here gets is read with them (see ``conftest.sandbox_in``); ``SEEN`` says for which routes that was done.
"""

import inspect
import json
import re
from functools import cache
from typing import Any

import httpx
from equinix.services import metalv1  # type: ignore[import-untyped] # shipped without type information by its authors
from starlette.routing import compile_path

from metal_api.app import normal_path
from sandbox.metal.resources import ROUTES

# Calls of older clients and hrefs that the vendor's text of 2026, from which the models were made, does not have (any more).
OLDER = {
    ("GET", "/facilities"): {"200": "FacilityList"},
    ("GET", "/projects/{id}/facilities"): {"200": "FacilityList"},
    ("GET", "/organizations/{id}/facilities"): {"200": "FacilityList"},
    ("GET", "/facilities/{id}"): {"200": "Facility"},
    ("GET", "/plans/{id}"): {"200": "Plan"},
    ("GET", "/operating-systems/{id}"): {"200": "OperatingSystem"},
    ("GET", "/organizations/{id}/capacity"): {"200": "CapacityList"},
    ("GET", "/metros"): {"200": "MetroList"},
    ("POST", "/capacity"): {"200": "CapacityCheckPerFacilityList"},
    ("POST", "/organizations"): {"201": "Organization"},
}
_SAME_AS = {"PATCH": "PUT", "PUT": "PATCH"}

SEEN: set[tuple[str, str]] = set()

# What was read, for the models of further clients: call, model, text. None: not kept.
kept: list[tuple[str, str, str]] | None = None

Types = dict[str, str | None]


@cache
def expectations() -> dict[tuple[str, str], Types]:
    """(method, path with all parameters as ``{}``) -> status -> name of a model, None for an answer without one."""
    found: dict[tuple[str, str], Types] = {}
    for api in (getattr(metalv1, name) for name in dir(metalv1) if name.endswith("Api")):
        for name, function in inspect.getmembers(api, inspect.isfunction):
            if not name.endswith("_with_http_info"):
                continue
            serialize = inspect.getsource(getattr(api, f"_{name.removesuffix('_with_http_info')}_serialize"))
            path, method = re.search(r"resource_path='([^']+)'", serialize), re.search(r"method='([^']+)'", serialize)
            assert path is not None
            assert method is not None
            types = dict(re.findall(r"'(2\d\d)': (\S+?),\n", inspect.getsource(function)))
            found[method[1], bare(path[1])] = {status: None if kind == "None" else kind.strip('"') for status, kind in types.items()}
    return found | {(method, bare(path)): dict(types) for (method, path), types in OLDER.items()}


def expected(method: str, path: str) -> Types | None:
    """None: the client does not know this call."""
    known = expectations()
    return known.get((method, bare(path))) or known.get((_SAME_AS.get(method, ""), bare(path)))


def bare(path: str) -> str:
    return re.sub(r"{[^}]+}", "{}", path)


@cache
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    return [(each.method, each.path, compile_path(each.path)[0]) for each in ROUTES]


async def check(answer: httpx.Response) -> None:
    """Raises what the model raises, or AssertionError, for an answer that is not as the client wants it."""
    path = normal_path(answer.request.url.path)[1]
    # The last route that fits is never the one taken: the router takes the first.
    template = next((route for method, route, pattern in _patterns() if method == answer.request.method and pattern.match(path)), None)
    if template is None or not answer.is_success:
        return
    await answer.aread()
    types = expected(answer.request.method, template)
    assert types is not None, f"the client does not know {answer.request.method} {template}"
    assert str(answer.status_code) in types, f"{answer.request.method} {template}: {answer.status_code} is none of {', '.join(types)}"
    kind = types[str(answer.status_code)]
    if answer.status_code == 204:
        assert answer.content == b""
    elif kind is not None:
        text = _as_modelled(template, answer.text)
        read(text, kind)
        if kept is not None:
            kept.append((f"{answer.request.method} {answer.request.url.raw_path.decode()}", kind, text))
    SEEN.add((answer.request.method, template))


def _as_modelled(template: str, text: str) -> str:
    """Return ``text`` without what no model of the vendor's text fits (docs/sandbox.md has the list); the rest is as sent."""
    if template.startswith("/capacity"):
        # Quantities come back as they came, number or text; the text knows texts only.
        return re.sub(r'"quantity":(\d+)', r'"quantity":"\1"', text)
    if "spot-market-requests" in template:
        # A list, as packngo has it; the text of 2026 has one href.
        document = json.loads(text)
        for each in document.get("spot_market_requests", [document]):
            each.pop("facilities", None)
        return json.dumps(document)
    if template.endswith("/metadata"):
        # Addresses are objects; the text has strings.
        document = json.loads(text)
        document["network"]["addresses"] = [each["address"] for each in document["network"]["addresses"]]
        return json.dumps(document)
    return text


def read(text: str, kind: str) -> Any:
    return metalv1.ApiClient().deserialize(text, kind, "application/json")
