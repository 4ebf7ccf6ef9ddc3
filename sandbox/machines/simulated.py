# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated machines: each is a task with the stages of a real one, in simulated time, over real HTTP.

Power on, self-test, DHCP and boot service, iPXE script, live system, install, reboot, first boot, system. Each stage is recorded in the
machine's folder, so that :meth:`SimulatedMachines.restore` continues there.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any, Protocol

import httpx

from metal_api.core.machines import Hardware
from sandbox.machines import System, SystemFactory
from sandbox.machines.cloud import CloudSystem
from sandbox.machines.coreos import InstalledSystem, LiveSystem, is_kernel
from sandbox.machines.host import Host, Hung, Rebooting, Site
from sandbox.machines.ipxe import Boot, Interpreter, PowerCycle, Returned, Waiting

LOG = logging.getLogger(__name__)

FIRMWARE_ARCHITECTURE = {"x86_64": "x86_64", "aarch64": "arm64"}
BOOT_SERVICE_TRIES = 10

Silence = Callable[[Collection[str], bool], Awaitable[None]]
"""Has the network silent at addresses, or no more: nothing answers at those of a machine without power."""


async def no_silence(_addresses: Collection[str], _is_silent: bool) -> None:
    """On the loopback interface the computer itself refuses connections to an address where nothing listens."""


class MakeInstalled(Protocol):
    """Makes the installed system of a drive, which has ``content``."""

    def __call__(self, host: Host, drive: str, content: dict[str, Any], factory: SystemFactory) -> System: ...


def simulated_system(host: Host, drive: str, content: dict[str, Any], factory: SystemFactory) -> System:
    """Make a simulated system: RHEL CoreOS, or another one of the service."""
    if content["system"] == "rhcos":
        return InstalledSystem(host, drive, content, factory)
    return CloudSystem(host, drive, content)


class SimulatedMachines:
    """The :class:`sandbox.machines.Machines` of the sandbox.

    ``state_dir`` keeps a folder for each device. ``installed`` makes the systems on disks. ``silence``: what machines without power are for
    others.
    """

    def __init__(
        self,
        state_dir: Path,
        site: Site,
        system_factory: SystemFactory,
        *,
        installed: MakeInstalled = simulated_system,
        silence: Silence = no_silence,
    ) -> None:
        self._silence = silence
        self._installed = installed
        self._folder = state_dir / "machines"
        self._site = site
        self._factory = system_factory
        self._lives: dict[str, Life] = {}
        self._hardware: dict[str, Hardware] = {}

    async def install(self, hw: Hardware) -> None:
        host = self._host(hw)
        host.set_mode("install")
        await self._switch_on(host)

    async def power_off(self, device_id: str) -> None:
        life = self._lives.pop(device_id, None)
        if life is not None:
            await life.end()
            await self._have_silence(self._hardware[device_id], True)

    async def power_on(self, device_id: str, *, hw: Hardware) -> None:
        if device_id not in self._lives:
            host = self._host(hw)
            # Rescue lives in memory: what boots next is the disk.
            if host.state.get("mode") == "rescue":
                host.set_mode("run")
            host.at("firmware")
            await self._switch_on(host)

    async def reboot(self, device_id: str) -> None:
        if device_id not in self._lives:
            return
        hw = self._hardware[device_id]
        await self.power_off(device_id)
        await self.power_on(device_id, hw=hw)

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        await self.power_off(hw.device_id)
        host = self._host(hw)
        system = host.bootable()
        for drive in hw.drives:
            if not keep_disks or (system is not None and drive.name == system[0]):
                host.wipe(drive.name)
        host.wipe_system()
        host.set_mode("install")
        host.at("firmware")
        await self._switch_on(host)

    async def rescue(self, hw: Hardware) -> None:
        await self.power_off(hw.device_id)
        host = self._host(hw)
        host.set_mode("rescue")
        host.at("firmware")
        await self._switch_on(host)

    async def remove(self, device_id: str) -> None:
        await self.power_off(device_id)
        if (hw := self._hardware.pop(device_id, None)) is not None:
            # It may be of another use now.
            await self._have_silence(hw, False)
        await asyncio.to_thread(shutil.rmtree, self._folder / device_id, ignore_errors=True)

    async def restore(self, hw: Hardware, *, is_on: bool) -> None:
        host = self._host(hw)
        if not is_on:
            await self._have_silence(hw, True)
        elif hw.device_id not in self._lives:
            await self._switch_on(host)

    async def close(self) -> None:
        lives = list(self._lives.values())
        self._lives.clear()
        await asyncio.gather(*(life.end() for life in lives))

    async def _have_silence(self, hw: Hardware, is_silent: bool) -> None:
        management = self._site.attachment(hw.device_id).management
        await self._silence({hw.address, *(each.address for each in management)}, is_silent)

    def _host(self, hw: Hardware) -> Host:
        if not hw.device_id or Path(hw.device_id).name != hw.device_id:
            raise ValueError(f"not a device id: {hw.device_id!r}")
        self._hardware[hw.device_id] = hw
        return Host(hw, self._folder / hw.device_id, self._site)

    async def _switch_on(self, host: Host) -> None:
        await self.power_off(host.hardware.device_id)
        await self._have_silence(host.hardware, False)
        self._lives[host.hardware.device_id] = Life(host, self._factory, self._installed)


