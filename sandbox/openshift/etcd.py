# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The etcd members of a cluster, simulated: their list, their health and their quorum.

The data is in one real etcd (:mod:`sandbox.openshift.control_plane`), which is suspended while the members have no quorum. The rules of
adding and removing are those of etcd (server/etcdserver/server.go, ``mayRemoveMember``; strict reconfiguration check).
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sandbox.openshift import pki

BOOTSTRAP: Final = "etcd-bootstrap"
"""Name of the bootstrap machine's member."""


class MembershipError(Exception):
    """etcd refuses a change of its members; the text is etcd's."""


@dataclass
class EtcdMember:
    """One member. It is added as a learner, without a name, and votes once its machine has started it."""

    id: int
    name: str
    address: str
    started: bool = False

    @property
    def hex_id(self) -> str:
        return f"{self.id:x}"

    @property
    def peer_url(self) -> str:
        return f"https://{self.address}:2380"

    @property
    def client_url(self) -> str:
        return f"https://{self.address}:2379"


class EtcdMembers(ABC):
    """The members of one cluster: simulated (:class:`Etcd`) or real (:class:`sandbox.openshift.real_etcd.RealEtcd`)."""

    def __init__(self) -> None:
        self._members: list[EtcdMember] = []

    def __iter__(self) -> Iterator[EtcdMember]:
        return iter(list(self._members))

    @property
    def voting(self) -> list[EtcdMember]:
        """The members that count for the quorum."""
        return [member for member in self._members if member.started]

    @property
    @abstractmethod
    def healthy(self) -> list[EtcdMember]:
        """The voting members that are healthy."""

    @property
    def unhealthy(self) -> list[EtcdMember]:
        healthy = {member.id for member in self.healthy}
        return [member for member in self.voting if member.id not in healthy]

    @property
    def has_quorum(self) -> bool:
        """Whether more than half of the voting members are healthy; also while there is none yet."""
        return not self.voting or len(self.healthy) > len(self.voting) // 2

    def at(self, address: str) -> EtcdMember | None:
        """Return the member of this address."""
        return next((member for member in self._members if member.address == address), None)


class Etcd(EtcdMembers):
    """The members of one cluster, kept in ``file``. ``running`` returns the ids of the members whose machines run them now."""

    def __init__(self, file: Path, running: Callable[[], Collection[int]]) -> None:
        super().__init__()
        self._file = file
        self._running = running
        self.cluster_id = _new_id()
        self.on_change: Callable[[], None] = lambda: None
        """Called after members were added, started or removed."""
        if file.exists():
            record = json.loads(file.read_bytes())
            self.cluster_id = record["cluster_id"]
            self._members = [EtcdMember(**entry) for entry in record["members"]]

    @property
    def healthy(self) -> list[EtcdMember]:
        """The voting members whose machines run them."""
        running = self._running()
        return [member for member in self.voting if member.id in running]

    def add(self, name: str, address: str) -> EtcdMember:
        """Add a learner."""
        member = EtcdMember(_new_id(), name, address)
        self._members.append(member)
        self._save()
        return member

    def start(self, member: EtcdMember) -> None:
        """Let a learner vote: its machine has started it."""
        member.started = True
        self._save()

    def remove(self, member_id: int, serving: EtcdMember | None = None) -> EtcdMember:
        """Remove a member; ``serving`` is the one that carries this out. Raises :class:`MembershipError`."""
        member = next((entry for entry in self._members if entry.id == member_id), None)
        if member is None:
            raise MembershipError("etcdserver: member not found")
        if member.started:
            self._require_quorum_without(member, serving)
        self._members.remove(member)
        self._save()
        return member

    def _require_quorum_without(self, member: EtcdMember, serving: EtcdMember | None) -> None:
        others = len(self.voting) - 1
        if others < others // 2 + 1:
            raise MembershipError("etcdserver: re-configuration failed due to not enough started members")
        healthy = self.healthy
        if member not in healthy and member is not serving:
            # A member that is down is not part of the active quorum.
            return
        if len(healthy) - 1 < 1 + others // 2:
            raise MembershipError("etcdserver: unhealthy cluster")

    def _save(self) -> None:
        record = {"cluster_id": self.cluster_id, "members": [asdict(member) for member in self._members]}
        pki.write_file(self._file, json.dumps(record).encode())
        self.on_change()


def _new_id() -> int:
    return secrets.randbits(63) | 1 << 63
