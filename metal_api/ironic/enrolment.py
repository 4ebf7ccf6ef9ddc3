# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enrolment: the servers of a rack file as nodes of Ironic, verified, inspected and ready to be ordered.

It is idempotent: a node is found by its name, and what differs is changed. One list of nodes and one of ports are read for all servers,
and one list of nodes at a time while servers are waited for. A server in use keeps its provision state: the credentials of its BMC and its
descriptions are updated, the rest when it is free.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import openstack

from metal_api.ironic import nodes
from metal_api.ironic.client import NODE_FIELDS, IronicClient, IronicError
from metal_api.ironic.mapping import ARCHITECTURE, ARM, CLEAN_FAILURE, EXTRA, POWER_FAILURE, architecture, has_secure_boot, metro_trait
from metal_api.ironic.reachability import unreachable
from metal_api.printable import printable
from metal_api.rack import REDFISH, Rack, RackServer

Node = dict[str, Any]
R = TypeVar("R")

AT_ONCE: Final = 32
"""Servers that are enrolled at the same time."""

_FIELDS: Final = (*NODE_FIELDS, "driver", "driver_info", *(name for name in nodes.INTERFACES if name not in NODE_FIELDS))
_IDLE: Final = frozenset({"enroll", "manageable", "available", "inspect failed", "clean failed"})
TO_ADOPT: Final = frozenset({"enroll", "manageable", "adopt failed"})
"""Provision states of the node of a known device before it is active again."""

_PORT_MARK: Final = {"metal": "rack"}
"""``extra`` of the ports that the rack file names: those are deleted when it names them no longer."""

Outcome = Literal["enrolled", "unchanged", "changed", "failed", "removed", "planned", "not in the file"]


@dataclass(frozen=True)
class Result:
    """The outcome for a server; ``planned`` in a dry run. ``detail``: what was changed, or what failed and what to do.

    ``address``: of the server, empty if none.
    """

    name: str
    outcome: Outcome
    detail: str = ""
    address: str = ""

    def __str__(self) -> str:
        # The detail may have the words of a BMC.
        return printable(f"{self.name}: {self.outcome}{': ' + self.detail if self.detail else ''}")


@dataclass(frozen=True)
class Report:
    """``results``: of the servers in the order of the file, then of nodes that are not in it. ``calls``: number of calls to Ironic."""

    results: tuple[Result, ...]
    calls: int

    @property
    def is_good(self) -> bool:
        return all(result.outcome != "failed" for result in self.results)


@dataclass(frozen=True)
class KnownServer:
    """The record of a server in the Metal API. ``id``: UUID of its node. ``device_id``: of the device that it is, empty if it is free.

    ``plan``, ``macs``: what inspection has found, perhaps. ``boot_url``: of the boot service, which a device in use boots from.
    """

    id: str
    address: str
    plan: str
    macs: tuple[str, ...]
    device_id: str
    boot_url: str


class EnrolmentError(Exception):
    """A server cannot be enrolled; the text has the reason and the remedy."""


async def enrol(  # noqa: PLR0913 - options of a command
    rack: Rack,
    connection: openstack.connection.Connection,
    *,
    dry_run: bool = False,
    remove: Collection[str] = (),
    check_bmcs: bool = False,
    known: Mapping[str, KnownServer] | None = None,
    progress: Callable[[str], None] = print,
    at_once: int = AT_ONCE,
    interval: float = 1.0,
    patience: float = 1800.0,
) -> Report:
    """Make the nodes of ``connection``'s Ironic those of ``rack``, and return the outcome of each server.

    ``dry_run``: report what would be done, and whether the BMCs answer; nothing is changed or powered on. ``remove``: names of servers
    that are not in the file any more, whose nodes are deleted if they are free. ``check_bmcs``: whether BMCs have to answer this process
    before Ironic connects to them, which takes minutes to give up; for an Ironic on this computer. ``known``: servers by their names whose
    nodes are created as they were, after the loss of Ironic's database; those in use are adopted. ``progress``: gets one line as each
    server ends. ``at_once``: servers that are enrolled at the same time. ``interval``: seconds between two lists of nodes. ``patience``:
    seconds that a server may take. Raises :class:`EnrolmentError` if Ironic cannot be read.
    """
    client = _Client(connection)
    poll = _Poll(client, interval)
    try:
        run = _Run(rack, client, poll, progress, patience, known or {}, is_dry=dry_run, checks_bmcs=check_bmcs)
        try:
            await run.read()
        except IronicError as error:
            raise EnrolmentError(f"Ironic cannot be read: {error}") from error
        gate = asyncio.Semaphore(at_once)
        # Unlike gather, it ends when all have ended, also if it is cancelled.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run.server(server, gate), name=f"enrol {server.name}") for server in rack.servers]
        results = [task.result() for task in tasks]
        results += [await run.other(name, remove) for name in run.others(remove)]
        return Report(tuple(results), client.calls.total())
    finally:
        await poll.close()
        client.close()


