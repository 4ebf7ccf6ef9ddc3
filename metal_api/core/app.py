# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Metal API over HTTP: authentication, faults, journal and routes around the handlers; helpers for the services of devices."""

from __future__ import annotations

import asyncio
import email.utils
import gc
import logging
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router, compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from metal_api.core import bodies, parsing
from metal_api.core.actor import ACTOR, Actor
from metal_api.core.call import Call, Caller, Handler, Reply
from metal_api.core.call import Route as ApiRoute
from metal_api.core.database import DatabaseError
from metal_api.core.errors import ApiError, not_found, not_imitated, unauthorized, unknown, unprocessable
from metal_api.core.faults import Fault
from metal_api.core.journal import without_secrets
from metal_api.core.rate_limit import RateLimit
from metal_api.core.world import World

log = logging.getLogger(__name__)

PREFIX = "/metal/v1"

# Shorter tokens of requests are not hidden in the journal: they are no real tokens, and hiding them would hide parts of ordinary words.
_SHORTEST_SECRET = 8

# Blanks around a part of a path that is not blank itself.
_BLANKS = re.compile(r"(?<=/)[ \t\r\n\f\v]+(?=[^/\s])|(?<=[^/\s])[ \t\r\n\f\v]+(?=/|$)")

# The real service's text for HTTP 500 (public issue threads).
_OH_SNAP = (
    "Oh snap, something went wrong! We've logged the error and will take a look - please reach out to us if you continue having trouble."
)


class Authentication(Protocol):
    """Finds the caller of a token."""

    def authenticate(self, token: str, method: str) -> Caller: ...
    def knows(self, token: str) -> bool: ...
    def who(self, token: str) -> str: ...
    def tokens(self) -> list[str]: ...


class JSONAnswer(Response):
    media_type = "application/json; charset=utf-8"

    def render(self, content: Any) -> bytes:
        return b"" if content is None else orjson.dumps(content)


