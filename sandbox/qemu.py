# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines that boot, beside the simulated ones: QEMU behind emulated BMCs, driven by an Ironic of the sandbox's own.

All of it is in a network namespace, which needs no root (:mod:`sandbox.namespace`).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.boot import BootMedia
from metal_api.boot_iso import BootIsoError, check_packages, write_media
from metal_api.catalogue.data import Catalogue, Plan, set_catalogue
from metal_api.core.machines import Hardware
from metal_api.core.world import MetroNetwork
from metal_api.ironic import agent
from metal_api.ironic.client import IronicClient, IronicError
from metal_api.ironic.embedded import EmbeddedError, EmbeddedIronic, Site, ensure_ironic
from metal_api.ironic.enrolment import enrol
from metal_api.ironic.machines import IronicMachines
from metal_api.network.dnsmasq import DhcpError, Dnsmasq, Host, hosts_of
from metal_api.rack import Bmc, RackMetro, RackServer, with_agent
from metal_api.rack import Rack as RackOfServers
from metal_api.running import Parts
from metal_api.servers import Server
from metal_api.state_folder import StartError
from metal_api.world import MetalWorld
from sandbox.coreos_image.build import Image, ImageError, ensure_image
from sandbox.namespace import ADDRESS, BRIDGE, NETWORK, require
from sandbox.rack.model import Firmware, RackConfig, RackError, RackMachine
from sandbox.rack.rack import Rack, ensure_emulator

_LOG = logging.getLogger(__name__)

FIRST, LAST = IPv4Address("10.9.0.10"), IPv4Address("10.9.0.99")
METRO: Final = "da"
PLAN: Final = Plan(
    slug="qemu.small.x86",
    cpu="QEMU TCG",
    cores=2,
    # What OpenShift requires of a worker; memory and disk are allocated as they are used.
    memory_gb=8,
    drives=({"count": 1, "size_gb": 120, "type": "SSD", "category": "boot"},),
    ports=1,
    nic="1Gbps",
    price_hour=0.01,
    type="standard",
    categories=("compute", "current_gen"),
)
_PACKAGES: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "dnsmasq": "dnsmasq-base",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
}
"""Programs, and the Debian packages that have them. Others are named by what needs them."""

USER: Final = "sandbox"
REDFISH_PORT: Final = 8443


@dataclass(frozen=True)
class Programs:
    """What machines that boot need: the image of their operating system, the emulator's interpreter, Ironic's programs."""

    image: Image
    emulator: Path
    ironic: Path


def ensure_programs(console: Console) -> Programs:
    """Build or install what the cache lacks; outside of the namespace, which has no network. Raises :class:`StartError`."""
    require("--machines qemu", _PACKAGES)
    try:
        check_packages()
        return Programs(ensure_image(console), ensure_emulator(console), ensure_ironic(console))
    except (BootIsoError, ImageError, RackError, EmbeddedError) as error:
        raise StartError(f"--machines qemu: {error}") from None


def use_catalogue() -> None:
    """Set the catalogue of this process: the vendor's, and the plan of the machines."""
    set_catalogue(Catalogue(plans=[PLAN]))


def networks() -> Mapping[str, MetroNetwork]:
    """Return the networks of servers, for the environment of the Metal API."""
    return {METRO: MetroNetwork(str(NETWORK), ADDRESS, str(FIRST), str(LAST))}


class _Backend(IronicMachines):
    """Nodes whose serial consoles are where those of simulated machines are: ``machines/<id of the device>/console.log``."""

    def __init__(self, client: IronicClient, boot_url: str, machines: Path, console: Callable[[str], Path]) -> None:
        super().__init__(client, boot_url=boot_url)
        self._machines, self._console_of = machines, console

    async def install(self, hw: Hardware) -> None:
        folder = self._machines / hw.device_id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        link = folder / "console.log"
        if not link.is_symlink():
            console = self._console_of(hw.server_id or "")
            if console.exists():
                # What the device before has written is not for this one's user.
                console.replace(console.with_suffix(".old"))
            link.symlink_to(console)
        await super().install(hw)

    async def remove(self, device_id: str) -> None:
        await super().remove(device_id)
        shutil.rmtree(self._machines / device_id, ignore_errors=True)