class _Client(IronicClient):
    """The calls that only enrolment makes."""

    async def enrolled(self) -> list[Node]:
        """Return all nodes with :data:`_FIELDS`."""
        return await self._pages("nodes", "list nodes", f"fields={','.join(_FIELDS)}")

    async def all_ports(self) -> list[dict[str, Any]]:
        return await self._pages("ports", "list ports", "fields=uuid,address,node_uuid,pxe_enabled,extra")

    async def create(self, body: Mapping[str, Any]) -> Node:
        return await self._call("create node", "POST", "/nodes", body)

    async def node(self, name: str) -> Node:
        return await self._call("read node", "GET", f"/nodes/{quote(name)}")

    async def delete(self, node_id: str) -> None:
        await self._call("delete node", "DELETE", f"/nodes/{node_id}")

    async def create_port(self, node_id: str, mac: str, *, boots: bool) -> None:
        body = {"node_uuid": node_id, "address": mac, "pxe_enabled": boots, "extra": _PORT_MARK}
        await self._call("create port", "POST", "/ports", body)

    async def change_port(self, port_id: str, patches: list[dict[str, Any]]) -> None:
        await self._call("change port", "PATCH", f"/ports/{port_id}", patches)

    async def delete_port(self, port_id: str) -> None:
        await self._call("delete port", "DELETE", f"/ports/{port_id}")

    async def ports_of(self, node_id: str) -> list[dict[str, Any]]:
        query = f"/ports?node_uuid={node_id}&fields=uuid,address,node_uuid,pxe_enabled,extra"
        ports: list[dict[str, Any]] = (await self._call("list ports", "GET", query))["ports"]
        return ports

    async def add_trait(self, node_id: str, trait: str) -> None:
        await self._call("add trait", "PUT", f"/nodes/{node_id}/traits/{quote(trait)}")

    async def remove_trait(self, node_id: str, trait: str) -> None:
        await self._call("remove trait", "DELETE", f"/nodes/{node_id}/traits/{quote(trait)}")

    async def ask_bmc(self, node_id: str) -> None:
        """Have Ironic read the boot device, which needs the BMC and its credentials."""
        await self._call("read boot device", "GET", f"/nodes/{node_id}/management/boot_device")

    async def inventory(self, node_id: str) -> dict[str, Any]:
        """Return what inspection has found; empty from an Ironic that does not keep it (before API version 1.81) or has none."""
        try:
            answer = await self._call("read inventory", "GET", f"/nodes/{node_id}/inventory", microversion="1.81")
        except IronicError as error:
            if error.status in {404, 406}:
                return {}
            raise
        return answer.get("inventory") or {}


class _Poll:
    """One list of all nodes serves every server that waits."""

    def __init__(self, client: _Client, interval: float) -> None:
        self._client, self._interval = client, interval
        self._coming: asyncio.Task[dict[str, Node]] | None = None

    async def nodes(self) -> dict[str, Node]:
        """Return the nodes by their UUIDs, as a list that begins after this call has them."""
        if self._coming is None:
            self._coming = asyncio.create_task(self._list(), name="list the nodes of Ironic")
        return await asyncio.shield(self._coming)

    async def close(self) -> None:
        """End a list that nothing waits for any more, as after the end of the server."""
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)

    async def _list(self) -> dict[str, Node]:
        await asyncio.sleep(self._interval)
        # A list that has begun is too old for what is requested from now on.
        self._coming = None
        return {node["uuid"]: node for node in await self._client.enrolled()}


