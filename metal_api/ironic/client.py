# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls of Ironic's API that the backend makes, through openstacksdk, each in a thread.

openstacksdk finds the endpoint, authenticates and negotiates; bodies stay JSON objects of the API, since its models drop what they do not
know and its waits poll each node alone.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import keystoneauth1.exceptions
import openstack
from keystoneauth1.adapter import Adapter

MICROVERSION: Final = "1.80"
"""The API version that every call requests: that of Ironic in the OpenStack release 2023.1."""

PAGE: Final = 1000
"""Nodes in one answer, the largest number that Ironic returns."""

THREADS: Final = 8
TIMEOUT: Final = 60.0
"""Seconds for an answer."""

NODE_FIELDS: Final = (
    *("uuid", "name", "provision_state", "target_provision_state", "power_state", "target_power_state", "maintenance"),
    *("maintenance_reason", "last_error", "instance_uuid", "resource_class", "conductor_group", "traits", "extra"),
    *("properties", "reservation", "boot_interface", "fault", "clean_step", "secure_boot"),
)


class IronicError(Exception):
    """Ironic refused a call. ``status``: of its answer, 0 where there was none."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


Observer = Callable[[str, float, bool], None]
"""Gets the name of a call, its seconds, and whether it succeeded."""


class IronicClient:
    """``connection``: of openstacksdk. ``observe``: gets every call, for metrics."""

    def __init__(self, connection: openstack.connection.Connection, observe: Observer | None = None) -> None:
        self._connection = connection
        self._observe = observe
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ironic")
        self.calls: Counter[str] = Counter()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def drivers(self) -> list[str]:
        """Return the names of the enabled hardware types."""
        return [driver["name"] for driver in (await self._call("list drivers", "GET", "/drivers"))["drivers"]]

    async def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes, with :data:`NODE_FIELDS`: one call for each thousand."""
        return await self._pages("nodes", "list nodes", f"fields={','.join(NODE_FIELDS)}")

    async def ports(self) -> dict[str, list[str]]:
        """Return the MAC addresses of all nodes by their UUIDs, those that boot from the network first."""
        ports = await self._pages("ports", "list ports", "fields=uuid,address,node_uuid,pxe_enabled")
        macs: dict[str, list[str]] = {}
        for port in sorted(ports, key=lambda entry: not entry["pxe_enabled"]):
            macs.setdefault(port["node_uuid"], []).append(port["address"].lower())
        return macs

    async def allocate(self, id_: str, node: Mapping[str, Any]) -> None:
        """Claim a node for ``id_``, unless that is done already. Ironic decides when several users request the same node."""
        body = {"uuid": id_, "name": f"metal-{id_}", "resource_class": node["resource_class"], "candidate_nodes": [node["uuid"]]}
        try:
            await self._call("create allocation", "POST", "/allocations", body)
        except IronicError as error:
            # An earlier call, before this process was killed, has made it.
            if error.status != 409 or await self.allocation(id_) is None:
                raise

    async def allocation(self, id_: str) -> dict[str, Any] | None:
        try:
            return await self._call("read allocation", "GET", f"/allocations/{id_}")
        except IronicError as error:
            if error.status == 404:
                return None
            raise

    async def release(self, id_: str) -> None:
        """Delete an allocation, if there is one."""
        try:
            await self._call("delete allocation", "DELETE", f"/allocations/{id_}")
        except IronicError as error:
            if error.status != 404:
                raise

    async def change(self, node_id: str, patches: Sequence[Mapping[str, Any]]) -> None:
        """Apply JSON patches to a node."""
        await self._call("change node", "PATCH", f"/nodes/{node_id}", list(patches))

    async def provision(self, node_id: str, target: str) -> None:
        """Request a change of the provision state: ``active``, ``deleted``, ``manage``, ``provide``."""
        await self._call(f"provision {target}", "PUT", f"/nodes/{node_id}/states/provision", {"target": target})

    async def power(self, node_id: str, target: str) -> None:
        """Request a change of the power state: ``power on``, ``power off``."""
        await self._call(target, "PUT", f"/nodes/{node_id}/states/power", {"target": target})

    async def boot_once(self, node_id: str, device: str) -> None:
        """Have a node boot from ``cdrom`` or ``pxe`` the next time only."""
        body = {"boot_device": device, "persistent": False}
        await self._call("boot device", "PUT", f"/nodes/{node_id}/management/boot_device", body)

    async def _pages(self, kind: str, name: str, query: str) -> list[dict[str, Any]]:
        objects: list[dict[str, Any]] = []
        marker = ""
        while True:
            answer = await self._call(name, "GET", f"/{kind}?limit={PAGE}&{query}{marker}")
            objects += answer[kind]
            if len(answer[kind]) < PAGE:
                return objects
            marker = f"&marker={answer[kind][-1]['uuid']}"

    async def _call(self, name: str, method: str, path: str, body: Any = None, *, microversion: str = MICROVERSION) -> dict[str, Any]:
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._send, name, method, path, body, microversion)
        try:
            # A cancelled request may arrive all the same: the next operation of its node must not overtake it.
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            # No caller is left for its error.
            if not work.cancelled():
                work.exception()
            raise

    def _send(self, name: str, method: str, path: str, body: Any, microversion: str) -> dict[str, Any]:
        self.calls[name] += 1
        started = time.monotonic()
        is_good = False
        try:
            # Not the method of its subclass in openstacksdk, which names each request for metrics in a way that openstacksdk deprecates.
            response = Adapter.request(
                self._connection.baremetal,
                path,
                method,
                json=body,
                microversion=microversion,
                timeout=TIMEOUT,
                raise_exc=False,
                connect_retries=0,
            )
            if response.status_code >= 400:
                raise IronicError(_text(response), response.status_code)
            answer: dict[str, Any] = response.json() if response.content else {}
            is_good = True
        except (keystoneauth1.exceptions.ClientException, openstack.exceptions.SDKException) as error:
            raise IronicError(f"Ironic does not answer: {error}", 0) from error
        finally:
            if self._observe is not None:
                self._observe(name, time.monotonic() - started, is_good)
        return answer


def _text(response: Any) -> str:
    """Return Ironic's own words: ``error_message`` is a text, or an object with ``faultstring``, or such an object as text."""
    try:
        message = response.json().get("error_message")
        if isinstance(message, str) and message.startswith("{"):
            message = json.loads(message)
    except (ValueError, AttributeError):
        message = response.text
    if isinstance(message, dict):
        message = message.get("faultstring")
    return f"{message or response.reason} (HTTP {response.status_code})"
