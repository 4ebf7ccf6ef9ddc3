# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rack file: metros with their networks, plans, and servers with their BMCs.

See docs/your-own-rack.md for the file. Secrets are never in it: a password is in a file or in an environment variable that it names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Literal

Driver = Literal["redfish", "ipmi", "idrac", "ilo", "fake-hardware"]


@dataclass(frozen=True)
class RackMetro:
    """``network``: of the servers' first interface; ``first``, ``last``: the addresses in it that servers get, both included.

    ``dhcp_interface``: where the server of the Metal API serves DHCP and TFTP for this network; empty if another DHCP server does.
    """

    code: str
    name: str
    country: str
    network: IPv4Network
    gateway: IPv4Address
    first: IPv4Address
    last: IPv4Address
    name_servers: tuple[IPv4Address, ...] = ()
    dhcp_interface: str = ""


@dataclass(frozen=True)
class RackPlan:
    """``drives``: mappings of count, size_gb (decimal), type (SSD, HDD, NVME) and category, as in the catalogue."""

    slug: str
    cpu: str
    cores: int
    memory_gb: int
    drives: tuple[dict[str, object], ...]
    ports: int = 2
    nic: str = "10Gbps"
    price_hour: float = 0.0


@dataclass(frozen=True)
class Bmc:
    """``address``: URL of a Redfish service, host[:port] of others. ``system``: path of the Redfish system, empty for the only one.

    ``verify_ca``: True (public CAs), False, or the path of a CA bundle.
    """

    driver: Driver
    address: str
    user: str
    password: str = field(repr=False)
    system: str = ""
    verify_ca: bool | str = True


@dataclass(frozen=True)
class RackServer:
    """``plan``: empty if inspection chooses it. ``macs``: the one that boots first; empty if inspection finds them.

    ``address``: empty for the next free one of its metro. ``boot``: ``virtual-media`` or ``pxe``; ``firmware``: ``bios`` or ``uefi``.
    """

    name: str
    metro: str
    bmc: Bmc
    plan: str = ""
    macs: tuple[str, ...] = ()
    address: str = ""
    reserved_for: str = ""
    boot: Literal["virtual-media", "pxe"] = "virtual-media"
    firmware: Literal["bios", "uefi"] = "uefi"


@dataclass(frozen=True)
class Rack:
    metros: tuple[RackMetro, ...]
    plans: tuple[RackPlan, ...] = ()
    servers: tuple[RackServer, ...] = ()


class RackError(Exception):
    """The rack file cannot be used. ``problems``: all of them, one line each with its place in the file."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        super().__init__(f"{path}: " + "; ".join(problems))
        self.problems = problems
