"""The client of the Metal API whose requests are answered in memory: everything above HTTP is the real client's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import requests

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient

LIST_NAMES = {"ips": "ip_addresses", "neighbors": "bgp_neighbors", "sessions": "bgp_sessions"}
"""The key of a list in its answer, where it is not the last part of the path."""


def options_of(options: Options, **given: Any) -> dict[str, Any]:
    """Return the options of a module as Ansible gives them: those given, and the defaults of the others; in the project p."""
    return {"project_id": "p", **{name: option.get("default") for name, option in options.argument_spec.items()}, **given}


class Refused(Exception):  # noqa: N818 - an answer, not a failure of the test
    """The answer is an error: its status and its texts."""

    def __init__(self, status: int, *errors: str) -> None:
        self.status = status
        self.errors = list(errors)


class Lost(Exception):  # noqa: N818 - an answer, not a failure of the test
    """The connection ends before the answer."""


NOT_FOUND = Refused(404, "Not found")


class FakeClient(MetalClient):
    """A client of a service that has ``answers``: JSON by path. A list is answered under the name it has in the API.

    A test of another service overrides :meth:`answer`. ``requests`` are all that were sent: method, path, body and query parameters.
    """

    def __init__(self, answers: Mapping[str, Any] | None = None, *, read_only: bool = False) -> None:
        super().__init__(url="http://metal.test/metal/v1", token="token", retries=0, read_only=read_only, sleep=lambda _seconds: None)
        self.answers = dict(answers or {})
        self.requests: list[tuple[str, str, Any, dict[str, str]]] = []

    def answer(self, method: str, path: str, body: Any, params: dict[str, str]) -> Any:
        """Return the JSON of the answer, None for an empty one (204). Raises Refused or Lost."""
        if method == "GET":
            if path not in self.answers:
                raise NOT_FOUND
            return self.answers[path]
        return {"id": "new", **(body or {})}

    @property
    def writes(self) -> list[tuple[str, str, Any]]:
        return [(method, path, body) for method, path, body, _params in self.requests if method != "GET"]

    # The part of requests.Session that the client uses.

    def _session(self) -> FakeClient:
        return self

    def request(self, method: str, url: str, *, params: dict[str, str], data: bytes | None, **_more: Any) -> requests.Response:
        path = url.removeprefix("http://metal.test/metal/v1/")
        body = None if data is None else json.loads(data)
        self.requests.append((method, path, body, params))
        response = requests.Response()
        response.status_code = 200
        response.headers["X-Request-Id"] = "r-1"
        try:
            found = self.answer(method, path, body, params)
        except Lost:
            raise requests.exceptions.ConnectionError("connection reset") from None
        except Refused as refused:
            response.status_code, found = refused.status, {"errors": refused.errors}
        if isinstance(found, list):
            name = path.rpartition("/")[2].replace("-", "_")
            found = {LIST_NAMES.get(name, name): found}
        if found is None:
            response.status_code, response._content = 204, b""
        else:
            response._content = json.dumps(found).encode()
        return response
