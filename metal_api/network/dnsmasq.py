# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DHCP and TFTP for the networks of a rack that have no DHCP server: Debian's dnsmasq as a child process.

Only the servers of the rack get leases, each the address that the Metal API has for it. The firmware of a server gets iPXE by TFTP or
HTTP, and iPXE the script of the boot service.
"""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import re
import shutil
import signal
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from metal_api.network.probe import ProbeError, other_servers
from metal_api.process import Child
from metal_api.rack import RackMetro
from metal_api.servers import Server

IPXE: Final = Path("/usr/lib/ipxe")
"""Folder of Debian's package ``ipxe``."""
BIOS_FILE: Final = "undionly.kpxe"
UEFI_FILE: Final = "snponly.efi"
LEASE: Final = "infinite"
"""Addresses do not change, and a node must keep its own while no DHCP server runs. A server gets other name servers at its next boot."""
READY_WITHIN: Final = 15.0

_SEARCHED: Final = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_STARTED: Final = re.compile(r"^(?:\w+ +\d+ [\d:]+ )?dnsmasq\[\d+\]: started", re.MULTILINE)
_ERROR: Final = re.compile(r"(?:\w+ +\d+ [\d:]+ )?dnsmasq(?:\[\d+\])?: (?!started|compile time|exiting)")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_SIOCGIFCONF: Final = 0x8912
_IFREQ: Final = struct.calcsize("16s24x")
_CAUSES: Final = (
    (
        re.compile("address already in use", re.IGNORECASE),
        "another DHCP server runs on this computer: stop it (ss -lunp 'sport = :67'), or remove dhcp_interface of the metro",
    ),
    (
        re.compile("permission denied|not permitted|capabilit", re.IGNORECASE),
        "it is not permitted: run the server as root, or give its unit AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE",
    ),
)


class DhcpError(Exception):
    """DHCP cannot be served; the message has the interface and what to do."""


@dataclass(frozen=True)
class Host:
    """A client of DHCP. ``mac``: of the interface that boots. ``name``: a host name, or empty."""

    mac: str
    address: str
    name: str


def hosts_of(servers: Iterable[Server]) -> list[Host]:
    """Return the servers with a MAC address and an address. Nodes of an Ironic that exists may have names that are no host names."""
    return [
        Host(server.macs[0], server.address, server.name if _NAME.fullmatch(server.name) else "")
        for server in servers
        if server.macs and server.address
    ]


