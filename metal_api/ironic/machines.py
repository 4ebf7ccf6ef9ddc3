# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of the Metal API's devices as nodes of an Ironic.

One poll, a list of all nodes, serves everything that waits: calls do not grow with the number of devices. Each operation reads the state of
its node and continues from there, so that it can be repeated after this process or Ironic was killed at any moment.

| Metal API | Ironic |
|---|---|
| create | allocation with the device's id, ``boot_iso`` of the boot service, provision state ``active`` |
| power actions, reboot, rescue | power state; the boot service decides what is booted |
| reinstall | ``deleted`` and ``active`` (a rebuild fails in Ironic 39.0); with kept disks a reboot into the boot script |
| delete | ``deleted``, which powers off and cleans, then the node is ``available`` again |
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from metal_api.catalogue.data import catalogue
from metal_api.core.database import DatabaseError
from metal_api.core.machines import Hardware, MachineError
from metal_api.core.world import World
from metal_api.devices.lifecycle import Lifecycle
from metal_api.devices.record import Device
from metal_api.events import record_event
from metal_api.ironic.client import IronicClient, IronicError
from metal_api.ironic.enrolment import TO_ADOPT
from metal_api.ironic.mapping import CLEAN_FAILURE, FREE, server_of_node
from metal_api.servers import Server, Servers

LOG = logging.getLogger(__name__)

Node = dict[str, Any]
R = TypeVar("R")

ATTEMPTS: Final = 3
"""How often a deployment, a cleaning or a power action is tried: the end of a process of Ironic makes one fail."""

_DEPLOYABLE: Final = frozenset({"available", "deploy failed"})
_DEPLOYING: Final = frozenset({"deploying", "wait call-back"})
_CLEANING: Final = frozenset({"deleting", "cleaning", "clean wait", "clean hold"})
REFUSALS: Final = 10
"""How often a request that Ironic refuses is repeated: three minutes, with the pauses of :meth:`_Refusals.pause`."""
_LONGEST_PAUSE: Final = 30.0
_ALLOCATION_PACE: Final = 0.2
"""Seconds between two reads of an allocation, which Ironic processes at once."""
_NO_ANSWER: Final = frozenset({0, 503})
"""Status of calls that an Ironic does not process: it does not answer, or has no conductor, as while it starts."""
_ALLOCATED_WITHIN: Final = 15.0
"""Seconds after which an allocation is made again: an Ironic whose SQLite was busy may never report that one failed."""
_PORTS_EVERY: Final = 30
"""Polls between two lists of ports, unless a new node appears: MAC addresses change when a card is replaced."""


class _Refusals:
    """The refusals in a row of one kind of request.

    ``pace``: seconds of the first pause; ``patience``: seconds for an Ironic that does not answer.
    """

    def __init__(self, pace: float, patience: float) -> None:
        self._pace, self._until = pace, time.monotonic() + patience
        self._number = 0

    async def pause(self, error: IronicError) -> None:
        """Wait longer after each refusal. Raises :class:`MachineError` after the last, with Ironic's words."""
        if error.status in _NO_ANSWER:
            if time.monotonic() > self._until:
                raise MachineError(str(error)) from None
            return
        self._number += 1
        if self._number == REFUSALS:
            raise MachineError(f"Ironic has refused a request {REFUSALS} times: {error}") from None
        await asyncio.sleep(min(self._pace * 2**self._number, _LONGEST_PAUSE))


RefusalsOf = defaultdict[str, _Refusals]
"""The refusals of one operation, by requested provision state."""


