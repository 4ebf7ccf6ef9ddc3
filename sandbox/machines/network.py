# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network card of a simulated machine: HTTP from its own source address, names only from the sandbox's DNS.

All of 127.0.0.0/8 is local on Linux, so the client socket can be bound to the device's address, and the metadata service, firewall rules
and access logs see the right machine.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import dns.asyncresolver
import dns.exception
import dns.rdatatype
import dns.resolver
import httpx

from sandbox.loopback import is_private
from sandbox.machines.outside import Outside, Source

TransportKey = tuple[str, str, str, int, bytes | None, tuple[str, float, str, float] | None, bool]

AT_ONCE = 8
"""Requests of all machines together that are on their way at a time. One computer plays them all: five hundred that fetch the same file in
the same second would all wait longer than their time-outs, and ask again for ever."""

KEPT_SECONDS = 120.0
"""Seconds until an idle connection is closed. A kubelet sends a request every ten seconds, later on a busy computer."""

IDEMPOTENT = ("GET", "HEAD", "PUT", "DELETE")
"""Requests that a client may send a second time (RFC 9110 section 9.2.2)."""

KEPT_TRANSPORTS = 8
"""Connections a machine keeps warm: a kubelet talks to one API server at a time."""


UNANSWERED_SECONDS = 0.3
"""On one computer a packet without an answer for so long was dropped by a firewall."""


class Card(Protocol):
    """A network card that a machine has: its connections are in a network namespace of their own."""

    names: Callable[[tuple[str, int], str], NameService]
    http: Callable[..., BoundHTTP]

    async def listen(self, address: str, port: int) -> socket.socket: ...


class Turn:
    """The turn of one request among those of all machines. It is released while a packet stays without an answer: that costs this computer
    nothing, and eight machines that wait for one would stop all others.
    """

    def __init__(self, turns: asyncio.Semaphore) -> None:
        self._turns = turns
        self._is_taken = False
        self._unanswered: asyncio.TimerHandle | None = None
        self.has_waited = False
        """Whether it was taken again after a connection: the server may have closed that meanwhile."""
        self.has_connected = False
        """Whether a connection was made for the request, rather than taken from those that were kept."""

    async def __aenter__(self) -> Self:
        await self._take()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._stop_waiting()
        self._release()

    async def trace(self, event: str, _info: Mapping[str, Any]) -> None:
        """Follow the events of httpcore (its extension ``trace``)."""
        if event == "connection.connect_tcp.started":
            self.has_connected = True
            self._unanswered = asyncio.get_running_loop().call_later(UNANSWERED_SECONDS, self._release)
        elif event.startswith("connection.connect_tcp."):
            self._stop_waiting()
            if event.endswith(".complete") and not self._is_taken:
                self.has_waited = True
                await self._take()

    async def _take(self) -> None:
        await self._turns.acquire()
        self._is_taken = True

    def _release(self) -> None:
        if self._is_taken:
            self._is_taken = False
            self._turns.release()

    def _stop_waiting(self) -> None:
        if self._unanswered is not None:
            self._unanswered.cancel()
            self._unanswered = None


class NameService:
    """Stub resolver of a machine, with the sandbox's server as its only one (what DHCP hands out)."""

    def __init__(self, server: tuple[str, int], source: str) -> None:
        self._resolver = dns.asyncresolver.Resolver(configure=False)
        self._resolver.nameservers = [server[0]]
        self._resolver.port = server[1]
        self._resolver.lifetime = 3.0
        self._resolver.timeout = 1.0
        self._source = source

    async def resolve(self, name: str) -> list[str]:
        """IPv4 addresses of ``name`` in the order of the answer; empty on NXDOMAIN, no data, refusal or silence."""
        answer: dns.resolver.Answer | None
        try:
            answer = await self._resolver.resolve(name.rstrip(".") + ".", dns.rdatatype.A, source=self._source)
        except (dns.exception.DNSException, OSError):
            answer = None
        # Python 3.11's asyncio.wait_for, by which the resolver waits, loses a cancellation that comes together with the answer
        # (python/cpython#86296): a machine that repeats its requests could not be switched off.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        return [rdata.address for rdata in answer or ()]