class Dnsmasq:
    """``folder``: for its configuration and leases. ``metros``: those with a ``dhcp_interface``. ``boot_url``: of the boot service."""

    def __init__(self, folder: Path, metros: Iterable[RackMetro], boot_url: str, *, ipxe: Path = IPXE) -> None:
        self._folder, self._boot_url, self._ipxe = folder.resolve(), boot_url.rstrip("/"), ipxe
        self._metros = [metro for metro in metros if metro.dhcp_interface]
        self._hosts_file = self._folder / "hosts"
        self._leases_file = self._folder / "leases"
        # What dnsmasq serves now; None while it does not run.
        self._served: str | None = None
        self._configuration = self._folder / "dnsmasq.conf"
        self.log = self._folder / "dnsmasq.log"
        self._program = ""
        self._child = Child(
            "dnsmasq",
            # As the user that it is started as: it cannot change its groups in a user namespace.
            lambda: [self._program, f"--conf-file={self._configuration}", "--no-daemon"],
            directory=self._folder,
            log=self.log,
        )

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def start(self, hosts: Iterable[Host]) -> None:
        """Serve ``hosts``, after a check that no other DHCP server answers on these networks. Raises :class:`DhcpError`."""
        await self.stop()
        self._program = shutil.which("dnsmasq", path=_SEARCHED) or ""
        if not self._program:
            raise DhcpError("DHCP needs dnsmasq: apt-get install dnsmasq-base")
        for name in (BIOS_FILE, UEFI_FILE):
            if not (self._ipxe / name).is_file():
                raise DhcpError(f"{self._ipxe / name} does not exist, which DHCP gives to firmware: apt-get install ipxe")
        for metro in self._metros:
            _check_interface(metro)
        try:
            answers = await asyncio.gather(*(other_servers(rack_metro.dhcp_interface) for rack_metro in self._metros))
        except ProbeError as error:
            raise DhcpError(str(error)) from error
        for metro, others in zip(self._metros, answers, strict=True):
            if others:
                raise DhcpError(
                    f"interface {metro.dhcp_interface} of metro {metro.code} has a DHCP server already, {', '.join(others)}: stop it, "
                    "or remove dhcp_interface and configure that server (docs/your-own-rack.md)"
                )
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        _write(self._configuration, self._settings())
        await self._serve(list(hosts))

    async def update(self, hosts: Iterable[Host]) -> None:
        """Serve these hosts from now on, after the checks of :meth:`start` if none are served. Raises :class:`DhcpError`."""
        hosts = list(hosts)
        if self._served is None:
            await self.start(hosts)
            return
        text = hosts_text(hosts)
        if self._served == text:
            return
        pid = self._child.pid
        if (leases := self._leases()) != kept_leases(leases, hosts):
            # It reads its leases at its start only.
            await self.stop()
            await self._serve(hosts)
            return
        _write(self._hosts_file, text)
        self._served = text
        if pid is not None:
            os.kill(pid, signal.SIGHUP)

    async def stop(self) -> None:
        self._served = None
        await self._child.stop()

    async def _serve(self, hosts: list[Host]) -> None:
        """Start dnsmasq, which does not run, with these hosts and their leases."""
        _write(self._hosts_file, hosts_text(hosts))
        _write(self._leases_file, kept_leases(self._leases(), hosts))
        await self._run()
        self._served = hosts_text(hosts)

    def _leases(self) -> str:
        return self._leases_file.read_text(encoding="ascii") if self._leases_file.exists() else ""

    async def _run(self) -> None:
        offset = self.log.stat().st_size if self.log.exists() else 0
        earlier = self._child.starts
        await self._child.start()
        deadline = time.monotonic() + READY_WITHIN
        while True:
            text = self._log_from(offset)
            if _STARTED.search(text) and str(self._hosts_file) in text:
                return
            errors = [line for line in text.splitlines() if _ERROR.match(line)]
            error = errors[0] if errors and self._child.starts > earlier + 1 else ""
            if error or time.monotonic() > deadline:
                await self._child.stop()
                interfaces = ", ".join(metro.dhcp_interface for metro in self._metros)
                advice = next((hint for pattern, hint in _CAUSES if pattern.search(error)), f"see {self.log}")
                raise DhcpError(f"dnsmasq does not start on {interfaces}: {advice} ({error or 'no answer'})")
            await asyncio.sleep(0.05)

    def _log_from(self, offset: int) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(offset)
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def _settings(self) -> str:
        """Return the configuration. It has no secrets."""
        lines = [
            "# Written at each start of the Metal API's server.",
            "port=0",
            "no-resolv",
            "no-hosts",
            "bind-interfaces",
            "except-interface=lo",
            "log-facility=-",
            "log-dhcp",
            "pid-file=",
            f"dhcp-leasefile={self._leases_file}",
            f"dhcp-hostsfile={self._hosts_file}",
            "dhcp-authoritative",
            "# Servers of the rack alone.",
            "dhcp-ignore=tag:!known",
            *boot_lines(self._boot_url),
            f"tftp-root={self._ipxe}",
        ]
        for metro in self._metros:
            lines += [
                f"interface={metro.dhcp_interface}",
                f"enable-tftp={metro.dhcp_interface}",
                f"dhcp-range=set:{metro.code},{metro.network.network_address},static,{metro.network.netmask},{LEASE}",
                f"dhcp-option=tag:{metro.code},option:router,{metro.gateway}",
            ]
            # Without a value the option is not sent; by default dnsmasq would name itself as name server.
            for option, addresses in (("dns-server", metro.name_servers), ("ntp-server", metro.time_servers)):
                lines.append(",".join([f"dhcp-option=tag:{metro.code},option:{option}", *map(str, addresses)]))
        return "\n".join(lines) + "\n"


