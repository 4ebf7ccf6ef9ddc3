# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network card of a container: a pair of virtual Ethernet devices, one in the network namespace of the machine as ``eno1``.

The other one is the port of the router that the machine is wired to: it has the address of the machine's gateway, DHCP for this one
machine, and routes to its addresses, which take those of IPv4 from the addresses that the sandbox has itself. Each machine is routed
alone, as in the service's layer 3: packets of another machine, of the controller and of other networks come from the addresses that these
have. As there DHCP has the public IPv4 address alone, and the router advertises none: private ones and IPv6 are configured by the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import functools
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, TypeVar

import dns.exception
import dns.rdatatype
import dns.resolver
import httpx

from metal_api.core.machines import Hardware
from metal_api.ip_reservations.record import Assignment
from metal_api.listener import BACKLOG
from metal_api.process import Child
from sandbox.containers.command import ContainerError, run, to_its_end
from sandbox.machines.network import BoundHTTP, NameService
from sandbox.namespace import BRIDGE, path_of

INTERFACE: Final = "eno1"
_NAMESPACES: Final = Path("/run/netns")
_CLONE_NEWNET: Final = 0x40000000
_DNSMASQ: Final = (
    *("--conf-file=/dev/null", "--no-daemon", "--port=0", "--bind-interfaces", "--leasefile-ro", "--dhcp-authoritative", "--user=root"),
    # Without them it asks the computer for its own name, and answers with it.
    *("--no-hosts", "--no-resolv", "--log-dhcp"),
)
_THREADS: Final = 4

_T = TypeVar("_T")
Inside = Callable[..., Awaitable[Any]]
"""Runs a function in a thread that is in the namespace of the machine."""


