# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of requests: read completely before a handler runs, up to a limit, so that clients cannot fill the memory or delay a handler."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 10 * 2**20
"""Bytes of a body (ours: no figure of the real service is known). Userdata of a thousand machines in one batch is less."""
LARGEST_UNKNOWN = 2**16
"""Bytes of a body of an unknown sender: without a good token, or a machine, which reports events and heartbeats."""
DRAINED_WITHIN = 5.0
"""Real seconds in which the rest of a body that is too large is read and dropped: a client that is cut off while it writes may never read
the answer."""


class TooLargeError(Exception):
    """The body is larger than ``largest``; the rest of it was not read."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"The body is too large: it may have {largest} bytes")


async def take(scope: Scope, receive: Receive, largest: int = LARGEST) -> bytes:
    """Return the body of a request. Raises :class:`TooLargeError`, as soon as that is known, and starlette's ``ClientDisconnect``."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    # Python refuses to read thousands of digits.
    if declared.isdigit() and (len(declared) > 18 or int(declared) > largest):
        raise TooLargeError(largest)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > largest:
            raise TooLargeError(largest)
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that returns ``body``, which was read from it already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def hand_out() -> Message:
        return messages.pop() if messages else await receive()

    return hand_out


async def refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send ``answer`` to a request whose body was not read, and end the connection."""
    answer.headers["connection"] = "close"
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": bytes(answer.body), "more_body": True})
    # A client with the header Expect has not begun to send the body.
    drained_within = 0 if any(name == b"expect" for name, _value in scope["headers"]) else DRAINED_WITHIN
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(drained_within):
            while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
                continue
    await send({"type": "http.response.body"})


class Bounded:
    """An application whose requests have bodies of limited size."""

    def __init__(self, app: ASGIApp, largest: int = LARGEST) -> None:
        self._app, self._largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await take(scope, receive, self._largest)
        except TooLargeError as problem:
            await refuse(PlainTextResponse(f"{problem}\n", 413), scope, receive, send)
        except ClientDisconnect:
            return
        else:
            await self._app(scope, replay(body, receive), send)