def boot_lines(boot_url: str) -> list[str]:
    """Return the lines of dnsmasq's configuration that boot firmware (by its architecture, RFC 4578 and IANA) and iPXE (option 175)."""
    return [
        "dhcp-match=set:ipxe,175",
        "dhcp-match=set:bios,option:client-arch,0",
        "dhcp-match=set:uefi,option:client-arch,7",
        "dhcp-match=set:uefi,option:client-arch,9",
        "dhcp-match=set:http,option:client-arch,15",
        "dhcp-match=set:http,option:client-arch,16",
        f"dhcp-boot=tag:ipxe,{boot_url}/boot.ipxe",
        f"dhcp-boot=tag:!ipxe,tag:bios,{BIOS_FILE}",
        f"dhcp-boot=tag:!ipxe,tag:uefi,{UEFI_FILE}",
        f"dhcp-boot=tag:!ipxe,tag:http,{boot_url}/ipxe/{UEFI_FILE}",
        # Firmware accepts an offer for HTTP boot only with the vendor class that it has sent itself.
        "dhcp-option-force=tag:!ipxe,tag:http,60,HTTPClient",
        # iPXE does not wait for a proxy DHCP server.
        "dhcp-option=tag:ipxe,encap:175,176,1b",
    ]


def hosts_text(hosts: Iterable[Host]) -> str:
    """Return a hosts file of dnsmasq, in the order of addresses."""
    ordered = sorted(hosts, key=lambda host: IPv4Address(host.address))
    return "".join(",".join(filter(None, [host.mac, host.address, host.name])) + "\n" for host in ordered)


def kept_leases(text: str, hosts: Iterable[Host]) -> str:
    """Return a leases file of dnsmasq without the leases of addresses that belong to another MAC address now.

    Each line is expiry (0: never), MAC address, address, name and client id. dnsmasq leases an address to one client only, so that a
    server whose network card was replaced would get none for ever.
    """
    owners = {host.address: host.mac for host in hosts}
    leases = [(line, line.split()) for line in text.splitlines()]
    return "".join(f"{line}\n" for line, words in leases if len(words) < 3 or owners.get(words[2], words[1]) == words[1])


def interface_addresses(interface: str) -> list[IPv4Address]:
    """Return the IPv4 addresses of an interface."""
    buffer = array.array("B", bytes(_IFREQ * 1024))
    address, size = buffer.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        size, _unused = struct.unpack("iL", fcntl.ioctl(connection, _SIOCGIFCONF, struct.pack("iL", size, address)))
    addresses = []
    for start in range(0, size, _IFREQ):
        name = bytes(buffer[start : start + 16]).split(b"\0", 1)[0].decode()
        # Further addresses may have a label such as eno2:1.
        if name.partition(":")[0] == interface:
            addresses.append(IPv4Address(bytes(buffer[start + 20 : start + 24])))
    return addresses


def _check_interface(metro: RackMetro) -> None:
    try:
        socket.if_nametoindex(metro.dhcp_interface)
    except OSError:
        known = ", ".join(name for _index, name in socket.if_nameindex())
        raise DhcpError(f"metro {metro.code}: there is no network interface {metro.dhcp_interface} (there are {known})") from None
    addresses = interface_addresses(metro.dhcp_interface)
    if not any(address in metro.network for address in addresses):
        existing = ", ".join(map(str, addresses)) or "no IPv4 address"
        raise DhcpError(
            f"metro {metro.code}: interface {metro.dhcp_interface} has {existing}, none in {metro.network}: give it an address there "
            f"outside of {metro.first}-{metro.last} (ip address add), or correct dhcp_interface"
        )


def _write(path: Path, text: str) -> None:
    """Write a file at once, so that dnsmasq never reads half of it."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="ascii")
    new.chmod(0o644)
    new.replace(path)
