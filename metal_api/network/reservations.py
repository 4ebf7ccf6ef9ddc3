# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a DHCP server of the user's own needs for the servers of a rack: their reservations, and what to boot."""

from __future__ import annotations

import json
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Final

from metal_api.network.dnsmasq import BIOS_FILE, UEFI_FILE, Host, boot_lines, hosts_text

KINDS: Final = ("dnsmasq", "isc-dhcpd", "kea")


def reservations(kind: str, hosts: Iterable[Host], boot_url: str, *, tftp_server: str = "") -> str:
    """Return the configuration that serves ``hosts``, in the syntax of one of :data:`KINDS`, to be included by the user's own.

    ``tftp_server``: the IPv4 address of the one with the files of iPXE; empty if the servers boot from virtual media only, then the
    configuration boots iPXE alone. Raises ValueError for another kind.
    """
    ordered = sorted(hosts, key=lambda host: IPv4Address(host.address))
    script = f"{boot_url.rstrip('/')}/boot.ipxe"
    if kind == "dnsmasq":
        return _dnsmasq(ordered, boot_url.rstrip("/"), tftp_server)
    if kind == "isc-dhcpd":
        return _isc(ordered, script, tftp_server)
    if kind == "kea":
        return _kea(ordered, script, tftp_server)
    raise ValueError(f"DHCP server {kind!r} is not one of {', '.join(KINDS)}")


def _dnsmasq(hosts: list[Host], boot_url: str, tftp_server: str) -> str:
    lines = [f"dhcp-host={line}" for line in hosts_text(hosts).splitlines()]
    for line in boot_lines(boot_url):
        is_of_firmware = line.endswith((f",{BIOS_FILE}", f",{UEFI_FILE}")) and boot_url not in line
        if not is_of_firmware:
            lines.append(line)
        elif tftp_server:
            # File, name of the server (none), address of the server.
            lines.append(f"{line},,{tftp_server}")
    return "\n".join(lines) + "\n"


def _isc(hosts: list[Host], script: str, tftp_server: str) -> str:
    lines = ["option architecture code 93 = unsigned integer 16;", "option ipxe-encapsulation code 175 = string;"]
    lines += ["if exists ipxe-encapsulation {", f'  filename "{script}";']
    if tftp_server:
        lines += ["} elsif option architecture = 00:00 {", f"  next-server {tftp_server};", f'  filename "{BIOS_FILE}";']
        lines += ["} elsif option architecture = 00:07 or option architecture = 00:09 {"]
        lines += [f"  next-server {tftp_server};", f'  filename "{UEFI_FILE}";']
    lines.append("}")
    lines += [
        f"host {host.name or host.mac.replace(':', '-')} {{ hardware ethernet {host.mac}; fixed-address {host.address}; }}"
        for host in hosts
    ]
    return "\n".join(lines) + "\n"


def _kea(hosts: list[Host], script: str, tftp_server: str) -> str:
    classes: list[dict[str, str]] = [{"name": "metal-ipxe", "test": "option[175].exists", "boot-file-name": script}]
    if tftp_server:
        for name, architectures, file in (("bios", ["0x0000"], BIOS_FILE), ("uefi", ["0x0007", "0x0009"], UEFI_FILE)):
            is_architecture = " or ".join(f"option[93].hex == {architecture}" for architecture in architectures)
            test = f"not option[175].exists and ({is_architecture})"
            classes.append({"name": f"metal-{name}", "test": test, "next-server": tftp_server, "boot-file-name": file})
    known = [{"hw-address": host.mac, "ip-address": host.address} | ({"hostname": host.name} if host.name else {}) for host in hosts]
    # client-classes and reservations are global keys; with them belongs that reservations are global.
    configuration = {"client-classes": classes, "reservations": known, "reservations-global": True}
    return json.dumps({"Dhcp4": configuration}, indent=2) + "\n"