class _Run:
    """One enrolment. ``is_dry``: nothing is changed."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it is connected to
        self,
        rack: Rack,
        client: _Client,
        poll: _Poll,
        progress: Callable[[str], None],
        patience: float,
        known: Mapping[str, KnownServer],
        *,
        is_dry: bool,
        checks_bmcs: bool,
    ) -> None:
        self._rack, self._client, self._poll = rack, client, poll
        self._progress, self._patience, self._known = progress, patience, known
        self._is_dry, self._checks_bmcs = is_dry, checks_bmcs
        self._hashes = nodes.PasswordHashes()
        self._drivers: list[str] = []
        self._nodes: dict[str, Node] = {}
        self._ports: dict[str, list[dict[str, Any]]] = {}
        self._owners: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    async def read(self) -> None:
        """Read all nodes and ports, and choose the addresses of the servers."""
        self._drivers = await self._client.drivers()
        enrolled = await self._client.enrolled()
        self._nodes = {node["name"]: node for node in enrolled if node["name"]}
        names = {node["uuid"]: node["name"] or node["uuid"] for node in enrolled}
        for port in await self._client.all_ports():
            self._ports.setdefault(port["node_uuid"], []).append(port)
            self._owners[port["address"].lower()] = names.get(port["node_uuid"], port["node_uuid"])
        lost = [
            {"name": name, "extra": {EXTRA: {"address": server.address}}} for name, server in self._known.items() if name not in self._nodes
        ]
        self._addresses = assigned(self._rack, [*enrolled, *lost])

    def others(self, remove: Collection[str]) -> list[str]:
        """Return the names of the nodes that were made from a rack file and are not in this one, and those that are to be removed."""
        listed = {server.name for server in self._rack.servers}
        gone = {name for name, node in self._nodes.items() if name not in listed and nodes.is_enrolled(node)}
        return sorted(gone | set(remove))

    async def server(self, server: RackServer, gate: asyncio.Semaphore) -> Result:
        """Enrol a server and report it."""
        async with gate:
            address = self._addresses.get(server.name, "")
            try:
                node = self._nodes.get(server.name)
                self._check(server, node)
                if self._is_dry:
                    outcome, detail = await self._foreseen(server, node)
                else:
                    async with asyncio.timeout(self._patience):
                        outcome, detail = await self._enrol(server, node)
                result = Result(server.name, outcome, detail, address)
            except (EnrolmentError, IronicError) as error:
                result = Result(server.name, "failed", str(error), address)
            except TimeoutError:
                text = f"Ironic has not finished in {self._patience:g} s: read the state of node {server.name} there, then run this again"
                result = Result(server.name, "failed", text, address)
        self._progress(str(result))
        return result

    async def other(self, name: str, remove: Collection[str]) -> Result:
        """Report a node that is not in the file, or delete it if that is requested and it is free."""
        result = await self._other(name, remove)
        self._progress(str(result))
        return result

    async def _other(self, name: str, remove: Collection[str]) -> Result:
        node = self._nodes.get(name)
        if name not in remove:
            return Result(name, "not in the file", f"still in Ironic: delete it with --remove {name}")
        if any(server.name == name for server in self._rack.servers):
            return Result(name, "failed", "it is in the rack file: delete it there before --remove")
        if node is None or not nodes.is_enrolled(node):
            return Result(name, "failed", "Ironic has no node of this name that was enrolled from a rack file: nothing to remove")
        if _is_in_use(node):
            reason = node["instance_uuid"] or f"provision state {node['provision_state']}"
            return Result(name, "failed", f"it is in use ({reason}) and not removed: delete its device first")
        if not self._is_dry:
            try:
                if node["provision_state"].endswith("failed"):
                    # Ironic deletes nodes in these states in maintenance only.
                    patch = [{"op": "replace", "path": "/maintenance", "value": True}]
                    await self._request(partial(self._client.change, node["uuid"], patch))
                await self._request(partial(self._client.delete, node["uuid"]))
            except IronicError as error:
                return Result(name, "failed", f"Ironic does not delete the node: {error}")
        return Result(name, "removed", "would be deleted from Ironic" if self._is_dry else "deleted from Ironic")

    def _check(self, server: RackServer, node: Node | None) -> None:
        """Raises :class:`EnrolmentError` if a server cannot be enrolled, before anything is changed."""
        if server.bmc.driver not in self._drivers:
            enabled = ", ".join(sorted(self._drivers)) or "none"
            raise EnrolmentError(
                f"driver {server.bmc.driver} is not enabled in Ironic (enabled: {enabled}): add it to enabled_hardware_types"
            )
        if node is not None and not nodes.is_enrolled(node):
            raise EnrolmentError(f"Ironic has a node {server.name} that was not enrolled from a rack file: rename the server or that node")
        if node is not None:
            _check_architecture(node)
        for mac in server.macs:
            owner = self._owners.get(mac, server.name)
            if owner != server.name:
                raise EnrolmentError(f"MAC address {mac} is a port of node {owner} already: correct macs, or remove that node or its port")
        if server.name not in self._addresses:
            metro = next(candidate for candidate in self._rack.metros if candidate.code == server.metro)
            text = f"no address is left in {metro.first}-{metro.last} of metro {metro.code}: enlarge addresses of the metro"
            raise EnrolmentError(f"{text} or remove nodes that are not in the file")

    async def _foreseen(self, server: RackServer, node: Node | None) -> tuple[Outcome, str]:
        """Return what :meth:`_enrol` would do."""
        problem = await unreachable(server.bmc)
        if problem:
            raise EnrolmentError(problem)
        address = self._addresses[server.name]
        if node is None:
            return "planned", f"would be created with address {address}"
        changes = self._changes(server, node)
        steps = []
        if changes.names:
            steps.append(f"would change: {', '.join(changes.names)}")
        if changes.later:
            steps.append(f"would change when it is free: {', '.join(changes.later)}")
        if not _is_in_use(node) and node["provision_state"] != "available":
            error = f" ({' '.join(node['last_error'].split())[:_LONGEST_ERROR]})" if node["last_error"] else ""
            steps.append(f"would be taken from state {node['provision_state']}{error} to available")
        return ("planned", "; ".join(steps)) if steps else ("unchanged", "")

    def _changes(self, server: RackServer, node: Node) -> _Changes:
        """Return what differs between a server and its node, of a server in use what can be changed then."""
        bmc, bmc_names = nodes.bmc_patches(server, node, self._hashes)
        description, names = nodes.description_patches(server, node, self._addresses[server.name])
        hardware, hardware_names = nodes.hardware_patches(server, node)
        traits = nodes.metro_changes(node.get("traits") or (), metro_trait(server.metro))
        ports = _port_changes(server, self._ports.get(node["uuid"], []))
        later = [*hardware_names, *(["metro"] if any(traits) else []), *(["MAC addresses"] if ports.is_any else [])]
        if _is_in_use(node) and not self._is_to_adopt(server, node):
            if "address" in names:
                later.append("address")
            # A device keeps the address that it was ordered with.
            description = [patch for patch in description if not patch["path"].endswith("/address")]
            if node["driver"] != server.bmc.driver:
                bmc, bmc_names, later = [], [], ["driver", *later]
            return _Changes(
                [*bmc, *description], [*bmc_names, *(n for n in names if n != "address")], bool(bmc), ([], []), _PortChanges(), later
            )
        return _Changes([*bmc, *description, *hardware], [*bmc_names, *names, *later], bool(bmc), traits, ports, [])

    async def _enrol(self, server: RackServer, node: Node | None) -> tuple[Outcome, str]:
        is_new = node is None
        if self._checks_bmcs and (node is None or node["provision_state"] == "enroll" or self._changes(server, node).is_bmc):
            problem = await unreachable(server.bmc)
            if problem:
                raise EnrolmentError(problem)
        if node is None:
            node = await self._new_node(server)
        elif not node["instance_uuid"] and node["provision_state"] not in _IDLE and node["target_provision_state"]:
            node = await self._settled(node["uuid"])
        node_id, state = node["uuid"], node["provision_state"]
        changes = self._changes(server, node)
        await self._apply(node_id, changes, may_toggle=state != "available")
        pending = f"; when it is free: {', '.join(changes.later)} (run this again then)" if changes.later else ""
        if changes.is_bmc and state != "enroll":
            await self._verify(server, node_id)
        if await self._adopt(server, node):
            return "enrolled", f"adopted, in use by device {node['instance_uuid']}"
        if _is_in_use(node):
            return _changed(changes.names, "in use" + pending)
        if node["maintenance"] and node["fault"] not in {POWER_FAILURE, CLEAN_FAILURE}:
            return _changed(changes.names, f"in maintenance ({node['maintenance_reason'] or 'no reason given'}), not offered")
        if node["maintenance"]:
            # Ironic has set it when the BMC or a cleaning failed.
            patch = [{"op": "replace", "path": "/maintenance", "value": False}]
            await self._request(lambda: self._client.change(node_id, patch))
        is_known = bool(server.plan or node["resource_class"]) and bool(server.macs or self._ports.get(node_id))
        needs_inspection = server.bmc.driver in REDFISH and (state in {"enroll", "inspect failed"} or not is_known)
        if state == "available" and not needs_inspection and not changes.ports.toggles:
            return _changed(changes.names, "")
        notes = await self._make_available(server, node, changes, needs_inspection=needs_inspection)
        if is_new or state == "enroll":
            return "enrolled", notes
        return _changed(changes.names or [f"available again after {state}"], notes)

    async def _new_node(self, server: RackServer) -> Node:
        """Create the node of a server, with its earlier values if the Metal API has a record of it."""
        body = nodes.new_node(server, self._addresses[server.name], self._hashes)
        known = self._known.get(server.name)
        if known is not None:
            body |= {"uuid": known.id} | ({"instance_uuid": known.device_id} if known.device_id else {})
            body.setdefault("resource_class", known.plan)
        node = await self._create(body)
        if known is not None and known.device_id and not server.macs:
            for number, mac in enumerate(known.macs):
                await self._create_port(node["uuid"], mac, boots=number == 0)
        # The lists have an empty one.
        node["traits"] = node.get("traits") or []
        return node

    async def _create(self, body: Mapping[str, Any]) -> Node:
        """Create a node, or return it if an earlier attempt, which was answered with an error, or another enrolment has created it."""
        try:
            return await self._request(partial(self._client.create, body))
        except IronicError as error:
            if error.status != 409:
                raise
            node = await self._request(partial(self._client.node, body["name"]))
            if not nodes.is_enrolled(node):
                raise
            return node

    async def _create_port(self, node_id: str, mac: str, *, boots: bool) -> None:
        """Create a port, unless an earlier attempt has created it."""
        try:
            await self._request(partial(self._client.create_port, node_id, mac, boots=boots))
        except IronicError as error:
            if error.status != 409 or mac not in {port["address"] for port in await self._request(partial(self._client.ports_of, node_id))}:
                raise

    async def _apply(self, node_id: str, changes: _Changes, *, may_toggle: bool) -> None:
        """Change a node, its traits and its ports."""
        if changes.patches:
            await self._request(lambda: self._client.change(node_id, changes.patches))
        for trait in changes.traits[0]:
            await self._request(partial(self._client.add_trait, node_id, trait))
        for trait in changes.traits[1]:
            await self._request(partial(self._client.remove_trait, node_id, trait))
        for port_id in changes.ports.gone:
            await self._request(partial(self._client.delete_port, port_id))
        for mac, boots in changes.ports.new:
            await self._create_port(node_id, mac, boots=boots)
        if may_toggle:
            await self._toggle(changes.ports)

    async def _toggle(self, ports: _PortChanges) -> None:
        for port_id, boots in ports.toggles:
            patch = [{"op": "add", "path": "/pxe_enabled", "value": boots}]
            await self._request(partial(self._client.change_port, port_id, patch))

    async def _verify(self, server: RackServer, node_id: str) -> None:
        try:
            await self._request(lambda: self._client.ask_bmc(node_id))
        except IronicError as error:
            raise EnrolmentError(_in_words(server, str(error))) from error

    async def _make_available(self, server: RackServer, node: Node, changes: _Changes, *, needs_inspection: bool) -> str:
        """Bring a free node to ``available``, by way of ``manageable`` and, if needed, inspection. Return notes."""
        was_offered = node["provision_state"] not in {"enroll", "manageable"}
        node = await self._move(server, node, "manage", "manageable")
        if node["power_state"] == "power on" and not was_offered and not server.may_be_on:
            raise EnrolmentError(
                "it is powered on, so something may run on it: switch it off and run this again, or set may_be_on in the rack file, "
                "which gives its disks away"
            )
        if has_secure_boot(node):
            raise EnrolmentError(
                "Secure Boot is on, and the boot ISO and iPXE are not signed: switch it off in the firmware, and run this again when "
                "Ironic has read that, with its next check of the power"
            )
        await self._toggle(changes.ports)
        await self._power_fake(server, node, "power off")
        notes = []
        if needs_inspection:
            node, note = await self._inspect(server, node)
            notes.append(note)
        await self._move(server, node, "provide", "available")
        return "; ".join(filter(None, notes))

    def _is_to_adopt(self, server: RackServer, node: Node) -> bool:
        """Return whether a node was created for a known device, and is not active yet."""
        known = self._known.get(server.name)
        if known is None or not known.device_id:
            return False
        return bool(node["instance_uuid"] == known.device_id and node["provision_state"] in TO_ADOPT)

    async def _adopt(self, server: RackServer, node: Node) -> bool:
        """Make the node of a known device active again, whose machine runs on; return whether that was needed."""
        if not self._is_to_adopt(server, node):
            return False
        known = self._known[server.name]
        source = {"boot_iso": f"{known.boot_url}/ipxe.iso", "ramdisk_image_download_source": "http"}
        if not str(node["boot_interface"]).endswith("virtual-media"):
            source = {"kernel": f"{known.boot_url}/ipxe.iso", "ramdisk": f"{known.boot_url}/ipxe.iso"}
        await self._request(partial(self._client.change, node["uuid"], [{"op": "add", "path": "/instance_info", "value": source}]))
        if node["provision_state"] == "enroll":
            node = await self._move(server, node, "manage", "manageable")
        await self._power_fake(server, node, "power on")
        await self._move(server, node, "adopt", "active")
        return True

    async def _power_fake(self, server: RackServer, node: Node, state: str) -> None:
        """Set the power state of fake hardware, which has no BMC that reports it."""
        if server.bmc.driver == "fake-hardware" and node["power_state"] is None:
            await self._request(partial(self._client.power, node["uuid"], state))

    async def _inspect(self, server: RackServer, node: Node) -> tuple[Node, str]:
        """Have Ironic inspect a node, and choose its plan if the file does not. Return the node and a note."""
        is_described = bool(server.plan and server.macs)
        try:
            node = await self._move(server, node, "inspect", "manageable")
        except EnrolmentError as error:
            if not is_described:
                raise
            # All that inspection finds is in the file.
            node = await self._move(server, await self._settled(node["uuid"]), "manage", "manageable")
            return node, f"inspection failed, the file is used: {error}"
        _check_architecture(node)
        ports = await self._request(lambda: self._client.ports_of(node["uuid"]))
        changes = _port_changes(server, ports)
        if ports and not server.macs and not any(port["pxe_enabled"] for port in ports):
            # Most BMCs do not report which card boots: it is the first.
            changes = _PortChanges(toggles=((ports[0]["uuid"], True),))
        await self._toggle(changes)
        if not ports:
            text = "inspection has found no MAC address that is free: give macs, and check that no other node has them"
            raise EnrolmentError(f"{text} (the BMC reports none for network cards that are off)")
        hardware = _hardware(node["properties"], await self._request(lambda: self._client.inventory(node["uuid"])))
        if server.plan:
            return node, ""
        plan = nodes.plan_of(hardware, self._rack)
        if not plan:
            raise EnrolmentError(f"no plan fits what inspection has found ({_described(hardware)}): describe one in plans, or give plan")
        patch = [{"op": "add", "path": "/resource_class", "value": plan}]
        await self._request(lambda: self._client.change(node["uuid"], patch))
        return node, f"plan {plan} chosen for {_described(hardware)}"

    async def _move(self, server: RackServer, node: Node, verb: str, target: str) -> Node:
        """Request a change of the provision state of a settled node, and return it in state ``target``."""
        if node["provision_state"] == target and verb != "inspect":
            return node
        await self._request(partial(self._client.provision, node["uuid"], verb))
        node = await self._settled(node["uuid"])
        if node["provision_state"] != target:
            raise EnrolmentError(_in_words(server, node["last_error"] or f"provision state {node['provision_state']} after {verb}"))
        return node

    async def _settled(self, node_id: str) -> Node:
        """Return a node when Ironic does nothing with it."""
        while True:
            node = (await self._request(self._poll.nodes)).get(node_id)
            if node is None:
                raise EnrolmentError("its node was deleted from Ironic meanwhile: run this again")
            if node["target_provision_state"] in {None, ""} or (node["provision_state"] in _IDLE and not node["reservation"]):
                return node

    async def _request(self, call: Callable[[], Awaitable[R]]) -> R:
        """Make a call, again while its node is locked or Ironic does not answer; the time limit of the server ends this."""
        for attempt in itertools.count():
            try:
                return await call()
            except IronicError as error:
                # A node is locked by another operation, or SQLite, which a small Ironic uses, by too many changes at a time.
                is_locked = error.status in {409, 500} and "locked" in str(error)
                if not is_locked and not (error.status in {0, 503} and attempt < 5):
                    raise
            await asyncio.sleep(min(2.0, 0.25 * 2**attempt) * random.uniform(0.5, 1))  # noqa: S311 - no secret
        raise AssertionError


@dataclass(frozen=True)
class _PortChanges:
    """``new``: MAC addresses and whether they boot from the network. ``toggles``: ports of which that differs. ``gone``: to delete."""

    new: tuple[tuple[str, bool], ...] = ()
    toggles: tuple[tuple[str, bool], ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        return bool(self.new or self.toggles or self.gone)


@dataclass(frozen=True)
class _Changes:
    """What to change of a node. ``names``: for people. ``is_bmc``: the connection to the BMC is among it. ``later``: not while in use."""

    patches: list[dict[str, Any]]
    names: list[str]
    is_bmc: bool
    traits: tuple[list[str], list[str]]
    ports: _PortChanges
    later: list[str]


def _port_changes(server: RackServer, ports: Iterable[Mapping[str, Any]]) -> _PortChanges:
    """Return what differs between the MAC addresses of a server and the ports of its node. Without addresses in the file nothing does."""
    if not server.macs:
        return _PortChanges()
    boots = server.macs[0]
    known = {port["address"].lower(): port for port in ports}
    gone = {mac for mac, port in known.items() if mac not in server.macs and port["extra"] == _PORT_MARK}
    return _PortChanges(
        new=tuple((mac, mac == boots) for mac in server.macs if mac not in known),
        toggles=tuple(
            (port["uuid"], mac == boots) for mac, port in known.items() if mac not in gone and port["pxe_enabled"] != (mac == boots)
        ),
        gone=tuple(known[mac]["uuid"] for mac in sorted(gone)),
    )


def assigned(rack: Rack, known: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the addresses of the servers by name: that of the file, else the stored one of the node, else the next free one of the metro.

    ``known``: all nodes. A server for which no address is left is not in the answer.
    """
    stored = {str(node["name"]): address for node in known if (address := nodes.stored_address(node))}
    metros = {entry.code: entry for entry in rack.metros}
    addresses = {entry.name: entry.address for entry in rack.servers if entry.address}
    taken = set(addresses.values())
    for server in rack.servers:
        address = stored.get(server.name, "")
        metro = metros[server.metro]
        if server.name not in addresses and address and address not in taken and metro.first <= IPv4Address(address) <= metro.last:
            addresses[server.name] = address
            taken.add(address)
    listed = {entry.name for entry in rack.servers}
    taken |= {address for name, address in stored.items() if name not in listed}
    free = {code: _free(metro.first, metro.last, taken) for code, metro in metros.items()}
    for server in rack.servers:
        if server.name not in addresses and (address := next(free[server.metro], "")):
            addresses[server.name] = address
    return addresses


