# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outside of the data centre: names of the vendors' services, which the sandbox answers for, and the way there.

Connections of machines to these names lead to one listener of the sandbox, whose certificate is of a CA that machines trust as a public
one. While the outside is closed, they time out, except through the HTTP proxy (`sandbox.proxy`).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import httpcore
import httpx

NAMES: Final = ("quay.io", "registry.redhat.io", "registry.connect.redhat.com", "registry.access.redhat.com", "api.openshift.com")
"""With all names below them."""


class Source(NamedTuple):
    """The machine that a request begins at: its address, its resolver, and the turns of all machines of this computer.

    ``inside``: runs a function in the network of a machine that has one of its own.
    """

    address: str
    resolve: Callable[[str], Awaitable[list[str]]]
    turns: asyncio.Semaphore
    inside: Callable[..., Awaitable[Any]] | None = None


@dataclass(frozen=True)
class Outside:
    """``address``: listener of the sandbox for all names; ``is_open``: whether machines reach it without the proxy."""

    address: tuple[str, int]
    public_ca: bytes
    """PEM."""
    is_open: Callable[[], bool]

    def has(self, host: str) -> bool:
        """Return whether a name is outside."""
        name = host.lower().rstrip(".")
        return any(name == domain or name.endswith(f".{domain}") for domain in NAMES)

    async def get(  # noqa: PLR0913, PLR0917 - the parts of an HTTP request, and where it begins
        self,
        source: Source,
        url: str,
        headers: Mapping[str, str],
        anchors: bytes,
        proxy: str,
        timeout: float,  # noqa: ASYNC109 - handed on to httpcore, which bounds each phase by it
    ) -> httpx.Response:
        """GET through the proxy, from the outside, or from a server of the data centre. Raises ``httpx.TransportError``."""
        target = httpx.URL(url)
        extensions: dict[str, Any] = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        context = _trusting(self.public_ca, anchors)
        options: dict[str, Any] = {"ssl_context": context}
        if proxy:
            through = httpx.URL(proxy)
            login = (unquote(through.username), unquote(through.password)) if through.username else None
            place = through.copy_with(host=await _address(source, through.host), username=None, password=None)
            options["proxy"] = httpcore.Proxy(str(place), auth=login)
        else:
            # The certificate is checked against the requested name, not the address behind it.
            extensions["sni_hostname"] = target.host
            if not self.has(target.host):
                target = target.copy_with(host=await _address(source, target.host))
            elif self.is_open():
                target = target.copy_with(host=self.address[0], port=self.address[1])
            else:
                # A firewall drops the packets.
                await asyncio.sleep(timeout)
                raise httpx.ConnectTimeout(f"dial tcp {target.host}:{target.port or 443}: i/o timeout")
        sent = [("host", httpx.URL(url).netloc.decode("ascii")), *headers.items()]
        request = {"method": "GET", "url": str(target), "headers": sent, "extensions": extensions}
        async with source.turns:
            try:
                answer = await _answer(source, options, request)
            except httpcore.TimeoutException as error:
                raise httpx.ConnectTimeout(f"dial tcp {httpx.URL(url).host}: i/o timeout") from error
            except (httpcore.ProxyError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
                raise httpx.ConnectError(f"Get {url}: {_reason(error)}") from error
        return httpx.Response(answer.status, headers=answer.headers, content=answer.content, request=httpx.Request("GET", url))


async def _answer(source: Source, options: dict[str, Any], request: dict[str, Any]) -> httpcore.Response:
    if source.inside is None:
        async with httpcore.AsyncConnectionPool(**options, network_backend=_From(source.address)) as pool:
            return await pool.request(**request)
    with httpcore.ConnectionPool(**options) as own:
        answer: httpcore.Response = await source.inside(lambda: own.request(**request))
        return answer


class _From(httpcore.AnyIOBackend):
    """Connects from one address, through a proxy as well: httpcore's own ``local_address`` is for direct connections alone."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of httpcore
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        own = local_address or self._address
        return await super().connect_tcp(host, port, timeout=timeout, local_address=own, socket_options=socket_options)


async def _address(source: Source, host: str) -> str:
    addresses = await source.resolve(host)
    if not addresses:
        raise httpx.ConnectError(f"dial tcp: lookup {host}: no such host")
    return addresses[0]


def _reason(error: Exception) -> str:
    if isinstance(error, httpcore.ProxyError):
        return f"proxyconnect tcp: {error}"
    return "tls: failed to verify certificate: " + str(error) if "CERTIFICATE_VERIFY_FAILED" in str(error) else str(error)


@lru_cache(maxsize=64)
def _trusting(public_ca: bytes, anchors: bytes) -> ssl.SSLContext:
    """Return a context that trusts both, PEM. Raises ``httpx.ConnectError`` for anchors that are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        for bundle in (public_ca, anchors):
            if bundle.strip():
                context.load_verify_locations(cadata=bundle.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise httpx.ConnectError(f"cannot set up TLS: {error}") from error
    return context