class Life:
    """One machine from power on, at once, to power off."""

    def __init__(self, host: Host, factory: SystemFactory, installed: MakeInstalled = simulated_system) -> None:
        self._host = host
        self._factory = factory
        self._installed = installed
        self._has_power = True
        self._task = asyncio.create_task(self._run(), name=f"machine {host.hardware.hostname}")

    async def end(self) -> None:
        """Cut the power, and return when nothing of the machine runs any more."""
        self._has_power = False
        self._task.cancel()
        # Not `await self._task`: a cancellation of the caller must not be taken for the task's.
        await asyncio.wait({self._task})

    def _check_power(self) -> None:
        """End the task without power, also where an error on the way out has taken the place of the cancellation."""
        if not self._has_power:
            raise asyncio.CancelledError

    async def _run(self) -> None:
        host = self._host
        try:
            while True:
                try:
                    await self._boot()
                except Rebooting as reason:
                    host.console(f"reboot: {reason}")
                    host.at("firmware")
                    self._check_power()
        except Hung as reason:
            host.console(f"*** {reason}")
            self._check_power()
            await host.report("failed", f"[sandbox] the machine hangs: {reason}")
            await asyncio.Event().wait()
        except Exception as error:
            # Any exception of a system stops only its own machine, and is logged.
            LOG.exception("%s: the system crashed", host.hardware.hostname)
            host.console(f"Kernel panic - not syncing: {error!r}")
            self._check_power()
            await host.report("failed", f"[sandbox] the system crashed: {error!r}")
            await asyncio.Event().wait()
        finally:
            await host.http.close()

    async def _boot(self) -> None:
        """Run one boot, from the recorded stage of the machine."""
        host = self._host
        host.serial = True
        host.configure_private("")
        stage = host.state.get("stage", "firmware")
        if stage == "live":
            await LiveSystem.saved(host, host.state["boot"]).run()
        elif stage == "script":
            await self._script(host.state["text"].encode("latin-1"), host.state["url"])
        elif stage == "system":
            await self._disk("")
        await self._firmware()

    async def _firmware(self) -> None:
        """Self-test, then the network card, then the disks."""
        host = self._host
        host.reset_network()
        host.at("firmware")
        host.console(f"{host.hardware.plan}: power on self-test ({'UEFI' if host.uefi else 'BIOS'})")
        await host.take(180, 300)
        mode = host.state.get("mode")
        if mode == "rescue":
            await self._rescue()
        if host.hardware.operating_system != "custom_ipxe":
            if mode == "install":
                await self._image_install()
            await self._disk("")
        url = f"{host.site.boot_url}/auto.ipxe"
        script = await self._boot_file(url)
        if script is None:
            await self._disk("")
        else:
            await self._script(script, url)

    async def _boot_file(self, url: str) -> bytes | None:
        """Return the boot service's script; ``None`` if there is none for this machine, which then boots from its disk."""
        host = self._host
        for _unused in range(BOOT_SERVICE_TRIES):
            host.console(f"net0: {host.hardware.macs[0] if host.hardware.macs else '-'} DHCP... {host.hardware.address}, {url}")
            await host.take(10, 20)
            try:
                response = await host.http.request("GET", url, headers={"user-agent": "iPXE/1.0.255"})
            except httpx.TransportError as error:
                host.console(f"{url}... {error}")
                continue
            if response.is_success:
                return response.content
            host.console(f"{url}... no network boot (HTTP {response.status_code})")
            return None
        return None

    async def _script(self, script: bytes, url: str) -> None:
        host = self._host
        host.at("script", text=script.decode("latin-1"), url=url)
        outcome = await self._interpreter().run(script, url)
        match outcome:
            case Boot():
                remembered = LiveSystem.remember(outcome)
                host.at("live", boot=remembered)
                await LiveSystem.saved(host, remembered).run()
            case Waiting(reason):
                raise Hung(reason)
            case PowerCycle(off=True):
                raise Hung("the boot script switched the machine off")
            case PowerCycle():
                raise Rebooting("asked for by the boot script")
            case Returned(error):
                host.at("firmware")
                await self._disk(f"the boot script failed ({error})" if error else "the boot script ended without booting anything")

    def _interpreter(self) -> Interpreter:
        host, hw = self._host, self._host.hardware
        settings = {
            "buildarch": FIRMWARE_ARCHITECTURE[hw.architecture],
            "platform": "efi" if host.uefi else "pcbios",
            "hostname": hw.hostname,
            "ip": hw.address,
            "mac": hw.macs[0] if hw.macs else "",
            "net0/ip": hw.address,
            "uuid": hw.device_id,
            "manufacturer": "Sandbox",
            "product": hw.plan,
            "version": "1.0.255",
            **{f"net{number}/mac": mac for number, mac in enumerate(hw.macs)},
        }

        async def fetch(method: str, url: str, *, headers: dict[str, str], content: bytes | None) -> httpx.Response:
            return await host.http.request(method, url, headers=headers, content=content, timeout=20)

        interfaces = tuple(f"net{number}" for number in range(max(1, len(hw.macs))))
        return Interpreter(settings, interfaces, fetch, host.clock, host.console, is_kernel)

    async def _disk(self, network: str) -> None:
        """Boot from the first drive with a boot loader. ``network``: why network boot was not possible."""
        host = self._host
        disk = host.bootable()
        if disk is None:
            host.console("No bootable device found. Press any key to reboot.")
            raise Hung(
                f"no bootable device{': ' + network if network else ': network boot is not allowed any more and all drives are blank'}"
            )
        drive, content = disk
        await self._installed(host, drive, content, self._factory).run()

    async def _image_install(self) -> None:
        """Run the service's installer: partitions, packages, network, cloud-init, as in its provisioning events."""
        host = self._host
        if not host.hardware.drives:
            raise Hung("the machine has no drive to install to")
        host.console(f"installing {host.hardware.operating_system}")
        for number, text in (
            ("104", "Connected to magic install system"),
            ("105", "Server partitions created"),
            ("106", "Operating system packages installed"),
            ("107", "Server networking interfaces configured"),
            ("108", "Cloud-init packages installed and configured"),
            ("109", "Installation finished, rebooting server"),
        ):
            await host.take(20, 40)
            await host.post(f"{host.site.boot_url}/phone-home", {"type": f"provisioning.{number}", "body": text})
        host.wipe_system()
        host.write_disk(
            host.hardware.drives[0].name, {"system": host.hardware.operating_system, "label": "ROOT", "packages": [], "first_boot": True}
        )
        host.set_mode("run")
        raise Rebooting("installation finished")

    async def _rescue(self) -> None:
        host = self._host
        await host.take(20, 40)
        host.console("Welcome to Alpine Linux (rescue)")
        await host.post(f"{host.site.boot_url}/phone-home", None)
        await asyncio.Event().wait()