def _free(first: IPv4Address, last: IPv4Address, taken: Collection[str]) -> Iterator[str]:
    return (text for number in range(int(first), int(last) + 1) if (text := str(IPv4Address(number))) not in taken)


def _check_architecture(node: Node) -> None:
    """Raise :class:`EnrolmentError` for a node that inspection has found to be of an architecture that cannot be booted."""
    cpu_arch = architecture(node)
    if cpu_arch in ARM:
        raise EnrolmentError(
            f"its architecture is {cpu_arch}, and DHCP and the boot ISO have loaders for {ARCHITECTURE} only: remove it from the rack "
            f"file, and its node with --remove {node['name']}"
        )


def _is_in_use(node: Mapping[str, Any]) -> bool:
    return bool(node["instance_uuid"]) or node["provision_state"] not in _IDLE


def _changed(names: list[str], note: str) -> tuple[Outcome, str]:
    text = "; ".join(filter(None, [", ".join(names), note]))
    return ("changed" if names else "unchanged"), text


def _hardware(properties: Mapping[str, Any], inventory: Mapping[str, Any]) -> dict[str, Any]:
    """Return what inspection has found, in the shape of :func:`metal_api.ironic.nodes.plan_of`."""
    disks = [int(disk["size"]) / 1e9 for disk in inventory.get("disks") or () if int(disk.get("size") or 0) >= 4e9]
    return {
        "memory_mb": int(properties.get("memory_mb") or 0),
        "threads": int((inventory.get("cpu") or {}).get("count") or properties.get("cpus") or 0),
        "disks_gb": disks,
    }