class BoundHTTP:
    """HTTP client of a machine: from its own ``address``, with ``names`` as the only resolver.

    Private addresses are reached from ``private_address`` alone, once the machine has configured one.
    ``turns`` is shared by machines of one computer: time-outs begin with a machine's turn. Requests fail while ``is_connected`` returns
    False: no packet from the address arrives, and no answer comes back.
    """

    inside: Callable[..., Awaitable[Any]] | None = None
    """Runs a function in the network of a machine that has one of its own."""

    def __init__(
        self,
        address: str,
        names: NameService,
        turns: asyncio.Semaphore | None = None,
        outside: Outside | None = None,
        is_connected: Callable[[], bool] = lambda: True,
    ) -> None:
        self.address = address
        self.is_connected = is_connected
        self.private_address = ""
        self._names = names
        self._turns = turns or asyncio.Semaphore(AT_ONCE)
        self._outside = outside
        self._transports: OrderedDict[TransportKey, httpx.AsyncBaseTransport] = OrderedDict()
        self._reached: dict[tuple[str, int], str] = {}

    async def request(  # noqa: PLR0913 - the parts of an HTTP request, all but two by keyword
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        ca_pem: bytes | None = None,
        cert: tuple[Path, Path] | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109 - handed on to httpx, which bounds each phase by it
        verify: bool = True,
        at_most: int | None = None,
    ) -> httpx.Response:
        """One request, without following redirects. Host and SNI are those of ``url``, all addresses of its name are tried in turn.

        ``ca_pem``: PEM certificates to trust, alone; without it the system's. ``cert``: client certificate and key.
        ``timeout``: real seconds for each of connect, write and read. ``verify=False`` leaves the server's certificate
        unchecked (as dracut's rootfs download does). ``at_most``: stop reading after so many bytes of the body.
        Raises ``httpx.TransportError``; a name without an address is a ``httpx.ConnectError``.
        """
        target = httpx.URL(url)
        if target.scheme not in {"http", "https"}:
            raise httpx.UnsupportedProtocol(f"scheme of {url!r} is not http or https")
        if not target.host:
            raise httpx.ConnectError(f"no host in {url!r}")
        self._check_connection()
        async with Turn(self._turns) as turn:
            port = target.port or (443 if target.scheme == "https" else 80)
            # Who shows a certificate, a kubelet, keeps its connection, and with it the server, until that fails.
            place, keeps = (target.host, port), cert is not None
            addresses = [self._reached[place]] if keeps and place in self._reached else await self._addresses(target.host)
            sent = {
                "host": target.netloc.decode("ascii"),
                "accept": "*/*",
                "user-agent": "machine",
                **{k.lower(): v for k, v in (headers or {}).items()},
            }
            failure: httpx.TransportError = httpx.ConnectError(f"no address for {target.host}")
            for address in addresses:
                source = self.private_address if is_private(address) else self.address
                if not source:
                    failure = httpx.ConnectError(f"connect to {address}: network is unreachable, this machine has no private address")
                    continue
                transport = self._transport(source, target.scheme, target.host, port, ca_pem, cert, verify=verify)
                request = httpx.Request(
                    method,
                    target.copy_with(host=address),
                    headers=sent,
                    content=content,
                    extensions={
                        # The certificate is checked against the requested name, not the address behind it.
                        "sni_hostname": target.host,
                        "timeout": httpx.Timeout(timeout).as_dict(),
                        "trace": turn.trace,
                    },
                )
                try:
                    response = await self._answer(turn, transport, request, at_most)
                except httpx.TransportError as error:
                    self._reached.pop(place, None)
                    if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                        raise
                    failure = error
                else:
                    if keeps:
                        self._reached[place] = address
                    return response
            raise failure

    async def fetch(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        anchors: bytes = b"",
        proxy: str = "",
        timeout: float = 10.0,  # noqa: ASYNC109 - as above
    ) -> httpx.Response:
        """GET as a service of an installed system: with public CAs and ``anchors`` (PEM), from the outside too, by choice through a proxy.

        Raises ``httpx.TransportError``.
        """
        if self._outside is None:
            raise httpx.ConnectError("connect: network is unreachable")
        self._check_connection()
        source = Source(self.address, self._addresses, self._turns, self.inside)
        return await self._outside.get(source, url, headers, anchors, proxy, timeout)

    def _make(self, **options: Any) -> httpx.AsyncBaseTransport:
        return httpx.AsyncHTTPTransport(**options)

    async def close(self) -> None:
        """Drop all kept connections."""
        while self._transports:
            _unused, transport = self._transports.popitem()
            await transport.aclose()

    def _check_connection(self) -> None:
        if not self.is_connected():
            raise httpx.ConnectError(f"connect: no route to host (from {self.address})")

    async def _answer(self, turn: Turn, transport: httpx.AsyncBaseTransport, request: httpx.Request, at_most: int | None) -> httpx.Response:
        while True:
            turn.has_waited = turn.has_connected = False
            try:
                return await self._exchange(transport, request, at_most)
            except (httpx.RemoteProtocolError, httpx.NetworkError):
                # A server ends a connection that was silent for some seconds: clients ask again on another one.
                is_old = not turn.has_connected and request.method in IDEMPOTENT
                if not turn.has_waited and not is_old:
                    raise

    async def _exchange(self, transport: httpx.AsyncBaseTransport, request: httpx.Request, at_most: int | None) -> httpx.Response:
        response = await transport.handle_async_request(request)
        response.request = request
        try:
            if at_most is None:
                await response.aread()
                return response
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) >= at_most:
                    break
            # The content is decoded already: the copy must not have the Content-Encoding header.
            kept = [(name, value) for name, value in response.headers.multi_items() if name.lower() != "content-encoding"]
            return httpx.Response(response.status_code, headers=kept, content=body[:at_most], request=request)
        finally:
            await response.aclose()

    async def _addresses(self, host: str) -> list[str]:
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            return await self._names.resolve(host)

    def _transport(  # noqa: PLR0913, PLR0917 - the whole key of the cache
        self, source: str, scheme: str, host: str, port: int, ca_pem: bytes | None, cert: tuple[Path, Path] | None, *, verify: bool
    ) -> httpx.AsyncBaseTransport:
        """Kept per name, trust and identity: a connection checked for one name must not serve another."""
        stamp = None if cert is None else (str(cert[0]), cert[0].stat().st_mtime, str(cert[1]), cert[1].stat().st_mtime)
        key: TransportKey = (source, scheme, host, port, ca_pem, stamp, verify)
        transport = self._transports.pop(key, None)
        if transport is None:
            context = _context(ca_pem, stamp, verify) if scheme == "https" else False
            transport = self._make(
                verify=context,
                local_address=source,
                trust_env=False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=4, keepalive_expiry=KEPT_SECONDS),
            )
        self._transports[key] = transport
        # The oldest is not closed, only dropped: a request may still read from it, and its sockets close with it.
        while len(self._transports) > KEPT_TRANSPORTS:
            self._transports.popitem(last=False)
        return transport


@functools.lru_cache(maxsize=256)
def _context(ca_pem: bytes | None, cert: tuple[str, float, str, float] | None, verify: bool) -> ssl.SSLContext:
    """Shared by machines that trust and show the same: loading a trust store is the costly part of a connection.

    Raises ``httpx.ConnectError`` for certificates that are none, since to a machine that is a server it cannot trust.
    """
    try:
        if ca_pem is None:
            context = ssl.create_default_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=ca_pem.decode("ascii"))
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cert is not None:
            context.load_cert_chain(cert[0], cert[2])
    except (ssl.SSLError, UnicodeDecodeError, OSError) as error:
        raise httpx.ConnectError(f"cannot set up TLS: {error}") from error
    return context
