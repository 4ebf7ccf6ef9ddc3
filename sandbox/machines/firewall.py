# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The firewall of a machine, by its own files: TCP ports that accept connections of the cluster's machines alone.

Nothing of a machine's config is run here. The unit ``node-firewall.service`` is taken at its word, if all that it needs is on the machine:
its timer, its script and its settings. Its rules are those of the script ``node-firewall``, as packet filters of the kernel on the sockets
that listen for the machine: packets of other clients are dropped, so these wait until their time-out as with nft. UDP is not simulated.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import ipaddress
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox.machines import Machine

CONF: Final = "/etc/node-firewall.conf"
PROGRAM: Final = "/usr/local/bin/node-firewall"
UNITS: Final = frozenset({"node-firewall.service", "node-firewall.timer"})

_INTERVAL: Final = 30.0
"""Simulated seconds from one run of the timer to the next."""
_SHORTEST: Final = 1.0
_FOR_EACH_PAIR: Final = 0.0002
"""Real seconds between two runs at least, whatever the speed: one computer sends the queries of all machines, and answers them.
With 500 machines that is a run a minute; with fewer seconds, name server and resolvers would have no time for other requests.
"""

_SO_ATTACH_FILTER: Final = 26
_SO_DETACH_FILTER: Final = 27
_LOAD: Final = 0x20
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_SOURCE_ADDRESS: Final = -0x100000 + 12
"""Offset of the source address in the network header (linux/filter.h, SKF_NET_OFF)."""
_ACCEPT: Final = 0xFFFFFFFF
_DROP: Final = 0

Network = ipaddress.IPv4Network


@dataclass(frozen=True)
class Settings:
    """The settings of the unit on a machine."""

    record: str
    sources: tuple[Network, ...]
    ports: tuple[range, ...]

    @classmethod
    def read(cls, files: Mapping[str, bytes], units: Collection[str]) -> Settings | None:
        """Return the settings in a machine's files, None without the firewall. ``units``: names of those that the machine starts."""
        if not set(units) >= UNITS or PROGRAM not in files or CONF not in files:
            return None
        values = dict(re.findall(r'^(\w+)="(.*)"$', files[CONF].decode(), re.MULTILINE))
        ports = (text.strip().partition("-") for text in values["TCP_PORTS"].split(","))
        sources = (ipaddress.ip_network(source) for source in values["SOURCES"].split())
        return cls(
            values["NODES_RECORD"],
            tuple(source for source in sources if isinstance(source, Network)),
            tuple(range(int(first), int(last or first) + 1) for first, _unused, last in ports),
        )


class Firewall:
    """The rules of one boot of a machine. Without ``settings`` it blocks nothing.

    ``further``: returns addresses of the machine beside those that it sends from, such as one in a VLAN.
    """

    def __init__(self, machine: Machine, settings: Settings | None, further: Callable[[], Iterable[str]] = tuple) -> None:
        self._machine = machine
        self._settings = settings
        self._further = further
        self._guarded: list[socket.socket] = []
        self._accepted: tuple[Network, ...] | None = None
        self._saved = machine.directory / "node-firewall.json"

    def closes(self, port: int) -> bool:
        """Return whether the rules are about a port."""
        return self._settings is not None and any(port in ports for ports in self._settings.ports)

    def guard(self, *sockets: socket.socket) -> None:
        """Apply the rules to sockets that listen for the machine, now and with each change, until they are closed."""
        self._guarded = [entry for entry in self._guarded if entry.fileno() >= 0]
        guarded = {entry.fileno() for entry in self._guarded}
        for sock in sockets:
            if sock.fileno() not in guarded and self.closes(sock.getsockname()[1]):
                self._guarded.append(sock)
                _filter(sock, self._accepted)

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Run the script, and again by the timer while inside."""
        number = await self.apply()
        timer = None if self._settings is None else asyncio.create_task(self._repeat(number), name="node-firewall.timer")
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
                await asyncio.gather(timer, return_exceptions=True)

    async def _repeat(self, number: int) -> None:
        while True:
            await asyncio.gather(self._machine.clock.sleep(_INTERVAL), asyncio.sleep(max(_SHORTEST, number**2 * _FOR_EACH_PAIR)))
            number = await self.apply()

    async def apply(self) -> int:
        """Run the script once, and return the number of addresses in the record."""
        if self._settings is None:
            return 0
        saved = self._read()
        nodes = sorted(await self._machine.resolve(self._settings.record)) or saved["nodes"]
        own = {*self._machine.addresses, *self._further()}
        listed = sorted(own & set(nodes)) or sorted(set(saved["own"]) & set(nodes))
        state = {"nodes": nodes, "own": listed or saved["own"]}
        if state != saved:
            self._saved.write_text(json.dumps(state), encoding="utf-8")
        # Machines of the sandbox listen on IPv4 alone, whatever IPv6 addresses they have.
        sources = [Network(address) for address in {*nodes, *own} if ":" not in address]
        self._accept((*sources, *self._settings.sources) if listed else None)
        return len(nodes)

    def _read(self) -> dict[str, list[str]]:
        state: dict[str, list[str]] = {"nodes": [], "own": []}
        if self._saved.exists():
            state |= json.loads(self._saved.read_text(encoding="utf-8"))
        return state

    def _accept(self, networks: Iterable[Network] | None) -> None:
        accepted = None if networks is None else tuple(ipaddress.collapse_addresses(networks))
        if accepted == self._accepted or self._settings is None:
            return
        if (accepted is None) != (self._accepted is None):
            record = self._settings.record
            self._machine.console(
                f"node-firewall: {record} does not list an address of this node: nothing is blocked"
                if accepted is None
                else f"node-firewall: ports of nodes accept the addresses of {record}"
            )
        self._accepted = accepted
        self._guarded = [entry for entry in self._guarded if entry.fileno() >= 0]
        for sock in self._guarded:
            _filter(sock, accepted)


def _filter(sock: socket.socket, accepted: Iterable[Network] | None) -> None:
    """Let the kernel drop packets to a listening socket whose source address is in none of these networks. None: drop nothing.

    Connections that are open keep the filter that they were accepted with (linux, ``sk_clone_lock``).
    """
    if accepted is None:
        with contextlib.suppress(FileNotFoundError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
        return
    code = [step for network in accepted for step in _steps(network)]
    program = b"".join(struct.pack("HBBI", *step) for step in (*code, (_RETURN, 0, 0, _DROP)))
    buffer = ctypes.create_string_buffer(program, len(program))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(code) + 1, ctypes.addressof(buffer)))


def _steps(network: Network) -> list[tuple[int, int, int, int]]:
    """Return the instructions (operation, jump if true, jump if false, operand) that accept the packets of a network."""
    return [
        (_LOAD, 0, 0, _SOURCE_ADDRESS & 0xFFFFFFFF),
        (_AND, 0, 0, int(network.netmask)),
        (_JUMP_IF_EQUAL, 0, 1, int(network.network_address)),
        (_RETURN, 0, 0, _ACCEPT),
    ]