def _described(hardware: Mapping[str, Any]) -> str:
    disks = ", ".join(f"{size:.0f} GB" for size in sorted(hardware["disks_gb"])) or "no disks reported"
    threads = f"{hardware['threads']} CPU threads" if hardware["threads"] else "CPUs not reported"
    return f"{hardware['memory_mb'] // 1024} GB of memory, {threads}, {disks}"


_CAUSES: Final = (
    # Words of Ironic and its libraries. The first that matches counts: a failed TLS handshake also is a failed connection.
    ("certificate", re.compile(r"certificate|SSLError", re.IGNORECASE)),
    (
        "unreachable",
        re.compile(r"unable to connect|connection (?:refused|reset)|timed out|unreachable|no route|not resolve", re.IGNORECASE),
    ),
    (
        "credentials",
        re.compile(r"\b40[13]\b|unauthorized|authentication|access ?error|(?:user ?name|user) or password|RAKP", re.IGNORECASE),
    ),
    ("system", re.compile(r"\b404\b|system.* not found|unable to find.*system|can not find.*system|no resource", re.IGNORECASE)),
)
_LONGEST_ERROR: Final = 400


def _in_words(server: RackServer, error: str) -> str:
    """Return an error of Ironic with what to do about it."""
    bmc, text = server.bmc, " ".join(error.split())
    cause = next((name for name, pattern in _CAUSES if pattern.search(text)), "")
    advice = {
        "certificate": f"the certificate of the BMC {bmc.address} is not trusted: set verify_ca of bmc to its CA bundle, or to false",
        "unreachable": f"the BMC {bmc.address} does not answer Ironic: check its address, its power and the network between them",
        "credentials": f"the BMC {bmc.address} refuses user {bmc.user}: correct user and password of bmc",
        "system": f"the BMC {bmc.address} has no system {bmc.system}: set system of bmc, see {bmc.address}/redfish/v1/Systems",
        "": "correct the cause of Ironic's error",
    }[cause]
    return f"{advice}, then run this again. Ironic: {text[:_LONGEST_ERROR]}"
