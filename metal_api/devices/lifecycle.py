# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle of devices: one background task per device with a pending operation.

A device's record has this operation (``pending``) and its progress, so that a server that was killed continues it. States and their order:
vendor's OpenAPI text; events: recorded answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from metal_api import hardware_reservations
from metal_api.catalogue.data import NETWORK_BOOT, catalogue
from metal_api.core.addressing import ExhaustedError
from metal_api.core.database import DatabaseError
from metal_api.core.machines import Hardware, MachineError
from metal_api.core.world import World
from metal_api.devices import provisioning
from metal_api.devices.addresses import equip, release
from metal_api.devices.record import Departed, Device, Port
from metal_api.events import Event, record_event
from metal_api.hardware_reservations import HardwareReservation
from metal_api.ip_reservations.record import Assignment
from metal_api.servers import Server, Servers

log = logging.getLogger(__name__)

SERVER_BOOTS = "server.boots"
"""The event from which on what the server of a device does is of that device."""

RETRY = 60.0
"""Seconds between attempts to free the server of a device that has no record any more, or to terminate a device at its time."""


class Lifecycle:
    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.store
        self._steps: dict[str, Callable[[Device], Awaitable[None]]] = {
            "provision": self._provision,
            "power_off": self._power_off,
            "power_on": self._power_on,
            "reboot": self._reboot,
            "rescue": self._rescue,
            "reinstall": self._reinstall,
            "deprovision": self._deprovision,
            "vanish": self._vanish,
        }
        self._endings_changed = asyncio.Event()
        # Id of a device whose server boots -> set when it has.
        self._booted: dict[str, asyncio.Event] = {}

    async def resume(self) -> None:
        """Restore the machines and continue all pending operations, at the start of the server."""
        for device in list(self._store[Device]):
            if device.machine != "none" and device.pending != "deprovision":
                try:
                    await self._world.machines.restore(self.hardware(device), is_on=device.machine == "on")
                except Exception:
                    # One device must not keep the server, and with it all other devices, from its start.
                    log.exception("%s (%s) is not restored", device.hostname, device.id)
            if device.pending:
                self._start_task(device.id)
        for departed in list(self._store[Departed]):
            self._world.tasks.spawn(departed.id, self._forget(departed))
        for server in list(self._store[Server]):
            if server.device_id is not None and self._store[Device].get(server.device_id) is None:
                self._world.tasks.spawn(server.device_id, self._remove_abandoned(server.device_id))
        self._world.tasks.spawn("endings", self._end_in_time())

    # For handlers and services, to be called in a transaction

    def begin(self, device: Device, pending: str, **options: Any) -> Device:
        """Start the operation ``pending`` of ``device``, instead of the previous one."""
        # A rescue system stays until the next boot of another kind.
        rescuing = pending == "rescue" or (device.rescuing and pending == "power_off")
        changes: dict[str, Any] = {"pending": pending, "pending_options": options, "rescuing": rescuing}
        device = self._store.put(replace(device, updated_at=self._world.now(), **changes))
        self._start_task(device.id)
        return device

    def record_progress(self, device: Device, type_: str, body: str | None = None, **changes: Any) -> Device:
        """Record a provisioning event, which counts in the percentage."""
        event = record_event(self._world, device, type_, body or provisioning.EVENTS.get(type_, type_))
        progress = {**device.progress, type_: event.id}
        return self._store.put(replace(device, progress=progress, updated_at=self._world.now(), **changes))

    def server_boots(self, device_id: str, text: str) -> None:
        """Record, once, that the backend boots the server of a device now, for what the device was ordered for."""
        device = self._store[Device].get(device_id)
        if device is not None and self.is_server_waiting(device):
            log.info("%s: %s", device_id, text)
            self.record_progress(device, SERVER_BOOTS, text)

    def is_server_waiting(self, device: Device) -> bool:
        """Return whether the server of a device has not been booted for it yet. It may be on all the same, as after a power failure.

        A script that it got so would be interrupted by the power cycle of its own installation, and the disk booted after that.
        """
        return device.server_id is not None and device.pending in {"provision", "reinstall"} and SERVER_BOOTS not in device.progress

    def has_script(self, device: Device) -> bool:
        """Return whether the machine of a device has got its boot script since its order or its newest reinstallation."""
        return "provisioning.104.01" in device.progress

    def handed_out_script(self, device: Device, body: str) -> None:
        """Record 104.01, the boot script's phone-home, which makes a custom_ipxe device active and ends its network boot (Boots source)."""
        waiting = device.state in {"provisioning", "reinstalling"} and device.operating_system == NETWORK_BOOT
        changes: dict[str, Any] = {"state": "active"} if waiting else {}
        if not device.always_pxe:
            changes["allow_pxe"] = False
        if device.server_id is not None:
            # A power action may end the task that provisions it before it has recorded this.
            changes["machine"] = "on"
        self.record_progress(device, "provisioning.104.01", body, **changes)
        self._has_booted(device)

    def boot_again(self, device_id: str) -> None:
        """Let a device boot its script again, whose server is deployed again after it had it: the first installation was interrupted."""
        device = self._store[Device].get(device_id)
        state = {"provision": "provisioning", "reinstall": "reinstalling"}.get(str(device.pending)) if device is not None else None
        if device is not None and state is not None and device.state == "active":
            self._store.put(replace(device, state=state, allow_pxe=True, updated_at=self._world.now()))

    def keep_option(self, device_id: str, name: str, value: object) -> None:
        """Keep an option of the current operation of a device, which is continued with it after a restart."""
        device = self._store[Device][device_id]
        self._store.put(replace(device, pending_options={**device.pending_options, name: value}))

    def phoned_home(self, device: Device) -> None:
        """Record the phone-home of an installed system. Steps of the installation that it did not report count as done."""
        if device.state not in {"provisioning", "reinstalling"}:
            return
        for type_ in provisioning.types(device):
            if type_ not in device.progress:
                device = self.record_progress(device, type_)
        self._store.put(replace(device, state="active", allow_pxe=device.always_pxe, updated_at=self._world.now()))
        self._has_booted(device)

    def check_termination_times(self) -> None:
        """Check the termination times of all devices now, after one was set or changed."""
        self._endings_changed.set()

    def end(self, device: Device, reason: str) -> None:
        """Terminate a device on behalf of the service, whatever its state; in a transaction."""
        if device.state == "deprovisioning":
            return
        record_event(self._world, device, "instance.terminated", reason)
        # An interrupted provisioning may have started a machine of which the record has no trace yet.
        interrupted = device.state in {"queued", "provisioning"}
        self.begin(replace(device, state="deprovisioning"), "deprovision", interrupted=interrupted)

    async def _end_in_time(self) -> None:
        """Terminate every device at its termination time, whatever its state, even if it is locked (ours)."""
        while True:
            self._endings_changed.clear()
            now = datetime.now(UTC)
            ends = [
                (datetime.fromisoformat(str(device.termination_time)), device)
                for device in self._store[Device].matching("ending", True)
                if device.state != "deprovisioning" and device.pending != "vanish"
            ]
            left = min(((moment - now).total_seconds() for moment, _end in ends if moment > now), default=None)
            for moment, device in ends:
                if moment <= now:
                    try:
                        with self._store.transaction():
                            self.end(device, "Termination time reached")
                    except DatabaseError:
                        raise
                    except Exception:
                        # Those of other devices are kept.
                        log.exception("%s (%s) is not terminated, trying again", device.hostname, device.id)
                        left = min(left or RETRY, RETRY)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._endings_changed.wait()

    def hardware(self, device: Device) -> Hardware:
        plan = catalogue().plans[device.plan]
        return Hardware(
            device_id=device.id,
            hostname=device.hostname,
            address=device.machine_address or "",
            plan=device.plan,
            architecture=plan.architecture,
            drives=plan.machine_drives,
            macs=tuple(port.mac for port in self._store[Port].matching("device", device.id) if port.mac),
            operating_system=device.operating_system,
            server_id=device.server_id,
        )

    # Tasks

    def _start_task(self, device_id: str) -> None:
        self._world.tasks.spawn(device_id, self._run(device_id))

    async def _run(self, device_id: str) -> None:
        while (device := self._store[Device].get(device_id)) is not None and device.pending:
            try:
                await self._steps[device.pending](device)
            except (asyncio.CancelledError, DatabaseError):
                # The operation continues when the database answers again.
                raise
            except MachineError as problem:
                with self._store.transaction():
                    self._backend_failed(self._now(device), str(problem))
            except Exception as error:
                log.exception("%s of %s (%s) failed", device.pending, device.hostname, device.id)
                if self._store[Device].get(device_id) is None:
                    return
                with self._store.transaction():
                    self._backend_failed(
                        self._now(device), f"Error of the Metal API server, its log has more: {type(error).__name__}: {error}"
                    )

    async def _sleep(self, name: str) -> None:
        await self._world.policy.pause(name)

    def _now(self, device: Device) -> Device:
        """Return the current version of the device, which requests may have changed during a sleep."""
        return self._store[Device][device.id]

    def _done(self, device: Device, **changes: Any) -> None:
        self._store.put(replace(self._now(device), pending=None, pending_options={}, updated_at=self._world.now(), **changes))

    async def _provision(self, device: Device) -> None:
        if device.state == "queued":
            await self._sleep("queued")
            with self._store.transaction():
                self.record_progress(self._now(device), "provisioning.101", state="provisioning")
        if "provisioning.102" not in self._now(device).progress:
            await self._sleep("network")
            with self._store.transaction():
                try:
                    device = equip(self._world, self._now(device))
                except ExhaustedError as problem:
                    self._fail(self._now(device), f"Network configuration failed: {problem}")
                    return
                addresses = [assignment.address for assignment in self._store[Assignment].matching("device", device.id)]
                listed = ", ".join(addresses[:-1]) + (f", and {addresses[-1]}" if len(addresses) > 1 else "".join(addresses))
                self.record_progress(device, "provisioning.102", f"Network configured with addresses {listed}")
        await self._world.policy.before_install(device.id)
        if "provisioning.103" not in self._now(device).progress:
            await self._sleep("configuration")
            with self._store.transaction():
                system = self._now(device).operating_system
                password = None if system == NETWORK_BOOT else secrets.token_urlsafe(12)
                self.record_progress(self._now(device), "provisioning.103", root_password=password)
        # Recorded as on only afterwards: if the server is killed in between, it installs the device again.
        await self._world.machines.install(self.hardware(self._now(device)))
        await self._until_booted(device)
        self._done(device, machine="on")

    async def _until_booted(self, device: Device) -> None:
        """Wait until the server of a device has booted what it was ordered for. Raises :class:`MachineError` when it does not."""
        timeout = self._world.environment.boot_timeout
        if device.server_id is None:
            return
        booted = self._booted.setdefault(device.id, asyncio.Event())
        try:
            async with asyncio.timeout(timeout):
                while self._now(device).state in {"provisioning", "reinstalling"}:
                    await booted.wait()
                    booted.clear()
        except TimeoutError:
            raise MachineError(
                f"the server was switched on and has not asked the boot service in {timeout:g} s: its console, its boot order, and whether "
                "DHCP gives it its address show why"
            ) from None
        finally:
            self._booted.pop(device.id, None)

    def _has_booted(self, device: Device) -> None:
        if (waiting := self._booted.get(device.id)) is not None:
            waiting.set()

    def _backend_failed(self, device: Device, text: str) -> None:
        """Record that the backend could not carry out the pending operation; in a transaction."""
        log.warning("%s of %s (%s) failed: %s", device.pending, device.hostname, device.id, text)
        if device.pending in {"provision", "reinstall"}:
            self._fail(device, text)
            return
        if device.pending in {"deprovision", "vanish"}:
            record_event(self._world, device, "deprovisioning.failed", text, state="failed")
            self._done(device, state="failed")
            return
        record_event(self._world, device, "power.failed", text, state="failed")
        # The state of the machine is unchanged, as far as is known: the operation can be requested again.
        self._done(device, state="active" if device.machine == "on" else "inactive")

    def _fail(self, device: Device, text: str) -> None:
        record_event(self._world, device, "provisioning.failed", text, state="failed")
        # A device on reserved hardware stays until it is deleted (public issue threads), and so does a server of one's own.
        pending = None if device.hardware_reservation_id or device.server_id else "vanish"
        self._store.put(replace(device, state="failed", pending=pending, pending_options={}, updated_at=self._world.now()))

    async def _power_off(self, device: Device) -> None:
        await self._power(
            device, "power_off", self._world.machines.power_off(device.id), "202", "Device powered off", state="inactive", machine="off"
        )

    async def _power_on(self, device: Device) -> None:
        work = self._world.machines.power_on(device.id, hw=self.hardware(device))
        await self._power(device, "power_on", work, "204", "Device powered on", state="active", machine="on")

    async def _reboot(self, device: Device) -> None:
        await self._power(device, "reboot", self._world.machines.reboot(device.id), "203", "Device rebooted", state="active")

    async def _rescue(self, device: Device) -> None:
        work = self._world.machines.rescue(self.hardware(device))
        await self._power(device, "reboot", work, "203", "Device rebooted", state="active", machine="on")

    async def _power(self, device: Device, duration: str, work: Coroutine[Any, Any, None], code: str, text: str, **changes: Any) -> None:
        try:
            record_event(self._world, device, "power.201", "Power operation started")
            await self._sleep(duration)
            if device.machine == "none" and device.server_id is None:
                # A record without a machine: only the record changes.
                changes.pop("machine", None)
            else:
                await work
            with self._store.transaction():
                record_event(self._world, self._now(device), f"power.{code}", text)
                self._done(device, **changes)
        finally:
            work.close()

    async def _reinstall(self, device: Device) -> None:
        """Reinstall a device, which keeps hardware and addresses (vendor's docs), and becomes active as after a create."""
        for type_, duration in (("provisioning.101", "queued"), ("provisioning.103", "configuration")):
            if type_ not in self._now(device).progress:
                await self._sleep(duration)
                with self._store.transaction():
                    self.record_progress(self._now(device), type_)
        await self._world.policy.before_install(device.id)
        keep = bool(device.pending_options.get("preserve_data"))
        await self._world.machines.reinstall(self.hardware(self._now(device)), keep_disks=keep)
        await self._until_booted(device)
        self._done(device, machine="on")

    async def _deprovision(self, device: Device) -> None:
        if self._has_machine(device):
            await self._world.machines.remove(device.id)
        await self._sleep("deprovision")
        with self._store.transaction():
            self.erase(self._now(device))

    def abandon(self, device: Device) -> None:
        """Erase a device whose project is deleted, and remove its machine in the background; in a transaction."""
        self.erase(device, is_removed=False)
        if device.server_id is not None:
            self._world.tasks.spawn(device.id, self._remove_abandoned(device.id))
        elif self._has_machine(device):
            self._world.tasks.spawn(device.id, self._world.machines.remove(device.id))

    async def _remove_abandoned(self, device_id: str) -> None:
        """Remove the machine of a device that has no record any more, and free its server, however often that fails."""
        while True:
            try:
                await self._world.machines.remove(device_id)
                break
            except MachineError as problem:
                log.warning("the server of the deleted device %s cannot be freed, trying again: %s", device_id, problem)
            except DatabaseError:
                raise
            except Exception:
                log.exception("the server of the deleted device %s cannot be freed, trying again", device_id)
            await asyncio.sleep(RETRY)
        with self._store.transaction():
            self._world.service(Servers).release(device_id)

    @staticmethod
    def _has_machine(device: Device) -> bool:
        # A server may have been given to the device at the backend before any step was recorded.
        return device.machine != "none" or device.server_id is not None or bool(device.pending_options.get("interrupted"))

    def erase(self, device: Device, *, is_removed: bool = True) -> None:
        """Delete the device's record and everything that belongs to it; in a transaction. ``is_removed``: its server is free again."""
        world, store = self._world, self._store
        release(world, device)
        for port in store[Port].matching("device", device.id):
            world.erase(port)
        for event in store[Event].matching("device", device.id):
            store.drop(event)
        world.erase(device)
        if is_removed:
            world.service(Servers).release(device.id)
        reservation = store[HardwareReservation].get(device.hardware_reservation_id)
        if reservation is not None:
            hardware_reservations.release(world, reservation)

    async def _vanish(self, device: Device) -> None:
        """Move a failed on-demand device out of its project, as the service does: 403, later 404 (public issue threads)."""
        await self._sleep("failed_visible")
        if self._now(device).machine != "none":
            await self._world.machines.remove(device.id)
        departed = Departed(id=device.id, project_id=device.project_id)
        with self._store.transaction():
            self.erase(self._now(device))
            self._store.put(departed)
        await self._forget(departed)

    async def _forget(self, departed: Departed) -> None:
        await self._sleep("failed_forbidden")
        self._store.drop(departed)