class QemuMachines(Parts):
    """They live as long as the sandbox. ``state``: of the sandbox. ``boot_url``: of its boot service. ``firmware``: of each machine."""

    def __init__(self, state: Path, boot_url: str, programs: Programs, firmware: Sequence[Firmware]) -> None:
        self._folder, self._boot_url, self._programs = (state / "qemu").resolve(), boot_url, programs
        super().__init__()
        self._agent = self._folder / "agent"
        self._link_agent(programs.image)
        password = secrets.token_urlsafe(24)
        self._machines = tuple(
            RackMachine(
                f"qemu-{number}",
                f"5f6e9a00-0000-4000-8000-{number:012x}",
                (f"52:54:00:09:00:{number:02x}",),
                memory_mb=PLAN.memory_gb * 1024,
                cores=PLAN.cores,
                disk_gb=int(PLAN.drives[0]["size_gb"]),
                firmware=mode,
            )
            for number, mode in enumerate(firmware, 1)
        )
        self._rack = Rack(
            RackConfig(self._folder / "rack", self._machines, "127.0.0.1", REDFISH_PORT, USER, password, bridge=BRIDGE), programs.emulator
        )
        self._servers = with_agent(self._rack_of_servers(password), boot_url)
        site = Site(boot_url, agent=True)
        self._ironic = EmbeddedIronic(self._folder / "ironic", programs.ironic, 6385, site)
        self._dnsmasq = Dnsmasq(self._folder / "dnsmasq", self._servers.metros, boot_url)
        self._world: MetalWorld | None = None
        client = IronicClient(self._ironic.access.connect())
        self.backend: IronicMachines = _Backend(client, boot_url, state.resolve() / "machines", self._console)

    def _link_agent(self, image: Image) -> None:
        self._agent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, file in ((agent.KERNEL, image.agent_kernel), (agent.INITRAMFS, image.agent_initramfs)):
            link = self._agent / name
            link.unlink(missing_ok=True)
            link.symlink_to(file)

    def _rack_of_servers(self, password: str) -> RackOfServers:
        metro = RackMetro(METRO, "Dallas", "US", NETWORK, IPv4Address(ADDRESS), FIRST, LAST, (IPv4Address(ADDRESS),), BRIDGE)
        bmcs = {
            machine.name: Bmc("redfish", f"http://127.0.0.1:{REDFISH_PORT}", USER, password, machine.system, verify_ca=False)
            for machine in self._machines
        }
        return RackOfServers(
            (metro,),
            servers=tuple(
                RackServer(machine.name, METRO, bmcs[machine.name], PLAN.slug, machine.macs, str(FIRST + number), firmware=machine.firmware)
                for number, machine in enumerate(self._machines)
            ),
        )

    @property
    def media(self) -> BootMedia:
        return BootMedia(self._folder / "media", agent=self._agent, ironic_url=self._ironic.access.url)

    def artefact(self, address: str, path: str) -> Path | None:
        """Return what a machine that boots gets for an artefact of RHCOS; None for other clients and files."""
        if IPv4Address(address) not in NETWORK or address == ADDRESS:
            return None
        image, name = self._programs.image, path.rpartition("/")[2]
        kinds = {"live-kernel": image.kernel, "live-initramfs": image.initramfs, "live-rootfs": image.rootfs}
        return next((file for kind, file in kinds.items() if f"-{kind}" in name), None)

    async def start(self, world: MetalWorld) -> None:
        """Start BMCs, Ironic and DHCP, and enrol the machines in the background; before the world. Raises :class:`StartError`."""
        self._world = world
        try:
            await asyncio.to_thread(write_media, self._folder / "media", self._boot_url)
            await self._rack.start()
            self._ends("BMCs", self._rack.stop)
            await self._ironic.start()
            self._ends("Ironic", self._ironic.stop)
            await self._dnsmasq.start(self._hosts(world))
            self._ends("DHCP", self._dnsmasq.stop)
            await self.backend.start(world)
        except (BootIsoError, RackError, EmbeddedError, DhcpError, IronicError) as error:
            raise StartError(f"--machines qemu: {error}") from None
        self._ends_task(asyncio.create_task(self._enrol(), name="enrolment of machines"))

    async def _enrol(self) -> None:
        await enrol(self._servers, self._ironic.access.connect(), progress=_LOG.info)
        self.backend.poll_soon()

    def _hosts(self, world: MetalWorld) -> list[Host]:
        """Return all machines: those without a record in the Metal API with their addresses of the file."""
        known = {host.mac: host.address for host in hosts_of(world.store[Server])}
        # Without a name: an operating system would take it for its own, in place of the device's.
        return [Host(server.macs[0], known.get(server.macs[0], server.address), "") for server in self._servers.servers]

    def _console(self, server_id: str) -> Path:
        """Return the file with what a machine wrote to its serial console."""
        if self._world is None:
            raise RuntimeError("the machines have not been started")
        return self._rack.console(self._world.store[Server][server_id].name)
