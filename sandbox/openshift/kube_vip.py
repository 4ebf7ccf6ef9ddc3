# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip on a control plane node: by BGP it announces the address of the API while the API server of the node is ready, by ARP while the
node holds a lease, which it renews at that API server.

Nothing of a node's config is run here. The unit that writes kube-vip's static pod is taken at its word, if all that it needs is on the
node: its script and its settings, and by BGP the private address of the bond, since sessions are with that address alone, by ARP a subnet
with the address.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import ssl
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any, Final

from sandbox.machines import Machine
from sandbox.openshift.api import ClusterAPI, Object
from sandbox.openshift.assets import units_of
from sandbox.openshift.control_plane import PASSING_FAILURES
from sandbox.openshift.node_network import NodeNetwork

UNIT: Final = "kube-vip.service"
SETTINGS: Final = "/etc/kube-vip.conf"
BOND_SETTINGS: Final = "/etc/node-network.conf"

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE: Final = "plndr-cp-lock"
LEASE_DURATION: Final = 5
RENEW_DEADLINE: Final = 3
RETRY_PERIOD: Final = 1
"""Real seconds, which the script of the node sets for kube-vip."""
LONGEST_RETRY: Final = 2.2 * RETRY_PERIOD
"""Between two attempts to take the lease: client-go adds up to 1.2 periods, which differs between nodes."""

_TIMEOUT: Final = 1.0
# The service on the node does not verify the certificate either.
_UNVERIFIED: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_UNVERIFIED.check_hostname, _UNVERIFIED.verify_mode = False, ssl.CERT_NONE


def announced_address(config: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """Return the address that a node announces; empty without kube-vip."""
    match = re.search(r"^ExecStart=(\S+)$", units_of(config).get(UNIT, ""), re.MULTILINE)
    if not match or b"/etc/kubernetes/manifests" not in files.get(match[1], b""):
        return ""
    settings = _settings(files)
    return settings.get("API_ADDRESS", "") if settings.get("IMAGE") else ""


def _settings(files: Mapping[str, bytes]) -> dict[str, str]:
    return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', files.get(SETTINGS, b"").decode(errors="replace"), re.MULTILINE))


async def run(machine: Machine, address: str, files: Mapping[str, bytes], network: NodeNetwork, api: ClusterAPI) -> None:
    """Announce ``address`` until cancelled. ``api``: a client of the API server of this node."""
    metadata_url = _settings(files).get("METADATA_URL", "")
    if metadata_url and BOND_SETTINGS not in files:
        machine.console("kube-vip: no route to the BGP neighbors: the private address of this device is not configured")
        await asyncio.Event().wait()
    if metadata_url:
        await machine.announce(address, metadata_url, lambda: _is_ready(machine))
        return
    if not network.subnet or ip_address(address) not in ip_network(network.subnet):
        machine.console(f"kube-vip: no interface of this node has a subnet with {address}")
        await asyncio.Event().wait()
    lease = Lease(api, machine.hardware.hostname.lower())
    while True:
        await lease.take()
        machine.console(f"kube-vip: this node became the leader and has {address}")
        machine.add_address(address, network.address)
        try:
            await lease.keep()
        finally:
            # Also of a machine without power: it answers no more.
            machine.remove_address(address)
        machine.console(f"kube-vip: this node lost the lease and removed {address}")


class Lease:
    """The lease of the address, an object of the cluster, taken and renewed at one API server as client-go's leader election does."""

    def __init__(self, api: ClusterAPI, holder: str) -> None:
        self._api = api
        self._holder = holder
        self._observed: Object = {}
        self._observed_at = 0.0

    async def take(self) -> None:
        """Return when the node holds the lease."""
        while not await self._renew():  # noqa: ASYNC110 - the nodes poll it
            await asyncio.sleep(random.uniform(RETRY_PERIOD, LONGEST_RETRY))  # noqa: S311 - spreads load, hides nothing

    async def keep(self) -> None:
        """Renew the lease. Return when no attempt succeeded for the deadline."""
        with contextlib.suppress(TimeoutError):
            while True:
                async with asyncio.timeout(RENEW_DEADLINE):
                    while not await self._renew():  # noqa: ASYNC110 - as above
                        await asyncio.sleep(RETRY_PERIOD)
                await asyncio.sleep(RETRY_PERIOD)

    async def _renew(self) -> bool:
        """Create the lease, renew it, or take one that was not renewed for its duration. Return whether the node holds it.

        What counts is when this node has observed a renewal, since the clocks of nodes differ.
        """
        try:
            lease = await self._api.get(f"{LEASES}/{LEASE}") or {}
            spec = lease.get("spec", {})
            if spec != self._observed:
                self._observed, self._observed_at = spec, time.monotonic()
            holder = spec.get("holderIdentity")
            if holder and holder != self._holder and time.monotonic() < self._observed_at + LEASE_DURATION:
                return False
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            renewed = spec | {"holderIdentity": self._holder, "leaseDurationSeconds": LEASE_DURATION, "renewTime": now}
            if holder != self._holder:
                renewed |= {"acquireTime": now, "leaseTransitions": spec.get("leaseTransitions", -1) + 1}
            if lease:
                await self._api.put(f"{LEASES}/{LEASE}", lease | {"spec": renewed})
            else:
                kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE}}
                await self._api.create(LEASES, kind | {"spec": renewed})
        except PASSING_FAILURES:
            return False
        return True


async def _is_ready(machine: Machine) -> bool:
    """Return whether this node's own API server answers with its readiness. Port 6080, which kube-vip polls, has the same answer."""
    try:
        async with asyncio.timeout(_TIMEOUT):
            reader, writer = await asyncio.open_connection(machine.address, 6443, ssl=_UNVERIFIED)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
