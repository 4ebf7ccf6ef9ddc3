# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of requests to the Metal API: faults, latency, the rate limit, and the clock that is ahead."""

from __future__ import annotations

import asyncio
import email.utils
import time

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from metal_api.accounts.authentication import Authentication
from metal_api.core.app import JSONAnswer
from metal_api.core.errors import ApiError
from metal_api.core.requests import Answer, Requested
from sandbox.metal.faults import Fault, Faults
from sandbox.metal.settings import Settings


class Faulted(Response):
    """The answer to a request that met a fault, sent as the fault defines it. ``answer`` None: the connection is cut before any effect.

    To cut a connection, the transport of the server is needed: the Metal API has to be its outermost application.
    """

    def __init__(self, fault: Fault, answer: Response | None) -> None:
        super().__init__(status_code=0)
        self.fault = fault
        if answer is not None:
            self.status_code, self.body, self.raw_headers = answer.status_code, answer.body, answer.raw_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.fault.cut in {"before", "after"}:
            await _cut(receive, send)
        elif self.fault.cut == "body":
            await _send_half(self, send)
            await _cut(receive, send)
        elif self.fault.drip:
            await _send_slowly(self, self.fault.drip, send)
        else:
            await super().__call__(scope, receive, send)


class MeetFaults:
    """Lets requests meet faults."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    async def __call__(self, requested: Requested, process: Answer) -> Response:
        fault = self._faults.for_request(requested.method, requested.path, requested.target)
        if fault is None:
            answer = await process()
            return self._rewritten(requested, answer) if answer.status_code < 300 else answer
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.cut == "before":
            return Faulted(fault, None)
        return Faulted(fault, await process() if fault.status is None else _fault_answer(fault))

    def _rewritten(self, requested: Requested, answer: Response) -> Response:
        """Apply the first fault that rewrites this answer."""
        if not any(candidate.rewrites for candidate in self._faults.all()) or not answer.body:
            return answer
        fault, changed = self._faults.for_answer(requested.method, requested.path, requested.target, orjson.loads(answer.body))
        if fault is None:
            return answer
        answer.body = orjson.dumps(changed)
        answer.headers["content-length"] = str(len(answer.body))
        return Faulted(fault, answer)


class Delay:
    """Answers after the latency of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __call__(self, requested: Requested, process: Answer) -> Response:
        latency = self._settings["latency"]["read" if requested.method in {"GET", "HEAD"} else "write"]
        if latency:
            await asyncio.sleep(latency)
        return await process()


class Limit:
    """Counts the requests of valid tokens, and refuses those over the limit, with the headers that clients such as packngo read.

    A window begins with the first request after the last window ended.
    """

    def __init__(self, settings: Settings, authentication: Authentication) -> None:
        self._settings = settings
        self._authentication = authentication
        self._windows: dict[str, tuple[float, int]] = {}

    async def __call__(self, requested: Requested, process: Answer) -> Response:
        try:
            self._authentication.authenticate(requested.token, requested.method)
        except ApiError:
            return await process()
        try:
            headers = self._count(requested.token)
        except ApiError as problem:
            return JSONAnswer({"errors": list(problem.texts)}, problem.status, headers=problem.headers)
        answer = await process()
        answer.headers.update(headers)
        return answer

    def _count(self, token: str) -> dict[str, str]:
        """Count a request and return the headers for its answer, none without a limit. Raises 429 (text ours)."""
        limit = self._settings["rate_limit"]
        if limit["requests"] is None:
            return {}
        now = time.time()
        start, used = self._windows.get(token, (now, 0))
        if now >= start + limit["seconds"]:
            start, used = now, 0
        used += 1
        self._windows[token] = (start, used)
        ends = start + limit["seconds"]
        headers = {
            "X-RateLimit-Limit": str(limit["requests"]),
            "X-RateLimit-Remaining": str(max(0, limit["requests"] - used)),
            "X-RateLimit-Reset": str(int(ends + self._settings["clock"]["ahead"]) + 1),
        }
        if used > limit["requests"]:
            if limit["retry_after"]:
                headers["Retry-After"] = str(max(1, int(ends - now) + 1))
            raise ApiError(429, "Too many requests", headers=headers)
        return headers


class ShiftClock:
    """Dates answers by the service's clock, which may be ahead of this computer's."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __call__(self, _requested: Requested, process: Answer) -> Response:
        answer = await process()
        answer.headers["Date"] = email.utils.formatdate(time.time() + self._settings["clock"]["ahead"], usegmt=True)
        return answer


def _fault_answer(fault: Fault) -> Response:
    """Return a fault's answer. A text is sent unchanged (an HTML page, malformed JSON), any other value as JSON."""
    status = fault.status or 500
    headers = {name.lower(): value for name, value in fault.headers.items()}
    if status in {204, 304}:
        return Response(None, status, headers=headers)
    if isinstance(fault.body, str):
        return Response(fault.body, status, headers={"content-type": JSONAnswer.media_type, **headers})
    return JSONAnswer(fault.body, status, headers=headers)


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
