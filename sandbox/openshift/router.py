# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The routers of a cluster: listeners on the machines whose nodes run a router pod.

A router serves the hosts of routes on 80 and 443, with the default certificate of the ingress operator's CA, and on 1936 whether it is
ready. Answers carry the name of the node in the header ``x-sandbox-router``. There is no pod behind a route: the router answers itself.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from metal_api.listener import Listener
from sandbox.machines import Machine
from sandbox.openshift import pki
from sandbox.openshift.api import Object
from sandbox.openshift.forward import Forward
from sandbox.openshift.pki import KeyPair

_logger = logging.getLogger(__name__)

PORTS: Final = {"http": 80, "https": 443, "stats": 1936}
NODE_HEADER: Final = "x-sandbox-router"

BUILT_IN: Final = ("console-openshift-console", "downloads-openshift-console", "oauth-openshift", "canary-openshift-ingress-canary")
"""First labels of the routes that the operators of a cluster have. Their objects are not in the API, but for the console's."""

_RETRY: Final = 1.0
_LIFETIME: Final = timedelta(days=730)


def _place(address: str, port: int) -> tuple[str, int]:
    return address, port


class Routers:
    """Where the router pods of a cluster run, and what they serve."""

    def __init__(self) -> None:
        self._ready: dict[str, bool] = {}
        self._insecure: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._pair: KeyPair | None = None
        self.unprivileged = False
        """Whether this process may not listen on ports below 1024, so that routers carry no traffic."""

    def place(self, pods: Iterable[Object]) -> None:
        """Take over which nodes run a router pod, from all router pods."""
        ready = {
            pod["spec"]["nodeName"]: not pod["metadata"].get("deletionTimestamp")
            for pod in pods
            if pod["spec"].get("nodeName") and (pod.get("status") or {}).get("phase") == "Running"
        }
        if ready != self._ready:
            self._ready = ready
            self._wake()

    def serve_hosts(self, domain: str, routes: Iterable[Object]) -> None:
        """Take over the routes: their hosts, and what they do with requests without TLS."""
        hosts = {f"{name}.apps.{domain}": "Redirect" for name in BUILT_IN}
        for route in routes:
            spec = route.get("spec") or {}
            tls = spec.get("tls")
            if spec.get("host"):
                hosts[spec["host"]] = "Plain" if tls is None else str(tls.get("insecureEdgeTerminationPolicy") or "None")
        self._insecure = hosts

    def certify(self, signer: KeyPair, domain: str) -> None:
        """Make the default certificate."""
        self._pair = pki.server(signer, f"*.apps.{domain}", (f"*.apps.{domain}",), _LIFETIME)
        self._wake()

    @property
    def certificate(self) -> KeyPair | None:
        """The default certificate and its key, None before there is an ingress operator."""
        return self._pair

    def runs_on(self, node: str) -> bool:
        """Whether a router pod runs on a node: also one that is being stopped, until its containers have."""
        return node in self._ready

    def is_ready_on(self, node: str) -> bool:
        """Return whether the router on a node accepts new connections."""
        return self._ready.get(node, False)

    def answer(self, node: str, host: str, path: str, *, tls: bool) -> Response:
        """Return the answer of the router on a node to a request for a host."""
        headers = {NODE_HEADER: node}
        insecure = self._insecure.get(host)
        if insecure is None or (tls and insecure == "Plain") or (not tls and insecure == "None"):
            return PlainTextResponse("Application is not available", status_code=503, headers=headers)
        if not tls and insecure == "Redirect":
            return RedirectResponse(f"https://{host}{path}", status_code=302, headers=headers)
        return PlainTextResponse(f"{host} by the router on {node}\n", headers=headers)

    async def until_changed(self) -> None:
        """Return at the next change of the places."""
        await self._changed.wait()

    def _wake(self) -> None:
        # Each waiter holds the event it started with.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Router:
    """The listeners of one machine: open while a router pod runs on its node."""

    def __init__(self, routers: Routers, machine: Machine) -> None:
        self._routers = routers
        self._machine = machine
        self._node = machine.hardware.hostname.lower()
        self._open: list[Listener | Forward] = []

    async def run(self) -> None:
        """Open and close the ports until cancelled."""
        try:
            while True:
                changed = asyncio.ensure_future(self._routers.until_changed())
                try:
                    is_placed = self._routers.runs_on(self._node) and self._routers.certificate is not None
                    desired = is_placed and self._machine.is_connected()
                    if desired and not self._open:
                        await self._listen()
                    elif not desired and self._open:
                        await self._close()
                    # A port that was taken is tried again, and the switch port changes without an event.
                    await asyncio.wait({changed}, timeout=_RETRY if is_placed else None)
                finally:
                    changed.cancel()
        finally:
            await self._close()

    async def _listen(self) -> None:
        pair = self._routers.certificate
        if pair is None:
            return
        address, *others = self._machine.addresses
        applications: Mapping[str, tuple[ASGIApp, Any]] = {
            "stats": (self._health, None),
            "http": (self._plain, None),
            "https": (self._secure, pair.server_context()),
        }
        try:
            for name, (application, context) in applications.items():
                listener = Listener(application)
                listener.serve(await self._machine.listen(address, PORTS[name]), context)
                self._open.append(listener)
            for other, port in itertools.product(others, PORTS.values()):
                forward = Forward(partial(_place, address, port))
                await forward.serve(await self._machine.listen(other, port))
                self._open.append(forward)
        except PermissionError as error:
            await self._close()
            if not self._routers.unprivileged:
                self._routers.unprivileged = True
                _logger.warning(
                    "routers carry no traffic: %s. Run `sysctl net.ipv4.ip_unprivileged_port_start=80` or the sandbox as root", error
                )
        except OSError as error:
            await self._close()
            _logger.warning("%s: router cannot listen, trying again: %s", self._machine.hardware.hostname, error)
        else:
            self._machine.console(f"router-default: serves {' and '.join(self._machine.addresses)} ports 80, 443 and 1936")

    async def _close(self) -> None:
        while self._open:
            await self._open.pop().close()

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = Request(scope).url.path
        is_ready = self._routers.is_ready_on(self._node)
        if path == "/healthz":
            response = PlainTextResponse("ok")
        elif path == "/healthz/ready":
            response = PlainTextResponse("ok" if is_ready else "[-]process-running failed", status_code=200 if is_ready else 500)
        else:
            response = PlainTextResponse("not found", status_code=404)
        await response(scope, receive, send)

    async def _plain(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send, tls=False)

    async def _secure(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send, tls=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, *, tls: bool) -> None:
        request = Request(scope)
        host = request.headers.get("host", "").partition(":")[0].lower()
        await self._routers.answer(self._node, host, request.url.path, tls=tls)(scope, receive, send)


async def serve_routes(machine: Machine, find: Callable[[], Routers | None]) -> None:
    """Serve as a router while a router pod runs on the node of a machine, until cancelled. ``find``: the routers of its cluster."""
    while True:
        routers = find()
        if routers is not None:
            await Router(routers, machine).run()
        await asyncio.sleep(_RETRY)
