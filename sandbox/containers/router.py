# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A BGP router of the service, for containers: BIRD at the address that metadata has, with the sessions of the Metal API that are up.

Its routes are in a table that is read before that of local addresses (`sandbox.namespace`): an elastic address is local as those of
devices are, and leads to containers while they announce it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from metal_api.bgp import BgpSession, neighbors
from metal_api.core.world import World
from metal_api.devices.record import Device
from metal_api.process import Child
from sandbox.containers.command import run
from sandbox.namespace import ROUTERS, path_of

_LOCAL: Final = 255
_INTERVAL: Final = 0.5
_SHARED: Final = f"""\
ipv4 table announced;
ipv4 table cards;
protocol device {{ scan time 1; }}
# Host routes to machines, which lead to the next hops.
protocol kernel {{ kernel table {_LOCAL}; learn; scan time 1; ipv4 {{ table cards; import all; export none; }}; }}
"""


class Router:
    """``address``: one of the routers. ``folder``: for the configuration and the log of BIRD."""

    def __init__(self, world: World, address: str, folder: Path) -> None:
        self._world = world
        self._address = address
        self._folder = folder / f"router-{address}"
        self._bird = Child("bird", self._command, directory=folder, log=folder / f"{self._folder.name}.log")

    async def run(self) -> None:
        """Follow the sessions until cancelled. BIRD starts with the first one."""
        self._folder.mkdir(exist_ok=True)
        configured = ""
        try:
            while True:
                sessions = "".join(self._sessions())
                if sessions != configured:
                    (self._folder / "bird.conf").write_text(self._shared() + sessions, encoding="utf-8")
                    if self._bird.starts:
                        await run(path_of("birdc"), "-s", str(self._socket), "configure")
                    else:
                        await self._bird.start()
                    configured = sessions
                # The records change without an event.
                await asyncio.sleep(_INTERVAL)
        finally:
            await self._bird.stop()

    @property
    def _socket(self) -> Path:
        return self._folder / "bird.ctl"

    def _command(self) -> list[str]:
        return [path_of("bird"), "-f", "-c", str(self._folder / "bird.conf"), "-s", str(self._socket)]

    def _shared(self) -> str:
        learned = (
            f"kernel table {ROUTERS[self._address]}; merge paths on; scan time 1; ipv4 {{ table announced; import none; export all; }};"
        )
        return f"router id {self._address};\n{_SHARED}protocol kernel {{ {learned} }}\n"

    def _sessions(self) -> Iterator[str]:
        store = self._world.store
        for session in store[BgpSession]:
            if (session.address_family, session.status) != ("ipv4", "up"):
                continue
            for neighbor in neighbors(self._world, store[Device][session.device_id]):
                if self._address in neighbor["peer_ips"]:
                    yield self._session(f"session_{session.id[:8]}", neighbor)

    def _session(self, name: str, neighbor: dict[str, Any]) -> str:
        accepted = ", ".join(f"{entry['route']}+" for entry in neighbor["routes_in"])
        lines = [
            f"local {self._address} as {neighbor['peer_as']};",
            f"neighbor {neighbor['customer_ip']} as {neighbor['customer_as']};",
            "multihop 5;",
            "passive;",
            # The other router is at another address of this computer.
            "strict bind;",
            *([f'password "{neighbor["md5_password"]}";'] if neighbor["md5_enabled"] else []),
            f"ipv4 {{ table announced; igp table cards; import where net ~ [{accepted}]; export none; }};",
        ]
        return f"protocol bgp {name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
