"""The sandbox's registries and its proxy alone, without a sandbox around them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from metal_api.listener import Listener
from metal_api.tls import CertificateAuthority
from sandbox.machines.outside import Outside
from sandbox.openshift import registry
from sandbox.proxy import Proxy


class Faulty:
    """Keeps the method of each request, and gives other answers than the registry's: a status, or None for one that is cut off."""

    def __init__(self, application: ASGIApp, made: Registries) -> None:
        self._application = application
        self._made = made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        self._made.methods.append(scope["method"])
        status = self._made.instead.pop(0) if self._made.instead else 200
        if status is None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
            # The server closes the connection of an application that fails.
            raise ConnectionAbortedError
        if status == 200:
            await self._application(scope, receive, send)
        else:
            await PlainTextResponse("not now", status)(scope, receive, send)


class Registries:
    """The outside with quay.io, a mirror registry and the proxy, each on a port of its own."""

    mirror: str
    """Address of the mirror registry."""
    outside: Outside
    proxy: Proxy

    def __init__(self, folder: Path) -> None:
        self.public, self.private = CertificateAuthority(folder / "public", "public CA"), CertificateAuthority(folder / "private")
        self.removed = registry.Removed(folder / "removed.json")
        self.requests: list[tuple[str, str, int]] = []
        """Server, what was asked for, status."""
        self.methods: list[str] = []
        """The method of each request to a registry."""
        self.instead: list[int | None] = []
        """Answers to the next requests to a registry: a status, None for half an answer, 200 for the registry's own."""
        self.is_open = True
        self.wants_login = False
        self._listeners: list[Listener] = []

    @classmethod
    async def serve(cls, folder: Path) -> Registries:
        made = cls(folder)
        quay = registry.Registry(registry.outside, made._note("outside"), service="quay.io")
        mirror = registry.Registry(registry.mirrored, made._note("mirror"), login=registry.MIRROR_LOGIN, removed=made.removed)
        quay_port = await made._listen(quay, made.public, ["quay.io", "*.quay.io"])
        made.mirror = f"127.0.0.1:{await made._listen(mirror, made.private, [])}"
        made.outside = Outside(("127.0.0.1", quay_port), made.public.certificate_file.read_bytes(), lambda: made.is_open)

        def note(method: str, target: str, status: int, _who: str, _started: float) -> None:
            made.requests.append(("proxy", f"{method} {target}", status))

        made.proxy = Proxy(made.outside, lambda: made.wants_login, note)
        await made.proxy.open("127.0.0.1", 0)
        return made

    async def _listen(self, served: registry.Registry, ca: CertificateAuthority, names: list[str]) -> int:
        application = served.application()
        application.add_middleware(Faulty, made=self)
        listener = Listener(application)
        await listener.open("127.0.0.1", 0, ca.server_context("127.0.0.1", *names))
        self._listeners.append(listener)
        return listener.port

    def _note(self, server: str) -> Callable[[Request, int], None]:
        def note(request: Request, status: int) -> None:
            self.requests.append((server, request.url.path, status))

        return note

    async def close(self) -> None:
        await self.proxy.close()
        for listener in self._listeners:
            await listener.close()


@contextmanager
def served(folder: Path) -> Iterator[Registries]:
    """Serve registries from a thread, for clients that block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    made = asyncio.run_coroutine_threadsafe(Registries.serve(folder), loop).result(30)
    try:
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(made.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
