# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The etcd members of a cluster whose control plane machines run them: read and changed by etcd's own API, as its operator does.

etcd serves its API as JSON too (etcd documentation, "gRPC gateway"). Only machines of the cluster reach its port.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from sandbox.machines import Machine
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.etcd import EtcdMember, EtcdMembers, MembershipError

CLIENT_PORT: Final = 2379
LOCAL_URL: Final = f"https://127.0.0.1:{CLIENT_PORT}"
PEER_PORT: Final = 2380
METRICS_PORT: Final = 2381
_READ_EVERY: Final = 2.0
_TIMEOUT: Final = 5.0


def etcd_flags(name: str, address: str) -> list[str]:
    """Return the flags of a member, which begins a cluster without further ones.

    As in the pod of OpenShift it listens at all addresses of the machine, of both IP versions. Paths are relative to a directory with its
    certificates in ``etcd-certs``.
    """
    own, every = f"https://{address}", "https://0.0.0.0"
    return [
        f"--name={name}",
        f"--listen-client-urls={every}:{CLIENT_PORT}",
        f"--advertise-client-urls={own}:{CLIENT_PORT}",
        f"--listen-peer-urls={every}:{PEER_PORT}",
        f"--initial-advertise-peer-urls={own}:{PEER_PORT}",
        "--client-cert-auth",
        "--trusted-ca-file=etcd-certs/ca.crt",
        "--cert-file=etcd-certs/etcd-serving.crt",
        "--key-file=etcd-certs/etcd-serving.key",
        "--peer-client-cert-auth",
        "--peer-trusted-ca-file=etcd-certs/ca.crt",
        "--peer-cert-file=etcd-certs/etcd-peer.crt",
        "--peer-key-file=etcd-certs/etcd-peer.key",
        # Members compare the address of a peer with those in its certificate.
        "--feature-gates=SetMemberLocalAddr=true",
        # A killed process loses nothing that it wrote, only a power cut of the computer would.
        "--unsafe-no-fsync",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=5m",
        "--log-level=warn",
    ]


class RealEtcd(EtcdMembers):
    """The members as they were at the last :meth:`read`. ``machines`` returns the machines that are on by their addresses.

    ``client``: certificate and key of a client, ``ca_file``: of the CA of the members.
    """

    def __init__(self, machines: Callable[[], Mapping[str, Machine]], client: tuple[Path, Path], ca_file: Path) -> None:
        super().__init__()
        self._machines = machines
        self._client = client
        self._ca_file = ca_file
        self._healthy: set[int] = set()
        self._read_at = 0.0

    @property
    def healthy(self) -> list[EtcdMember]:
        return [member for member in self.voting if member.id in self._healthy]

    async def read(self) -> None:
        """Read the members and their health, at most every two seconds. Raises :class:`ControlPlaneError` if none answers."""
        if time.monotonic() - self._read_at < _READ_EVERY:
            return
        listed = await self._call("list", {})
        self._members = [_member(entry) for entry in listed["members"]]
        self._healthy = {member.id for member in self.voting if await self._is_healthy(member)}
        self._read_at = time.monotonic()

    async def add(self, address: str) -> None:
        """Add a learner, unless etcd refuses it for now: while there is another, and some seconds after a change."""
        if len(self.voting) == len(self._members):
            await self._change("add", {"peerURLs": [f"https://{address}:{PEER_PORT}"], "isLearner": True}, "unhealthy cluster")

    async def promote(self) -> None:
        """Let learners vote that have started and have all data."""
        for member in self._members:
            if not member.started and member.name:
                await self._change("promote", {"ID": str(member.id)}, "in sync with leader")

    async def remove(self, member_id: int) -> None:
        """Remove a member. Raises :class:`MembershipError`."""
        await self._change("remove", {"ID": str(member_id)})

    async def _change(self, change: str, body: Mapping[str, Any], passing: str = "") -> None:
        """Change a member. A refusal with the text ``passing`` is none: the change is tried again later."""
        try:
            await self._call(change, body)
        except MembershipError as error:
            if not passing or passing not in str(error):
                raise
        self._read_at = 0.0
        await self.read()

    async def _call(self, method: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Call the API of a voting member, or of any while none is known."""
        voting = {member.address for member in self.voting}
        failure = "no machine with a member is on"
        for address, machine in self._machines().items():
            if voting and address not in voting:
                continue
            try:
                answer = await self._request(machine, address, "POST", f"/v3/cluster/member/{method}", json.dumps(body).encode())
            except httpx.HTTPError as error:
                failure = str(error) or type(error).__name__
                continue
            content: dict[str, Any] = answer.json()
            if answer.is_success:
                return content
            failure = str(content.get("message"))
            if method != "list":
                raise MembershipError(failure)
        raise ControlPlaneError(f"etcd does not answer: {failure}")

    async def _is_healthy(self, member: EtcdMember) -> bool:
        machine = self._machines().get(member.address)
        try:
            return machine is not None and (await self._request(machine, member.address, "GET", "/health")).is_success
        except httpx.HTTPError:
            return False

    async def _request(self, machine: Machine, address: str, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        ca_pem = self._ca_file.read_bytes()
        url = f"https://{address}:{CLIENT_PORT}{path}"
        return await machine.http.request(method, url, content=content, ca_pem=ca_pem, cert=self._client, timeout=_TIMEOUT)


def _member(entry: Mapping[str, Any]) -> EtcdMember:
    address = httpx.URL(entry["peerURLs"][0]).host
    return EtcdMember(int(entry["ID"]), entry.get("name", ""), address, started=not entry.get("isLearner"))