class MetalApp:
    """The API under ``/metal/v1/...`` and ``/...``, and the applications in ``mounts`` (by the first part of the path, such as ``/pub``).

    Has to be the outermost application of its server: to cut a connection, it needs the server's transport.
    """

    def __init__(
        self,
        world: World,
        routes: Sequence[ApiRoute],
        authentication: Authentication,
        mounts: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self.world = world
        self._authentication = authentication
        self._patterns = [compile_path(path)[0] for path in dict.fromkeys(each.path for each in routes)]
        self._mounts = dict(mounts or {})
        self._limit = RateLimit(world)
        self._routes = Router(
            [
                *[Route(each.path, self._endpoint(each.handler), methods=[each.method]) for each in routes],
                Route("/{rest:path}", self._endpoint(self._unknown)),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # No lifespan, no websockets: the owner of the world calls world.start() and world.close().
            return
        other = self._mounts.get("/" + scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else "")
        if other is not None:
            await other(scope, receive, send)
            return
        base, path = normal_path(scope["path"])
        # The router reads path and root_path; a proxy's prefix is irrelevant here.
        scope = {**scope, "path": path, "raw_path": path.encode(), "root_path": "", "metal.base": base}
        started = time.time()
        headers = Request(scope, receive).headers
        scope["metal.token"] = headers.get("x-auth-token") or headers.get("authorization", "").removeprefix("Bearer ").strip()
        is_known = self._authentication.knows(scope["metal.token"])
        try:
            # An unauthorized client could fill the memory with what is read before its token.
            body = await bodies.take(scope, receive, bodies.LARGEST if is_known else bodies.LARGEST_UNKNOWN)
        except bodies.TooLargeError as problem:
            error = ApiError(413, str(problem)) if is_known else unauthorized()
            await self._refuse(scope, receive, send, error, started)
        except ClientDisconnect:
            return
        else:
            await self._metal(scope, bodies.given(body, receive), send, started)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: ApiError, started: float) -> None:
        """Answer before the body is read: 413 (ours, except for the status, which gateways use), or 401."""
        request, request_id = Request(scope, receive), str(uuid.uuid4())
        query = scope["query_string"].decode("latin-1")
        path = scope["metal.base"] + scope["path"]
        self.world.journal.write(
            service="metal",
            method=scope["method"],
            path=f"{path}?{query}" if query else path,
            status=error.status,
            who=self._authentication.who(scope["metal.token"]),
            started=started,
            request_id=request_id,
            secrets=self._secrets(request),
        )
        answer = JSONAnswer({"errors": list(error.texts)}, error.status, headers={"X-Request-Id": request_id})
        await bodies.refuse(answer, scope, receive, send)

    async def _metal(self, scope: Scope, receive: Receive, send: Send, started: float) -> None:
        world, method = self.world, scope["method"]
        query = scope["query_string"].decode("latin-1")
        path = scope["metal.base"] + scope["path"]
        request = Request(scope, receive)
        token = scope["metal.token"]
        request_id = scope["metal.request_id"] = str(uuid.uuid4())
        name = self._authentication.who(token)
        ACTOR.set(Actor(name, request.client.host if request.client else "", request_id))
        parsing.begin()
        fault = world.faults.for_request(method, path, f"{path}?{query}" if query else path)
        if fault is not None and fault.delay:
            await asyncio.sleep(fault.delay)
        if fault is not None and fault.cut == "before":
            answer, status = None, 0
        elif fault is not None and fault.status is not None:
            answer = _fault_answer(fault)
            status = answer.status_code
        else:
            latency = world.settings["latency"]["read" if method in {"GET", "HEAD"} else "write"]
            if latency:
                await asyncio.sleep(latency)
            answer = await self._answer(scope, request)
            status = answer.status_code
            if fault is None and status < 300:
                fault = self._rewrite(answer, method, path, query)
        world.journal.write(
            service="metal",
            method=method,
            path=f"{path}?{query}" if query else path,
            status=status,
            who=name,
            started=started,
            request_id=request_id,
            fault=fault.id if fault is not None else None,
            secrets=self._secrets(request),
        )
        if answer is not None:
            answer.headers["X-Request-Id"] = request_id
            answer.headers["Date"] = email.utils.formatdate(time.time() + world.settings["clock"]["ahead"], usegmt=True)
        if answer is None or (fault is not None and fault.cut == "after"):
            await _cut(receive, send)
        elif fault is not None and fault.cut == "body":
            await _send_half(answer, send)
            await _cut(receive, send)
        elif fault is not None and fault.drip:
            await _send_slowly(answer, fault.drip, send)
        else:
            await answer(scope, receive, send)

    def _rewrite(self, answer: Response, method: str, path: str, query: str) -> Fault | None:
        """Apply the first fault that rewrites this answer, and return that fault."""
        if not any(each.rewrites for each in self.world.faults.all()) or not answer.body:
            return None
        fault, changed = self.world.faults.for_answer(method, path, f"{path}?{query}" if query else path, orjson.loads(answer.body))
        if fault is not None:
            answer.body = orjson.dumps(changed)
            answer.headers["content-length"] = str(len(answer.body))
        return fault

    async def _answer(self, scope: Scope, request: Request) -> Response:
        """Return the answer of the route without sending it: a fault may replace it."""
        headers: dict[str, str] = {}
        try:
            scope["metal.caller"] = self._authentication.authenticate(scope["metal.token"], request.method)
            headers = self._limit.count(scope["metal.token"])
            scope["metal.body"], scope["metal.bare"] = await _json_body(request)
            await self._routes(scope, request.receive, _no_send)
            answer: Response = scope["metal.answer"]
        except ApiError as problem:
            answer = JSONAnswer({"errors": list(problem.texts)}, problem.status, headers=problem.headers)
        except DatabaseError as problem:
            answer = JSONAnswer({"errors": [str(problem)]}, 503, headers={"Retry-After": "5"})
        except Exception:
            log.exception("%s failed", without_secrets(f"{request.method} {scope['path']}", self._secrets(request)))
            answer = JSONAnswer({"errors": [_OH_SNAP]}, 500)
        answer.headers.update(headers)
        return answer

    def _endpoint(self, handler: Handler) -> ASGIApp:
        world = self.world

        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            call = Call(
                world=world,
                caller=scope["metal.caller"],
                method=scope["method"],
                base=scope["metal.base"],
                path=scope["path"],
                params=scope["path_params"],
                query=QueryParams(scope["query_string"]),
                body=scope["metal.body"],
                bare=scope["metal.bare"],
            )
            with _uncollected():
                scope["metal.answer"] = _answered(handler, call)

        return _AsgiEndpoint(endpoint)

    def _secrets(self, request: Request) -> list[str]:
        return secrets_of(request, self._authentication)

    def _unknown(self, call: Call) -> Reply:
        """Refuse a call that has no route: 404 for another method of a known path, 501 for calls that the sandbox does not imitate."""
        raise not_imitated(call.method, call.path) or (
            not_found() if any(each.match(call.path) for each in self._patterns) else unknown(call.method, call.path)
        )


def _answered(handler: Handler, call: Call) -> Response:
    store, lag = call.world.store, call.world.read_lag
    with store.as_of(lag) if lag and call.method in {"GET", "HEAD"} else store.transaction():
        reply = handler(call)
    return JSONAnswer(reply.body, reply.status, headers=reply.headers)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Run without Python's garbage collector, which would visit all objects several times for each page of a thousand devices.

    Answers contain no reference cycles, so there is nothing to collect.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _AsgiEndpoint:
    """Starlette takes an instance with ``__call__`` as an ASGI application; a plain function would be given a Request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def normal_path(path: str) -> tuple[str, str]:
    """Return base and path of a request, without the double slashes and repeated prefixes of older clients and without blanks around ids.

    >>> normal_path("/metal/v1//metal/v1/projects/")
    ('/metal/v1', '/projects')
    """
    path = _BLANKS.sub("", re.sub(r"/{2,}", "/", path))
    base = ""
    while path == PREFIX or path.startswith(PREFIX + "/"):
        base, path = PREFIX, path[len(PREFIX) :]
    return base, path.rstrip("/") or "/"


def secrets_of(request: Request, authentication: Authentication) -> list[str]:
    """Return the tokens that must not be in the journal: those of the sandbox, and those in the request's headers."""
    headers = [request.headers.get(name, "") for name in ("x-auth-token", "x-consumer-token", "authorization")]
    own = [word for value in headers for word in value.split()]
    return [*authentication.tokens(), *(each for each in own if len(each) >= _SHORTEST_SECRET)]


async def _json_body(request: Request) -> tuple[dict[str, Any], bool | None]:
    """Return the request's JSON object; or the bare boolean that a BGP session takes as default route (vendor's OpenAPI text)."""
    text = await request.body()
    if not text.strip():
        return {}, None
    try:
        body = parsing.load_json(text)
    except ValueError:
        # Ours: the API uses 422 where other APIs use 400.
        raise unprocessable("The body is not JSON") from None
    if isinstance(body, bool) and "/bgp/sessions/" in request.url.path:
        return {}, body
    if not isinstance(body, dict):
        raise unprocessable("The body is not a JSON object")
    return body, None


def _fault_answer(fault: Fault) -> Response:
    """Return a fault's answer. A text is sent unchanged (an HTML page, malformed JSON), any other value as JSON."""
    status = fault.status or 500
    headers = {name.lower(): value for name, value in fault.headers.items()}
    if status in {204, 304}:
        return Response(None, status, headers=headers)
    if isinstance(fault.body, str):
        return Response(fault.body, status, headers={"content-type": JSONAnswer.media_type, **headers})
    return JSONAnswer(fault.body, status, headers=headers)


async def _no_send(message: Mapping[str, Any]) -> None:
    raise AssertionError("handlers leave their answer in the scope")


async def _send_half(answer: Response, send: Send) -> None:
    body = bytes(answer.body)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})


async def _send_slowly(answer: Response, pause: float, send: Send) -> None:
    """Send an answer byte by byte, with ``pause`` seconds between them, until the client disconnects."""
    transport = _transport(send)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    for byte in bytes(answer.body):
        if transport is not None and transport.is_closing():
            return
        await send({"type": "http.response.body", "body": bytes([byte]), "more_body": True})
        await asyncio.sleep(pause)
    await send({"type": "http.response.body"})


def _transport(send: Send) -> asyncio.Transport | None:
    """Return the connection's transport. ASGI does not expose it: ``send`` is a method of uvicorn's request cycle, which has it."""
    return getattr(getattr(send, "__self__", None), "transport", None)


async def _cut(receive: Receive, send: Send) -> None:
    """Drop the connection."""
    transport = _transport(send)
    if transport is None:
        raise ConnectionResetError("cut by a fault")
    # Sends the buffered bytes, then closes the connection without the rest of the answer.
    transport.close()
    while (await receive())["type"] != "http.disconnect":
        continue