class IronicMachines:
    """``boot_url``: of the boot service, for machines. ``idle``, ``busy``: seconds between two polls while nothing waits for one, and while
    something does. ``patience``: seconds that an operation waits for an Ironic that does not answer.

    ``is_expected``: whether the node of the server of this name, if it is missing, will be created by enrolment, as after the loss of the
    database of an Ironic of the server's own. Such a server keeps its record, and its device is not deleted.
    """

    def __init__(  # noqa: PLR0913 - settings
        self,
        client: IronicClient,
        *,
        boot_url: str,
        is_expected: Callable[[str], bool] = lambda _name: False,
        idle: float = 15.0,
        busy: float = 1.0,
        patience: float = 1800.0,
    ) -> None:
        self._client, self._is_expected = client, is_expected
        self._boot_url = boot_url.rstrip("/")
        self._idle, self._busy, self._patience = idle, busy, patience
        self._world: World | None = None
        self._nodes: dict[str, Node] = {}
        self._macs: dict[str, list[str]] = {}
        self._begun = self._ended = 0
        self._polled = asyncio.Event()
        self._requested = asyncio.Event()
        # One at a time: with SQLite an Ironic that processes several at once fails some of them.
        self._allocating = asyncio.Lock()
        self._waiting = 0
        self._answered = 0.0
        self._poller: asyncio.Task[None] | None = None
        self.polls = 0

    @property
    def poll_age(self) -> float:
        """Seconds since Ironic has answered a poll."""
        return time.monotonic() - self._answered

    @property
    def calls(self) -> Mapping[str, int]:
        """The calls of Ironic's API so far, by name."""
        return self._client.calls

    async def lost(self, world: World) -> list[str]:
        """Return the names of the servers whose node is missing, or is not yet as it was, after the loss of Ironic's database.

        Raises :class:`IronicError` when Ironic does not answer.
        """
        nodes = {entry["uuid"]: entry for entry in await self._client.nodes()}
        return [
            server.name
            for server in world.store[Server]
            if (node := nodes.get(server.id)) is None or (node["instance_uuid"] and node["provision_state"] in TO_ADOPT)
        ]

    async def start(self, world: World) -> None:
        """Give the servers of all nodes to ``world``, and go on doing so; before the world starts, which continues operations on them.

        Raises :class:`IronicError` when Ironic does not answer.
        """
        self._world = world
        await self._poll()
        self._poller = asyncio.create_task(self._keep_polling(), name="nodes of Ironic")

    async def next_poll(self) -> None:
        """Wait until the nodes have been read once more."""
        await self._polled.wait()

    def poll_soon(self) -> None:
        """Read the nodes soon, after enrolment has changed them."""
        self._requested.set()

    # --- Machines

    async def install(self, hw: Hardware) -> None:
        node = await self._fresh(self._id(hw.device_id, hw))
        await self._allocate(hw, node)
        await self._deploy(hw.device_id, node["uuid"])

    async def power_off(self, device_id: str) -> None:
        await self._power(device_id, "power off")

    async def power_on(self, device_id: str, *, hw: Hardware | None = None) -> None:
        await self._power(device_id, "power on")

    async def reboot(self, device_id: str) -> None:
        # Not one action of Ironic: an Ironic that was killed meanwhile does not report whether the machine was off, nor whether it is on.
        await self.power_off(device_id)
        self._of_world.service(Lifecycle).boot_again(device_id)
        await self.power_on(device_id)

    async def reinstall(self, hw: Hardware, *, keep_disks: bool) -> None:
        node_id = self._id(hw.device_id, hw)
        node = await self._fresh(node_id)
        if keep_disks and node["provision_state"] == "active" and node["instance_uuid"] == hw.device_id:
            # The boot service serves the boot script again; an undeployment could clean the disks.
            self._boots(hw.device_id)
            await self.reboot(hw.device_id)
            return
        is_undeployed = self._of_world.store[Device][hw.device_id].pending_options.get("undeployed")
        # Ironic removes the device from the node also when the undeployment failed.
        if node["instance_uuid"] in (None, hw.device_id) and not is_undeployed and not keep_disks:
            await self._undeploy(hw.device_id, node_id)
            # Continued after a restart, it must not clean what may be installed by then.
            self._of_world.service(Lifecycle).keep_option(hw.device_id, "undeployed", value=True)
        await self.install(hw)

    async def rescue(self, hw: Hardware) -> None:
        await self.reboot(hw.device_id)

    async def remove(self, device_id: str) -> None:
        server = self._of_world.service(Servers).of_device(device_id)
        if server is None:
            return
        node_id = server.id
        node = await self._fresh(node_id, missing_is_error=False)
        if not node and self._is_expected(server.name):
            raise MachineError(
                f"server {server.name} has no node in Ironic, so it is neither powered off nor cleaned: the log says why it is not "
                "enrolled. Reload the rack file (SIGHUP) and delete the device again, or take a server that is gone out of the rack file"
            )
        if not node:
            LOG.warning("device %s is deleted, and its node %s is not in Ironic any more", device_id, node_id)
            return
        if node["instance_uuid"] not in (None, device_id):
            # Never undeploy what another user of this Ironic has got meanwhile.
            LOG.warning("device %s is deleted, and its node %s is in use by instance %s", device_id, node["name"], node["instance_uuid"])
            return
        await self._undeploy(device_id, node_id)

    async def restore(self, hw: Hardware, *, is_on: bool) -> None:
        """Do nothing: a machine that exists runs on by itself."""

    async def close(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)
        self._client.close()

    # --- operations

    def _id(self, device_id: str, hw: Hardware | None = None) -> str:
        node_id = hw.server_id if hw is not None else self._server_of(device_id)
        if node_id is None:
            raise MachineError(f"device {device_id} has no server")
        return node_id

    def _server_of(self, device_id: str) -> str | None:
        server = self._of_world.service(Servers).of_device(device_id)
        return server.id if server is not None else None

    @property
    def _of_world(self) -> World:
        if self._world is None:
            raise RuntimeError("the backend has not been started")
        return self._world

    def _note(self, device_id: str, type_: str, text: str) -> None:
        """Record an event of a device, unless its record is gone already."""
        LOG.info("%s: %s", device_id, text)
        world = self._of_world
        device = world.store[Device].get(device_id)
        if device is not None:
            record_event(world, device, type_, text)

    def _boots(self, device_id: str) -> None:
        """Record that the server of a device boots for it now, once."""
        server = self._of_world.service(Servers).of_device(device_id)
        if server is not None:
            self._of_world.service(Lifecycle).server_boots(device_id, f"Server {server.name} gets its boot script from now on")

    async def _allocate(self, hw: Hardware, node: Node) -> None:
        """Claim the node at Ironic, which other users may share."""
        failures = 0
        while node["instance_uuid"] != hw.device_id:
            if node["instance_uuid"] is not None:
                raise MachineError(f"server {node['name']} was taken by instance {node['instance_uuid']} of another user of this Ironic")
            if (problem := await self._allocation_error(hw.device_id, node)) is not None:
                failures += 1
                # Another user may have taken the node, which the next round sees; or the database of an Ironic was busy.
                if failures == ATTEMPTS:
                    raise MachineError(f"Ironic does not allocate server {node['name']}: {problem}")
                LOG.info("server %s, allocating again: %s", node["name"], problem)
            node = await self._fresh(node["uuid"])
        self._note(hw.device_id, "server.allocated", f"Server {node['name']} allocated")

    async def _allocation_error(self, id_: str, node: Node) -> str | None:
        """Make an allocation and wait until Ironic has processed it. Returns Ironic's words for one that failed, which is deleted then."""
        async with self._allocating:
            await self._request(lambda: self._client.allocate(id_, node))
            deadline = time.monotonic() + _ALLOCATED_WITHIN
            while (allocation := await self._request(lambda: self._client.allocation(id_))) is not None:
                if allocation["state"] == "active":
                    return None
                if allocation["state"] == "error" or time.monotonic() > deadline:
                    await self._request(lambda: self._client.release(id_))
                    return allocation["last_error"] or f"it is still {allocation['state']} after {_ALLOCATED_WITHIN:g} s"
                # Not by polls of all nodes: the next allocation waits for this one.
                await asyncio.sleep(_ALLOCATION_PACE)
        return "the allocation is gone"

    async def _deploy(self, device_id: str, node_id: str) -> None:
        """Bring a node to ``active``, from whatever state it is in, with a machine that boots."""
        attempts, refusals = 0, self._no_refusals()
        while True:
            node = await self._until(node_id, lambda current: current["provision_state"] not in _DEPLOYING | _CLEANING)
            state, name = node["provision_state"], node["name"]
            if node["instance_uuid"] != device_id:
                raise MachineError(f"server {name} lost its allocation: its instance is {node['instance_uuid'] or 'none'} now")
            if state == "active":
                self._boots(device_id)
                if not attempts and self._boots_from_network(device_id):
                    # Deployed before this process was restarted: firmware that found no DHCP or boot service has given up.
                    self._note(device_id, "server.deploying", f"Reboot of server {name} requested: it has not asked for its boot script")
                    await self.reboot(device_id)
                elif node["power_state"] == "power off":
                    await self.power_on(device_id)
                self._note(device_id, "server.deployed", f"Server {name} is deployed and powered on")
                return
            if state == "deploy failed":
                # Also one of before a restart of this process, with which an Ironic of its own has ended.
                self._note(device_id, "server.deploy_failed", f"Deployment of server {name} failed: {_error(node)}")
                if attempts == ATTEMPTS:
                    raise MachineError(f"server {name} cannot be deployed: {_error(node)}")
            if state not in _DEPLOYABLE or node["maintenance"]:
                raise MachineError(f"server {name} cannot be deployed: it is {_described(node)}")
            attempts += 1
            if state == "deploy failed" or node["power_state"] == "power on":
                # A free server may be on, and a machine whose deployment failed: it could still get the boot script, and be powered off in
                # the middle of it.
                await self.power_off(device_id)
            self._of_world.service(Lifecycle).boot_again(device_id)
            await self._request(partial(self._client.change, node_id, self._boot_from(node)))
            self._boots(device_id)
            if await self._provision(node, "active", refusals):
                self._note(device_id, "server.deploying", f"Deployment of server {name} requested")

    def _boot_from(self, node: Node) -> list[dict[str, Any]]:
        """Return the patch that has a node boot from the boot service: its ISO, or what DHCP and the boot service serve by PXE."""
        if _has_virtual_media(node):
            # The BMC fetches the ISO from the boot service itself: Ironic's own web server need not be reachable for it.
            source: dict[str, Any] = {"boot_iso": f"{self._boot_url}/ipxe.iso", "ramdisk_image_download_source": "http"}
        else:
            # Ironic requires both; DHCP of this network leads to the boot service and not to what Ironic makes of them.
            source = {"kernel": f"{self._boot_url}/ipxe.iso", "ramdisk": f"{self._boot_url}/ipxe.iso"}
        return [{"op": "add", "path": "/instance_info", "value": source}]

    async def _undeploy(self, device_id: str, node_id: str) -> None:
        """Bring a node back to ``available``, cleaned, and without the device."""
        failures, refusals = 0, self._no_refusals()
        is_released = is_cleaned = False

        def is_settled(current: Node) -> bool:
            nonlocal is_cleaned
            # Ironic is in this state also for the moment in which it finds nothing to clean with.
            is_cleaned |= current["provision_state"] == "clean wait" or bool(current["clean_step"])
            return current["provision_state"] not in _DEPLOYING | _CLEANING

        while True:
            node = await self._until(node_id, is_settled)
            state, name = node["provision_state"], node["name"]
            if state in {FREE, "manageable", "enroll"} and node["instance_uuid"] is None:
                if state != FREE:
                    if node["power_state"] == "power on":
                        # After a failed cleaning.
                        await self.power_off(device_id)
                    await self._provision(node, "provide", refusals)
                    continue
                if is_released:
                    if is_cleaned:
                        self._note(device_id, "server.cleaned", f"Cleaning of server {name} is complete")
                    self._note(device_id, "server.free", f"Server {name} is powered off and free again")
                    return
            if state == FREE:
                # Also without an instance: an allocation that Ironic still processes would take the node for the device later.
                await self._request(lambda: self._client.release(device_id))
                is_released = True
            elif state in {"clean failed", "error"}:
                failures, is_cleaned = failures + 1, False
                await self._after_failed_undeployment(device_id, node, failures, refusals)
            elif node["maintenance"]:
                raise MachineError(f"server {name} cannot be cleaned: it is {_described(node)}")
            else:
                if state == "active" and node["power_state"] == "power on":
                    # Not every deploy interface does that.
                    await self.power_off(device_id)
                if await self._provision(node, "deleted", refusals):
                    # Ironic deletes the allocation with it.
                    is_released = True
                    self._note(device_id, "server.releasing", f"Power off and release of server {name} requested")

    async def _after_failed_undeployment(self, device_id: str, node: Node, failures: int, refusals: RefusalsOf) -> None:
        """Record that a cleaning or the step before it failed, and request it again.

        Raises :class:`MachineError` after the last attempt, and in a maintenance that Ironic has not set for it.
        """
        node_id, name, is_cleaning = node["uuid"], node["name"], node["provision_state"] == "clean failed"
        step, done = ("Cleaning", "cleaned") if is_cleaning else ("Undeployment", "undeployed")
        self._note(
            device_id,
            "server.clean_failed" if is_cleaning else "server.undeploy_failed",
            f"{step} of server {name} failed: {_error(node)}",
        )
        if failures == ATTEMPTS:
            raise MachineError(f"server {name} cannot be {done} and is not offered: {_error(node)}")
        if not is_cleaning:
            await self._provision(node, "deleted", refusals)
            return
        if node["maintenance"]:
            if node["fault"] != CLEAN_FAILURE:
                # An operator has set it.
                raise MachineError(f"server {name} cannot be cleaned: it is {_described(node)}")
            await self._request(lambda: self._client.change(node_id, [{"op": "replace", "path": "/maintenance", "value": False}]))
        await self._provision(node, "manage", refusals)
        await self._until(node_id, lambda current: current["provision_state"] != "clean failed")

    async def _power(self, device_id: str, target: str) -> None:
        """Bring a machine to the power state ``target``.

        Requested whatever Ironic lists, since that may be of before a power action that was interrupted: it asks the BMC first.
        """
        node_id = self._id(device_id)

        def is_settled(current: Node) -> bool:
            return current["reservation"] is None and current["target_power_state"] is None

        node = await self._until(node_id, is_settled)
        if target == "power on" and self._boots_from_network(device_id):
            kind = "cdrom" if _has_virtual_media(node) else "pxe"
            await self._request(lambda: self._client.boot_once(node_id, kind))
        failures = 0
        while True:
            await self._request(lambda: self._client.power(node_id, target))
            node = await self._until(node_id, is_settled)
            if node["power_state"] == target:
                return
            failures += 1
            problem = f"server {node['name']} is {node['power_state'] or 'in an unknown power state'}: {_error(node)}"
            if failures == ATTEMPTS:
                raise MachineError(problem)
            self._note(device_id, "server.power_failed", f"Request of {target} is repeated: {problem}")

    def _boots_from_network(self, device_id: str) -> bool:
        """Whether the boot service has a script for the next boot. Firmware boots the disk if nothing else is set."""
        device = self._of_world.store[Device].get(device_id)
        return device is not None and (device.rescuing or device.allow_pxe or device.always_pxe)

    # --- calls

    async def _request(self, call: Callable[[], Awaitable[R]]) -> R:
        """Make a call, again while its node is locked or Ironic does not answer. Raises :class:`MachineError` with Ironic's words."""
        refusals = _Refusals(self._busy, self._patience)
        while True:
            try:
                return await call()
            except IronicError as error:
                if not _is_passing(error):
                    raise MachineError(str(error)) from None
                LOG.info("trying again: %s", error)
                await refusals.pause(error)
            await self._poll_after_now()

    def _no_refusals(self) -> RefusalsOf:
        return defaultdict(partial(_Refusals, self._busy, self._patience))

    async def _provision(self, node: Node, target: str, refusals: RefusalsOf) -> bool:
        """Request a change of the provision state, and return whether it was accepted; if not, the caller reads the state and continues.

        Raises :class:`MachineError` when Ironic refuses it for good, or again and again.
        """
        try:
            await self._client.provision(node["uuid"], target)
        except IronicError as error:
            if not _is_passing(error):
                after = await self._fresh(node["uuid"])
                if after["provision_state"] == node["provision_state"]:
                    raise MachineError(f"server {node['name']}: {error}") from None
            LOG.info("server %s: %s is requested again if need be: %s", node["name"], target, error)
            await refusals[target].pause(error)
            return False
        refusals.pop(target, None)
        return True

    async def _until(self, node_id: str, condition: Callable[[Node], bool]) -> Node:
        """Return the node when ``condition`` holds, read after this call."""
        while True:
            node = await self._fresh(node_id)
            if condition(node):
                return node

    async def _fresh(self, node_id: str, *, missing_is_error: bool = True) -> Node:
        """Return the node as a poll that begins after this call reads it. Without it an empty dict, or :class:`MachineError`."""
        await self._poll_after_now()
        node = self._nodes.get(node_id)
        if node is None and missing_is_error:
            raise MachineError(f"node {node_id} is not in Ironic any more")
        return node or {}

    async def _poll_after_now(self) -> None:
        """Wait for the end of a poll that begins now or later. Raises :class:`MachineError` when Ironic does not answer in time."""
        needed = self._begun + 1
        self._waiting += 1
        self._requested.set()
        try:
            async with asyncio.timeout(self._patience):
                while self._ended < needed:
                    await self._polled.wait()
        except TimeoutError:
            raise MachineError(f"Ironic has not answered for {self.poll_age:.0f} s") from None
        finally:
            self._waiting -= 1

    async def _keep_polling(self) -> None:
        reported = ""
        while True:
            if self._waiting:
                # The pace of all waiters together.
                await asyncio.sleep(self._busy)
            else:
                self._requested.clear()
                with contextlib.suppress(TimeoutError):
                    # Not asyncio.wait_for: that of Python 3.11 loses a cancellation that comes together with the event.
                    async with asyncio.timeout(self._idle):
                        await self._requested.wait()
            try:
                await self._poll()
                reported = ""
            except (IronicError, DatabaseError) as error:
                if str(error) != reported:
                    LOG.warning("the nodes are not taken over, trying again: %s", error)
                    reported = str(error)
            except Exception:
                # An error of this server in one poll must not end all operations on machines.
                LOG.exception("a poll of Ironic failed")

    async def _poll(self) -> None:
        self._begun += 1
        serial = self._begun
        nodes = {node["uuid"]: node for node in await self._client.nodes()}
        if self.polls % _PORTS_EVERY == 0 or not nodes.keys() <= self._macs.keys():
            macs = await self._client.ports()
            self._macs = {id_: macs.get(id_, []) for id_ in nodes}
        self.polls += 1
        known = catalogue()
        plans, metros = set(known.plans), set(known.metros)
        servers = [server_of_node(node, self._macs.get(id_, []), plans=plans, metros=metros) for id_, node in nodes.items()]
        missing = (server for server in self._of_world.store[Server] if server.id not in nodes)
        self._of_world.service(Servers).refresh(servers, kept={server.id for server in missing if self._is_expected(server.name)})
        self._nodes, self._answered, self._ended = nodes, time.monotonic(), serial
        self._polled.set()
        self._polled = asyncio.Event()


def _has_virtual_media(node: Node) -> bool:
    return str(node["boot_interface"]).endswith("virtual-media")


def _is_passing(error: IronicError) -> bool:
    """Whether a call can succeed later: Ironic does not answer or has no conductor (503), or the node is locked (409)."""
    return error.status in {0, 409} or error.status >= 500


def _error(node: Node) -> str:
    """Return Ironic's last error of a node. It drops the error once it has read the power state again."""
    return node["last_error"] or "Ironic lists no error any more, as after its restart; its log has it"


def _described(node: Node) -> str:
    """Return why a node cannot be used, in Ironic's words."""
    reason = node["maintenance_reason"] or node["last_error"] or ""
    state = f"in maintenance (provision state {node['provision_state']})" if node["maintenance"] else f"in state {node['provision_state']}"
    return f"{state}{': ' + reason if reason else ''}"