class Link:
    """``management``: the addresses of the device. ``folder``: for the log of DHCP. ``name_server``: what DHCP offers.

    It is connected within :meth:`connected`, once.
    """

    def __init__(self, hardware: Hardware, management: Sequence[Assignment], folder: Path, name_server: str) -> None:
        self._hardware = hardware
        self._management = management
        self.address = hardware.address
        # In layer 2 there is none.
        self.gateway = next((each.gateway for each in management if each.address == hardware.address), "")
        # An interface has at most 15 characters.
        self.name = f"m{hardware.device_id.replace('-', '')[:13]}"
        self._mac = hardware.macs[0]
        self.name_server = name_server
        # Sockets belong to the network of the thread that made them. Threads start with the first one, when there is the namespace.
        self._threads = ThreadPoolExecutor(_THREADS, f"network {self.name}", _enter, (self.namespace,))
        self.names: Callable[[tuple[str, int], str], NameService] = functools.partial(_Names, self._inside)
        self.http: Callable[..., BoundHTTP] = functools.partial(HTTP, self._inside)
        self._dhcp = Child("dnsmasq", self._command, directory=folder, log=folder / "dhcp.log")

    @property
    def namespace(self) -> Path:
        """The network namespace of the machine."""
        return _NAMESPACES / self.name

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """The machine has power: its card is there, and DHCP answers. Raises :class:`ContainerError`."""
        # What a sandbox that was killed has left.
        await self._remove()
        try:
            await _ip(f"netns add {self.name}")
            await _ip(f"link add {self.name} type veth peer name {INTERFACE} address {self._mac} netns {self.name}")
            await _ip(f"-netns {self.name} link set lo up")
            await _ip(f"link set {self.name} up")
            for each in self._management:
                await be_gateway(self.name, each.address, each.gateway, each.network)
            await self._dhcp.start()
            yield
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            await to_its_end(self._disconnect())

    async def _disconnect(self) -> None:
        await self._dhcp.stop(patience=0)
        await self._remove()

    async def cut(self) -> None:
        """The machine loses its power: its packets are lost from now on, also those that end connections when its processes are killed."""
        # In layer 2 the address of the device is none of these.
        await silence({self.address, *(each.address for each in self._management)}, True)
        await _ip(f"link set {self.name} down")

    async def _remove(self) -> None:
        for command in (f"link delete {self.name}", f"netns delete {self.name}"):
            with contextlib.suppress(ContainerError):
                await _ip(command)

    @asynccontextmanager
    async def configured(self) -> AsyncIterator[None]:
        """The address is configured, as by DHCP in an initramfs, and gone afterwards."""
        await _ip(f"-netns {self.name} link set {INTERFACE} up")
        await _ip(f"-netns {self.name} address add {self.address}/31 dev {INTERFACE}")
        await _ip(f"-netns {self.name} route add default via {self.gateway}")
        try:
            yield
        finally:
            await _ip(f"-netns {self.name} address flush dev {INTERFACE}")
            await _ip(f"-netns {self.name} link set {INTERFACE} down")

    async def listen(self, _address: str, port: int) -> socket.socket:
        """Return a socket that listens in the namespace of the machine: what its firewall drops does not arrive. Raises ``OSError``.

        It listens at all addresses, as services of a node do, also before DHCP has configured one.
        """
        return await self._inside(_open_socket, port)

    async def _inside(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function in a thread of the namespace. Raises ``OSError`` once the machine has no power any more."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, functools.partial(function, *arguments))
        except (RuntimeError, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise OSError(errno.ENETDOWN, os.strerror(errno.ENETDOWN)) from error

    def _command(self) -> list[str]:
        return dhcp_command(self.name, self._hardware, self.gateway, self.name_server)


async def be_gateway(interface: str, address: str, gateway: str, network: str) -> None:
    """Route an address of a machine to an interface of the router, which has the gateway in their network."""
    parsed = ip_network(network)
    await _ip(f"address add {gateway}/{parsed.prefixlen} dev {interface}")
    if parsed.version == 4:
        # More specific than the networks that are local, and in their table, which is read first. None of IPv6 is.
        await _ip(f"route replace {address}/32 dev {interface} table local")


def _open_socket(port: int) -> socket.socket:
    return socket.create_server(("::", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)


def dhcp_command(interface: str, hardware: Hardware, gateway: str, name_server: str) -> list[str]:
    """Return the command of a DHCP server for one machine, on the interface that is its router."""
    return [
        path_of("dnsmasq"),
        *_DNSMASQ,
        f"--interface={interface}",
        f"--dhcp-range={hardware.address},{hardware.address},255.255.255.254,infinite",
        f"--dhcp-host={hardware.macs[0]},{hardware.address},{hardware.hostname},infinite",
        f"--dhcp-option=option:router,{gateway}",
        f"--dhcp-option=option:dns-server,{name_server}",
    ]


def _enter(namespace: Path) -> None:
    """Move this thread to a network namespace, for its life."""
    libc = ctypes.CDLL(None, use_errno=True)
    with namespace.open("rb") as file:
        if libc.setns(file.fileno(), _CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


class _Names(NameService):
    """The resolver of a machine, by its network card."""

    def __init__(self, inside: Inside, server: tuple[str, int], source: str) -> None:
        super().__init__(server, source)
        self._inside = inside
        self._server = server

    async def resolve(self, name: str) -> list[str]:
        try:
            addresses: list[str] = await self._inside(_addresses, self._server, name)
        except OSError:
            return []
        return addresses


def _addresses(server: tuple[str, int], name: str) -> list[str]:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port, resolver.lifetime = [server[0]], server[1], 3.0
    try:
        return [record.address for record in resolver.resolve(name, dns.rdatatype.A)]
    except (dns.exception.DNSException, OSError):
        return []


class HTTP(BoundHTTP):
    """The HTTP client of a machine, by its network card."""

    def __init__(self, inside: Inside, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.inside: Inside = inside

    def _make(self, **options: Any) -> httpx.AsyncBaseTransport:
        # The address is that of the card.
        return _Transport(self.inside, options | {"local_address": None})


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, inside: Inside, options: dict[str, Any]) -> None:
        self._inside, self._options = inside, options

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with a connection of its own, and report its start and its end to the extension ``trace``."""
        await request.aread()
        trace = request.extensions["trace"]
        await trace("connection.connect_tcp.started", {})
        end = "failed"
        try:
            answer: httpx.Response = await self._inside(self._send, request)
            end = "complete"
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        finally:
            await trace(f"connection.connect_tcp.{end}", {})
        return answer

    def _send(self, request: httpx.Request) -> httpx.Response:
        # What traces an asynchronous connection cannot be called for another one.
        extensions = {key: value for key, value in request.extensions.items() if key != "trace"}
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.content, extensions=extensions)
        with httpx.HTTPTransport(**self._options) as transport:
            answer = transport.handle_request(sent)
            answer.read()
            answer.close()
        # The content is decoded already.
        kept = [(name, value) for name, value in answer.headers.multi_items() if name.lower() != "content-encoding"]
        return httpx.Response(answer.status_code, headers=kept, content=answer.content)


async def silence(addresses: Collection[str], is_silent: bool) -> None:
    """Have the router ask for addresses where no machine answers, or no more: others then wait, and learn that these are unreachable.

    Those of IPv6 have a route of their own.
    """
    for address in (each for each in addresses if "." in each):
        route = f"{address}/32 dev {BRIDGE} table local"
        if is_silent:
            await _ip(f"route replace {route}")
        else:
            with contextlib.suppress(ContainerError):
                await _ip(f"route delete {route}")


async def _ip(arguments: str) -> None:
    await run("ip", *arguments.split())
